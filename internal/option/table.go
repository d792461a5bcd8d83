package option

import (
	"fmt"
	"slices"
	"strings"

	"millrace/internal/sqlerr"
)

// Table is an immutable set of options; it is safe for concurrent use.
type Table struct {
	// Owner and Noun appear in messages: "read_kafka has no argument 'x'".
	Owner, Noun string
	// Prefix may stand before every name, as kafka. before the names of client properties.
	Prefix string
	// Separator stands between name and value in examples: " => " or "=".
	Separator string

	options  []*Option
	exact    map[string]*Option // by lower-case name
	prefixes []*Option          // names that end in *, longest first
	names    []string           // every full name, for near misses
	defaults map[*Option]any
}

// New builds a table. It panics when two options share a name or a default does not fit its type: the table is source code.
func New(owner, noun, prefix, separator string, options ...Option) *Table {
	t := &Table{Owner: owner, Noun: noun, Prefix: prefix, Separator: separator, exact: map[string]*Option{}, defaults: map[*Option]any{}}
	for i := range options {
		o := &options[i]
		t.options = append(t.options, o)
		for _, name := range o.Names() {
			key := strings.ToLower(name)
			if strings.HasSuffix(key, "*") {
				if !slices.Contains(t.prefixes, o) {
					t.prefixes = append(t.prefixes, o)
				}
				continue
			}
			if t.exact[key] != nil {
				panic(fmt.Sprintf("option %q is declared twice in %s", name, owner))
			}
			t.exact[key] = o
			t.names = append(t.names, name)
		}
		if o.Default != "" {
			v, err := t.convert(o, o.Name, o.Default)
			if err != nil {
				panic(fmt.Sprintf("default of option %q in %s: %v", o.Name, owner, err))
			}
			t.defaults[o] = v
		}
	}
	slices.SortStableFunc(t.prefixes, func(a, b *Option) int { return len(b.Name) - len(a.Name) })
	return t
}

// Names gives every spelling of an option: the name, its aliases, and the snake_case form of each.
func (o *Option) Names() []string {
	var names []string
	for _, n := range append([]string{o.Name}, o.Aliases...) {
		for _, form := range []string{n, snake(n)} {
			if form != "" && !slices.Contains(names, form) {
				names = append(names, form)
			}
		}
	}
	return names
}

// Options lists the table in the order of declaration.
func (t *Table) Options() []*Option { return t.options }

// Lookup finds the option that a user means by name, nil when there is none.
func (t *Table) Lookup(name string) *Option {
	key := strings.ToLower(strings.TrimSpace(name))
	forms := []string{key}
	if bare, ok := strings.CutPrefix(key, t.Prefix); ok && t.Prefix != "" {
		forms = append(forms, bare)
	}
	for _, form := range forms {
		if o := t.exact[form]; o != nil {
			return o
		}
	}
	for _, form := range forms {
		for _, o := range t.prefixes {
			if o.covers(form) {
				return o
			}
		}
	}
	return nil
}

// covers reports whether one of the names that end in * stands for key.
func (o *Option) covers(key string) bool {
	return slices.ContainsFunc(o.Names(), func(name string) bool {
		beginning, star := strings.CutSuffix(strings.ToLower(name), "*")
		return star && len(key) > len(beginning) && strings.HasPrefix(key, beginning)
	})
}

// IsSecret reports whether the value of the named option must not be shown. A name the table does not know counts as secret when it looks
// like one.
func (t *Table) IsSecret(name string) bool {
	if o := t.Lookup(name); o != nil {
		return o.secret(name)
	}
	return LooksSecret(name)
}

// Unknown is the error for a name that the table does not have. The value is left out: who misspells 'password' has written one.
func (t *Table) Unknown(name string) *sqlerr.Error {
	e := sqlerr.New(sqlerr.OptionUnknown, "%s has no %s '%s'", t.Owner, t.Noun, Shorten(name, 80))
	bare, prefix := name, ""
	if t.Prefix != "" && len(name) > len(t.Prefix) && strings.EqualFold(name[:len(t.Prefix)], t.Prefix) {
		prefix, bare = name[:len(t.Prefix)], name[len(t.Prefix):]
	}
	if near := Nearest(bare, t.names); near != "" {
		return e.WithHint("did you mean '%s%s'?", prefix, near)
	}
	return e.WithHint("docs/options.md lists every %s", t.Noun)
}
