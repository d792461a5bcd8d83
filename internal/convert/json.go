package convert

import "unicode/utf8"

const hexDigits = "0123456789abcdef"

// AppendJSONString appends text as a JSON string, quotes included. Sequences that are not UTF-8 become U+FFFD, as in AppendUTF8.
func AppendJSONString(dst, text []byte) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(text); {
		// What needs no escape is copied in runs.
		run := i
		for i < len(text) && text[i] >= ' ' && text[i] != '"' && text[i] != '\\' && text[i] < utf8.RuneSelf {
			i++
		}
		dst = append(dst, text[run:i]...)
		if i == len(text) {
			break
		}
		switch c := text[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c == '\t':
			dst = append(dst, '\\', 't')
		case c < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default:
			r, n := utf8.DecodeRune(text[i:])
			if r == utf8.RuneError && n == 1 {
				n = badLength(text[i:])
			}
			dst = utf8.AppendRune(dst, r)
			i += n
			continue
		}
		i++
	}
	return append(dst, '"')
}
