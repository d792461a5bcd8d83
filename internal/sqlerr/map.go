package sqlerr

import (
	"fmt"
	"reflect"
	"strings"
)

// template is a text as it was written: with verbs for what came from elsewhere.
type template struct {
	format string
	args   []any
}

// Map returns e with f applied to what its texts quote: names, values, messages of others. The words of the error itself stay, so that striking a password that
// is a word of a hint does not make the hint unreadable. A text that was not made by New, WithHint or WithDetail counts as quoted, all of it. The cause is left
// out: it may hold the same.
func (e *Error) Map(f func(string) string) *Error {
	c := *e
	c.Msg, c.msg = e.msg.mapped(e.Msg, f)
	c.Detail, c.detail = e.detail.mapped(e.Detail, f)
	c.Hint, c.hint = e.hint.mapped(e.Hint, f)
	c.Err = nil
	return &c
}

// mapped is the text of t with f applied to its arguments; text is what is shown now.
func (t template) mapped(text string, f func(string) string) (string, template) {
	format := strings.ReplaceAll(t.format, "%w", "%s") // the text of an error, which is no error any more
	if fmt.Sprintf(format, t.args...) != text {
		return f(text), template{}
	}
	args := make([]any, len(t.args))
	for i, a := range t.args {
		args[i] = mapArgument(a, f)
	}
	return fmt.Sprintf(format, args...), template{format, args}
}

// mapArgument applies f to an argument of a format: its text, unless it is a number or a boolean.
func mapArgument(a any, f func(string) string) any {
	switch v := a.(type) {
	case string:
		return f(v)
	case []byte:
		return f(string(v))
	case *Error:
		return v.Map(f).Error()
	case error, fmt.Stringer:
		return f(fmt.Sprint(v))
	}
	switch reflect.ValueOf(a).Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float32, reflect.Float64:
		return a
	}
	return f(fmt.Sprint(a))
}
