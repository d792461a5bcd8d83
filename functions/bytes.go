package functions

import (
	"encoding/base64"
	"encoding/hex"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"

	"millrace/internal/convert"
	"millrace/internal/option"
	"millrace/internal/sqlerr"
	"millrace/planner/expr"
)

// buildToBinary reads text in hex, base64 or UTF-8 as bytes.
func buildToBinary(try bool) func(*sql.Context, *Function, []sql.Expression) (sql.Expression, error) {
	return func(ctx *sql.Context, f *Function, args []sql.Expression) (sql.Expression, error) {
		format := "hex"
		if len(args) == 2 {
			text, err := constantText(ctx, f, "format", args[1])
			if err != nil {
				return nil, err
			}
			format = strings.ToLower(strings.TrimSpace(text))
		}
		switch format {
		case "hex", "base64", "utf-8", "utf8":
		default:
			return nil, sqlerr.New(sqlerr.BadValue, "the format of '%s' is '%s', allowed are hex, base64 and utf-8", f.Name, option.Show(format))
		}
		return strict(expr.Type{Kind: expr.Binary}, []expr.Kind{expr.String}, func(_ *sql.Context, args []any) (any, error) {
			b, err := binaryOf(args[0].(string), format)
			switch {
			case err == nil:
				return b, nil
			case try:
				return nil, nil
			}
			return nil, sqlerr.New(sqlerr.BadValue, "value %s is no %s", convert.Quote([]byte(args[0].(string))), format).WithHint("use try_to_binary for NULL in place of an error")
		})(ctx, f, args[:1])
	}
}

func binaryOf(text, format string) ([]byte, error) {
	switch format {
	case "hex":
		if len(text)%2 == 1 {
			text = "0" + text
		}
		return hex.DecodeString(text)
	case "base64":
		return base64.StdEncoding.DecodeString(text)
	default:
		return []byte(text), nil
	}
}

func toBase64(_ *sql.Context, args []any) (any, error) {
	return base64.StdEncoding.EncodeToString(args[0].([]byte)), nil
}

func fromBase64(_ *sql.Context, args []any) (any, error) {
	b, err := base64.StdEncoding.DecodeString(args[0].(string))
	if err != nil {
		return nil, sqlerr.New(sqlerr.BadValue, "value %s is no base64", convert.Quote([]byte(args[0].(string)))).WithHint("use try_to_binary(x, 'base64') for NULL in place of an error")
	}
	return b, nil
}
