package json

import (
	"unicode/utf16"
	"unicode/utf8"
)

// Type is the JSON type of a Value.
type Type uint8

// The types. Missing means that the path leads nowhere; Null that it leads to a null.
const (
	Missing Type = iota
	Null
	False
	True
	Number
	String
	Object
	Array
)

// Flags say more about a Value.
type Flags uint8

const (
	// Escaped: the string holds a backslash escape.
	Escaped Flags = 1 << iota
	// Fractional: the number has a '.', an 'e' or an 'E'.
	Fractional
	// Ambiguous: a step matched a name in several spellings. The rest of the Value means nothing.
	Ambiguous
	// Gathered: the path has a step [*]; the Value is the array that the first one was applied to, the text comes from Extractor.Text.
	Gathered
	// wide: the string holds bytes beyond ASCII.
	wide
)

// Value says where in the record the value of a path lies. Strings include their quotes.
type Value struct {
	Off, End uint32
	Type     Type
	Flags    Flags
}

// IsNull reports whether the value is one that SQL shows as NULL: there is none, or it is a JSON null.
func (v Value) IsNull() bool { return v.Type <= Null }

// Raw is the JSON text of the value as written. It aliases the record.
func (v Value) Raw(rec []byte) []byte { return rec[v.Off:v.End:v.End] }

// Text is the value as SQL text: a string without quotes and escapes, anything else as written. It aliases the record or, when the
// string has escapes, scratch, which is grown as needed and returned for the next call.
func (v Value) Text(rec, scratch []byte) (text, newScratch []byte) {
	if v.Type != String {
		return v.Raw(rec), scratch
	}
	inner := rec[v.Off+1 : v.End-1 : v.End-1]
	if v.Flags&Escaped == 0 {
		return inner, scratch
	}
	scratch = AppendUnescaped(scratch[:0], inner)
	return scratch, scratch
}

// AppendText appends what Text gives to dst.
func (v Value) AppendText(dst, rec []byte) []byte {
	if v.Type != String {
		return append(dst, v.Raw(rec)...)
	}
	inner := rec[v.Off+1 : v.End-1]
	if v.Flags&Escaped == 0 {
		return append(dst, inner...)
	}
	return AppendUnescaped(dst, inner)
}

// AppendUnescaped appends the text of a JSON string to dst; s is the valid string without its quotes. A surrogate without its other half becomes
// U+FFFD.
func AppendUnescaped(dst, s []byte) []byte {
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			run := i
			for i < len(s) && s[i] != '\\' {
				i++
			}
			dst = append(dst, s[run:i]...)
			continue
		}
		switch c := s[i+1]; c {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r := hex4(s[i+2:])
			i += 6
			if utf16.IsSurrogate(r) {
				low := rune(-1)
				if i+6 <= len(s) && s[i] == '\\' && s[i+1] == 'u' {
					low = hex4(s[i+2:])
				}
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
					i += 6
				}
			}
			dst = utf8.AppendRune(dst, r)
			continue
		default:
			dst = append(dst, c)
		}
		i += 2
	}
	return dst
}
