package server

import (
	"slices"
	"strconv"

	"millrace/planner"
)

// Clients that do not prepare send a look-up with its keys in the text. Two such texts are the same statement when they differ in nothing but literals behind a sign of
// equality; that is seen without a parser, by a reader that gives up at whatever is not plainly a word, a name or such a literal.

const (
	// lookupTexts is how many statements of this sort a session keeps, lookupText how long one may be.
	lookupTexts = 16
	lookupText  = 512
)

// What stands for keys in the form of a text. No form has these characters otherwise.
const (
	integerKey = '\x01'
	textKey    = '\x02'
)

// textForm appends to form the text of a look-up without its keys, and gives these: int64 and string, in the order of the text. ok is false when the text may be
// something else, or the literals something else in another sql_mode.
func textForm(form []byte, text string) (_ []byte, keys []any, ok bool) {
	if len(text) > lookupText || text == "" || text[0]|0x20 != 's' {
		return form, nil, false
	}
	var last byte // that is no space
	for i := 0; i < len(text); {
		start := i
		switch c := text[i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			form = append(form, c)
			i++
			continue
		case c == '\'':
			end := plainString(text, i)
			if last != '=' || end < 0 {
				return form, nil, false
			}
			keys, form, i = append(keys, text[i+1:end-1]), append(form, textKey), end
		case digit(c):
			for i < len(text) && (digit(text[i]) || letter(text[i])) {
				i++
			}
			if last != '=' {
				form = append(form, text[start:i]...)
				break
			}
			n, err := strconv.ParseInt(text[start:i], 10, 64)
			if err != nil || c == '0' && i > start+1 || i < len(text) && text[i] == '.' {
				return form, nil, false
			}
			keys, form = append(keys, n), append(form, integerKey)
		case letter(c):
			for i < len(text) && (digit(text[i]) || letter(text[i])) {
				i++
			}
			form = append(form, text[start:i]...)
		case c == '`':
			for i++; i < len(text) && text[i] != '`'; i++ {
			}
			if i == len(text) {
				return form, nil, false
			}
			i++
			form = append(form, text[start:i]...)
		case c == ',' || c == '.' || c == '*' || c == '=' || c == '(' || c == ')':
			form = append(form, c)
			i++
		default:
			return form, nil, false
		}
		last = text[i-1]
	}
	return form, keys, len(keys) > 0
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c == '$' }

// plainString is the end of the string that begins at i, -1 when it has something whose meaning the sql_mode decides, or goes on in another string.
func plainString(text string, i int) int {
	for i++; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\'':
			if i+1 < len(text) && text[i+1] == '\'' {
				return -1
			}
			return i + 1
		case c == '\\' || c < ' ':
			return -1
		}
	}
	return -1
}

// keptText finds the kept plan of a text, and its keys; nil when there is none that holds and takes them.
func (x *session) keptText(text string) (*statement, []any) {
	if len(x.lookups) == 0 {
		return nil, nil
	}
	form, keys, ok := textForm(x.form[:0], text)
	x.form = form
	if !ok {
		return nil, nil
	}
	known := x.lookups[string(form)]
	if known == nil || !x.holds(known.lookup.kept) || !known.lookup.kept.plan.Takes(keys) {
		return nil, nil
	}
	st := *known
	st.text, st.shown = text, redact(text)
	return &st, keys
}

// keepText keeps a statement whose plan was kept by the form of its text.
func (x *session) keepText(text string, st *statement) {
	if st.lookup == nil || st.lookup.kept == nil {
		return
	}
	form, keys, ok := textForm(x.form[:0], text)
	x.form = form
	if !ok {
		return
	}
	// The literals that the reader has found must be the keys that the parser has found.
	parsed, ok := st.lookup.keys(nil)
	if !ok || !slices.EqualFunc(parsed, keys, func(k planner.Key, v any) bool { return k.Value == v }) {
		return
	}
	if len(x.lookups) >= lookupTexts {
		clear(x.lookups)
	}
	if x.lookups == nil {
		x.lookups = make(map[string]*statement, lookupTexts)
	}
	x.lookups[string(form)] = st
}
