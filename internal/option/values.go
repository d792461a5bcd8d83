package option

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"millrace/internal/sqlerr"
)

// Values are the typed options of one statement. A getter returns the default of the table for an option that was not given, and panics
// for a name or type the table does not have: that is a fault of the program.
type Values struct {
	// Warnings say what was given and changes nothing.
	Warnings []string

	table *Table
	given []*entry // in the order of the statement
	byKey map[string]*entry
}

// entry is one option that was given; as is the user's spelling.
type entry struct {
	option *Option
	key    string
	as     string
	value  any
}

// Setting is an option for display: its primary name and its value as text, redacted where it is a secret.
type Setting struct{ Name, Value string }

// Has reports whether the option was given.
func (v *Values) Has(name string) bool { return v.byKey[strings.ToLower(name)] != nil }

// As gives the spelling by which the option was given, its primary name otherwise.
func (v *Values) As(name string) string {
	if e := v.byKey[strings.ToLower(name)]; e != nil {
		return e.as
	}
	return name
}

// Require is the error for a missing option, nil when it was given.
func (v *Values) Require(name string) error {
	if v.Has(name) {
		return nil
	}
	o := v.table.exact[strings.ToLower(name)]
	return sqlerr.New(sqlerr.OptionMissing, "%s needs the %s '%s'", v.table.Owner, v.table.Noun, name).WithHint("%s", v.table.example(o))
}

// Invalid is the error for a value of a known option that the owner of the table finds wrong.
func (v *Values) Invalid(name, format string, args ...any) *sqlerr.Error {
	o := v.table.exact[strings.ToLower(name)]
	e := sqlerr.New(sqlerr.OptionInvalid, "'%s' "+format, append([]any{v.As(name)}, args...)...)
	if hint := v.table.example(o); hint != "" {
		e = e.WithHint("%s", hint)
	}
	return e
}

// String gives a String, Scalar, JSON or Enum.
func (v *Values) String(name string) string { return get[string](v, name) }

// Bool gives a Bool.
func (v *Values) Bool(name string) bool { return get[bool](v, name) }

// Int gives an Int, Long or Timestamp.
func (v *Values) Int(name string) int64 { return get[int64](v, name) }

// Duration gives a Duration.
func (v *Values) Duration(name string) time.Duration { return get[time.Duration](v, name) }

// List gives a List.
func (v *Values) List(name string) []string { return get[[]string](v, name) }

// Map gives a Map.
func (v *Values) Map(name string) map[string]string { return get[map[string]string](v, name) }

func get[T any](v *Values, name string) T {
	key := strings.ToLower(name)
	if e := v.byKey[key]; e != nil {
		return e.value.(T)
	}
	o := v.table.exact[key]
	if o == nil {
		panic("option: " + v.table.Owner + " has no " + name)
	}
	d, ok := v.table.defaults[o]
	if !ok {
		var zero T
		return zero
	}
	return d.(T)
}

// Under gives what was given for the names that an option ending in * stands for, by the names as written.
func (v *Values) Under(star string) map[string]string {
	under := map[string]string{}
	for _, e := range v.given {
		if e.option.Name == star {
			under[e.as], _ = e.value.(string)
		}
	}
	return under
}

// Settings lists what was given, in the order of the statement, redacted.
func (v *Values) Settings() []Setting {
	settings := make([]Setting, 0, len(v.given))
	for _, e := range v.given {
		name := e.option.Name
		if strings.HasSuffix(name, "*") {
			name = e.as
		}
		value := Redacted
		if !e.option.secret(e.as) {
			value = Show(text(e.value))
		}
		settings = append(settings, Setting{name, value})
	}
	return settings
}

// text writes a bound value as a user would.
func text(value any) string {
	switch x := value.(type) {
	case string:
		return x
	case bool:
		return strconv.FormatBool(x)
	case int64:
		return strconv.FormatInt(x, 10)
	case time.Duration:
		return x.String()
	case []string:
		return strings.Join(x, ",")
	case map[string]string:
		safe := maps.Clone(x)
		for _, k := range slices.Collect(maps.Keys(safe)) {
			if LooksSecret(k) {
				safe[k] = Redacted
			}
		}
		b, _ := json.Marshal(safe) // a map of strings cannot fail
		return string(b)
	}
	return ""
}
