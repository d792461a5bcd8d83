package ops

import (
	"bytes"
	"fmt"

	"millrace/internal/column"
	"millrace/internal/decode/json"
)

// Unquote is json_unquote(x) of a value of type JSON: the text of a string, and all else as it is written.
func Unquote(x Expr) (Expr, error) {
	if x.Type().Kind != column.JSON {
		return nil, unsupported("json_unquote of %v is not computed on batches", x.Type())
	}
	return &textFunc{x, textType, fmt.Sprintf("json_unquote(%v)", x), func(dst []byte, v *column.Vector, i int) []byte {
		text := v.View(i)
		if inner := bytes.TrimSpace(text); len(inner) >= 2 && inner[0] == '"' {
			return json.AppendUnescaped(dst, inner[1:len(inner)-1])
		}
		return append(dst, text...)
	}}, nil
}
