package option

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"millrace/internal/sqlerr"
)

// convert gives the typed value of an option or the error for the user.
func (t *Table) convert(o *Option, as string, raw any) (any, error) {
	value := plain(raw)
	var out any
	var want string
	var ok bool
	switch o.Type {
	case String:
		want = "text"
		var s string
		if s, ok = value.(string); ok && strings.TrimSpace(s) == "" && !o.AllowEmpty {
			return nil, t.fault(o, as, "is empty, expected text")
		}
		out = s
	case Scalar:
		want = "text, a number or a truth value"
		out, ok = scalar(value)
	case Bool:
		want = "true or false"
		out, ok = boolean(value)
	case Int, Long:
		return t.integer(o, as, value)
	case Duration:
		want = "a length of time such as '10m' or '1 hour 30 minutes'"
		if s, isText := value.(string); isText {
			d, err := ParseDuration(s)
			if err != nil {
				return nil, t.fault(o, as, "is %s, expected %s: %v", found(o, as, value), want, err)
			}
			out, ok = d, true
		}
	case Timestamp:
		want = "a single long value (milliseconds since 1970) or text 'YYYY-MM-DD HH:MM:SS[.fff]' in UTC"
		out, ok = timestamp(value)
	case List:
		want = "text with commas between the entries"
		if s, isText := value.(string); isText {
			list := SplitList(s)
			if len(list) == 0 {
				return nil, t.fault(o, as, "is %s, expected at least one entry", found(o, as, value))
			}
			out, ok = list, true
		}
	case JSON:
		want = "the text of a JSON object"
		out, ok = jsonText(value)
	case Map:
		want = "a map, or the text of a JSON object whose values are text, numbers or truth values"
		out, ok = flatMap(value)
	case Enum:
		want = "one of " + strings.Join(o.Words, ", ")
		if s, isText := value.(string); isText {
			for _, w := range o.Words {
				if strings.EqualFold(w, strings.TrimSpace(s)) {
					out, ok = w, true
				}
			}
			if !ok && !o.secret(as) {
				e := t.fault(o, as, "is %s, expected %s", found(o, as, value), want)
				if near := Nearest(s, o.Words); near != "" {
					e = e.WithHint("did you mean '%s'?", near)
				}
				return nil, e
			}
		}
	}
	if !ok {
		return nil, t.fault(o, as, "is %s, expected %s", found(o, as, value), want)
	}
	return out, nil
}

func (t *Table) fault(o *Option, as, format string, args ...any) *sqlerr.Error {
	e := sqlerr.New(sqlerr.OptionInvalid, "'%s' %s", as, fmt.Sprintf(format, args...))
	if hint := t.example(o); hint != "" {
		return e.WithHint("%s", hint)
	}
	return e
}

// example is the hint that shows how an option is written.
func (t *Table) example(o *Option) string {
	if o == nil || o.Example == "" {
		return ""
	}
	name := o.Name
	if strings.Contains(name, ".") && t.Separator != "=" {
		name = "`" + name + "`"
	}
	return "for example " + name + t.Separator + o.Example
}

// found describes a value in a message.
func found(o *Option, as string, value any) string {
	if o.secret(as) {
		return Redacted
	}
	switch x := value.(type) {
	case string:
		return "'" + Show(x) + "'"
	case map[string]any:
		return "a map"
	case nil:
		return "a value of an unknown type"
	case time.Time:
		return "the time " + x.UTC().Format("2006-01-02 15:04:05.999999")
	default:
		return Show(fmt.Sprint(x))
	}
}

// plain brings the Go types that a value may have down to string, bool, int64, float64, time.Time and map[string]any; nil is anything else.
// Whole numbers that only uint64 holds become text, as decimals are.
func plain(raw any) any {
	switch x := raw.(type) {
	case string, bool, int64, time.Time, map[string]any:
		return x
	case []byte:
		return string(x)
	case int:
		return int64(x)
	case int8:
		return int64(x)
	case int16:
		return int64(x)
	case int32:
		return int64(x)
	case uint:
		return plain(uint64(x))
	case uint8:
		return int64(x)
	case uint16:
		return int64(x)
	case uint32:
		return int64(x)
	case uint64:
		if x > math.MaxInt64 {
			return strconv.FormatUint(x, 10)
		}
		return int64(x)
	case float32:
		return float64(x)
	case float64:
		return x
	case map[string]string:
		m := make(map[string]any, len(x))
		for k, v := range x {
			m[k] = v
		}
		return m
	case fmt.Stringer:
		return x.String()
	}
	return nil
}

