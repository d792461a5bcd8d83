package convert

import (
	"strconv"
	"unicode/utf8"

	"millrace/internal/sqlerr"
)

// shown is how much of a value an error shows.
const shown = 64

// Failed is the error for a value that cannot be converted to a type, named as in SQL; fault is not OK. It is the same wherever a cast
// runs.
func Failed(fault Fault, value []byte, typeName string) *sqlerr.Error {
	const hint = "use ?:: or try_cast for NULL in place of an error"
	if fault == Overflow {
		return sqlerr.New(sqlerr.OutOfRange, "value %s is out of range for %s", Quote(value), typeName).WithHint(hint)
	}
	return sqlerr.New(sqlerr.BadValue, "invalid value %s for %s", Quote(value), typeName).WithHint(hint)
}

// Quote shows a value in an error: in single quotes, cut when long, what is not printable escaped.
func Quote(value []byte) string {
	rest := ""
	if len(value) > shown {
		cut := shown
		for cut > shown-utf8.UTFMax && !utf8.RuneStart(value[cut]) {
			cut--
		}
		value, rest = value[:cut], "…"
	}
	quoted := []byte{'\''}
	for s := string(value); s != ""; {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			quoted = append(quoted, `\x`...)
			quoted = append(quoted, hexDigits[s[0]>>4], hexDigits[s[0]&15])
		case r == '\'':
			quoted = append(quoted, `\'`...)
		case strconv.IsPrint(r):
			quoted = append(quoted, s[:n]...)
		default:
			escaped := strconv.QuoteRuneToASCII(r)
			quoted = append(quoted, escaped[1:len(escaped)-1]...)
		}
		s = s[n:]
	}
	return string(quoted) + rest + "'"
}
