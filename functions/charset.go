package functions

import (
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/dolthub/go-mysql-server/sql"

	"millrace/internal/convert"
	"millrace/internal/sqlerr"
)

const charsets = "US-ASCII, ISO-8859-1, UTF-8, UTF-16, UTF-16BE, UTF-16LE"

// single describes the character sets of one byte a character: the highest character. 0 for other sets.
func single(charset string) rune {
	switch charset {
	case "US-ASCII", "ASCII":
		return 0x7f
	case "ISO-8859-1", "LATIN1":
		return 0xff
	}
	return 0
}

func unknownCharset(name string) error {
	return sqlerr.New(sqlerr.BadValue, "unknown character set '%s'", name).WithHint("the character sets are %s", charsets)
}

func undecodable(b []byte, charset string) error {
	return sqlerr.New(sqlerr.BadValue, "invalid value %s for character set %s", convert.Quote(b), charset).WithHint("cast to STRING to have what is invalid replaced")
}

func decodeText(_ *sql.Context, args []any) (any, error) {
	b, charset := args[0].([]byte), strings.ToUpper(args[1].(string))
	if highest := single(charset); highest > 0 {
		out := make([]rune, len(b))
		for i, c := range b {
			if out[i] = rune(c); out[i] > highest {
				return nil, undecodable(b, charset)
			}
		}
		return string(out), nil
	}
	var order binary.ByteOrder = binary.BigEndian
	switch charset {
	case "UTF-8", "UTF8":
		if !utf8.Valid(b) {
			return nil, undecodable(b, charset)
		}
		return string(b), nil
	case "UTF-16BE":
	case "UTF-16LE":
		order = binary.LittleEndian
	case "UTF-16":
		if len(b) >= 2 {
			switch binary.BigEndian.Uint16(b) {
			case 0xfffe:
				order = binary.LittleEndian
				b = b[2:]
			case 0xfeff:
				b = b[2:]
			}
		}
	default:
		return nil, unknownCharset(args[1].(string))
	}
	if len(b)%2 != 0 {
		return nil, undecodable(b, charset)
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i += 2 {
		r := rune(order.Uint16(b[i:]))
		if utf16.IsSurrogate(r) {
			if i+4 > len(b) {
				return nil, undecodable(b, charset)
			}
			i += 2
			if r = utf16.DecodeRune(r, rune(order.Uint16(b[i:]))); r == utf8.RuneError {
				return nil, undecodable(b, charset)
			}
		}
		out = utf8.AppendRune(out, r)
	}
	return string(out), nil
}

func encodeText(_ *sql.Context, args []any) (any, error) {
	text, charset := args[0].(string), strings.ToUpper(args[1].(string))
	if highest := single(charset); highest > 0 {
		out := make([]byte, 0, len(text))
		for _, r := range text {
			if r > highest {
				return nil, sqlerr.New(sqlerr.BadValue, "character '%c' is not in character set %s", r, charset)
			}
			out = append(out, byte(r))
		}
		return out, nil
	}
	var order binary.AppendByteOrder = binary.BigEndian
	var out []byte
	switch charset {
	case "UTF-8", "UTF8":
		return []byte(text), nil
	case "UTF-16BE":
	case "UTF-16LE":
		order = binary.LittleEndian
	case "UTF-16":
		out = append(out, 0xfe, 0xff)
	default:
		return nil, unknownCharset(args[1].(string))
	}
	for _, unit := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, unit)
	}
	if out == nil {
		out = []byte{}
	}
	return out, nil
}