func scalar(value any) (string, bool) {
	switch x := value.(type) {
	case string:
		return x, true
	case bool:
		return strconv.FormatBool(x), true
	case int64:
		return strconv.FormatInt(x, 10), true
	case float64:
		return strconv.FormatFloat(x, 'f', -1, 64), true
	}
	return "", false
}

func boolean(value any) (bool, bool) {
	s, ok := scalar(value)
	if !ok {
		return false, false
	}
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "true", "1":
		return true, true
	case "false", "0":
		return false, true
	}
	return false, false
}

func (t *Table) integer(o *Option, as string, value any) (any, error) {
	limit := int64(math.MaxInt64)
	if o.Type == Int {
		limit = math.MaxInt32
	}
	if o.Max != 0 {
		limit = o.Max
	}
	n, ok := whole(value)
	switch {
	case !ok:
		return nil, t.fault(o, as, "is %s, expected a whole number", found(o, as, value))
	case o.Min == 1 && n < 1:
		return nil, t.fault(o, as, "is %d, it must be positive", n)
	case n < o.Min || n > limit:
		return nil, t.fault(o, as, "is %d, expected a whole number from %d to %d", n, o.Min, limit)
	}
	return n, nil
}

func whole(value any) (int64, bool) {
	switch x := value.(type) {
	case int64:
		return x, true
	case float64:
		// Beyond 2^53 a float no longer says which integer was meant.
		if x != math.Trunc(x) || math.Abs(x) > 1<<53 {
			return 0, false
		}
		return int64(x), true
	case string:
		n, err := strconv.ParseInt(strings.TrimSpace(x), 10, 64)
		return n, err == nil
	}
	return 0, false
}

// timestamp gives milliseconds, rounded up: a record is at or after a time exactly when its millisecond is at or after the next whole one.
func timestamp(value any) (int64, bool) {
	if n, ok := whole(value); ok {
		return n, n >= 0
	}
	at, ok := value.(time.Time)
	if s, isText := value.(string); isText {
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02"} {
			var err error
			if at, err = time.ParseInLocation(layout, strings.TrimSpace(s), time.UTC); err == nil {
				ok = true
				break
			}
		}
	}
	if !ok {
		return 0, false
	}
	ms := at.UnixMilli()
	if at.After(time.UnixMilli(ms)) {
		ms++
	}
	return ms, ms >= 0
}

// SplitList cuts text at commas, trims the entries and drops empty ones.
func SplitList(s string) []string {
	var list []string
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

func jsonText(value any) (string, bool) {
	switch x := value.(type) {
	case string:
		return x, true
	case map[string]any:
		b, err := json.Marshal(x)
		return string(b), err == nil
	}
	return "", false
}

func flatMap(value any) (map[string]string, bool) {
	m, ok := value.(map[string]any)
	if s, isText := value.(string); isText {
		m, ok = flatObject(s)
	}
	if !ok {
		return nil, false
	}
	flat := make(map[string]string, len(m))
	for k, v := range m {
		if flat[k], ok = scalar(plain(v)); !ok {
			return nil, false
		}
	}
	return flat, true
}

// flatObject reads a JSON object of scalars, and nothing after it. A key that stands twice makes it unreadable: the standard decoder would take the
// last one and say nothing.
func flatObject(text string) (map[string]any, bool) {
	if !json.Valid([]byte(text)) {
		return nil, false
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	m := map[string]any{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, false
		}
		value, err := dec.Token()
		if err != nil {
			return nil, false
		}
		name, ok := key.(string)
		if _, twice := m[name]; !ok || twice {
			return nil, false
		}
		m[name] = value
	}
	return m, true
}
