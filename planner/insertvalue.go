package planner

import (
	"fmt"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/convert"
	"millrace/internal/sqlerr"
)

// Refused is the error of a value that does not go into a column, in MySQL's words; nil when it does. Values that the engine's errors explain have none either.
func Refused(c *sql.Context, col *sql.Column, v any, row int64) *sqlerr.Error {
	var inRange sql.ConvertInRange
	var err error
	if t, ok := col.Type.(sql.RoundingNumberType); ok {
		_, inRange, err = t.ConvertRound(c, v)
	} else {
		_, inRange, err = col.Type.Convert(c, v)
	}
	switch {
	case err == nil && inRange == sql.InRange:
		return nil
	case err == nil, sql.ErrValueOutOfRange.Is(err), types.ErrConvertToDecimalLimit.Is(err):
		return sqlerr.New(sqlerr.ColumnRange, "Out of range value for column '%s' at row %d", col.Name, row)
	case types.ErrLengthBeyondLimit.Is(err):
		return sqlerr.New(sqlerr.DataTooLong, "Data too long for column '%s' at row %d", col.Name, row)
	}
	what, kind := "", sqlerr.BadColumnValue
	switch t := col.Type; {
	case types.IsInteger(t):
		what = "integer"
	case types.IsDecimal(t):
		what = "decimal"
	case types.IsFloat(t):
		what = "double"
	case types.IsDateType(t):
		what, kind = "date", sqlerr.BadValue
	case types.IsTime(t):
		what, kind = "datetime", sqlerr.BadValue
	case types.IsTimespan(t):
		what, kind = "time", sqlerr.BadValue
	default:
		return nil // the engine's errors for texts and documents say what is wrong
	}
	text := shownValue(v)
	if kind == sqlerr.BadColumnValue && beginsWithNumber(text) {
		return sqlerr.New(sqlerr.DataTruncated, "Data truncated for column '%s' at row %d", col.Name, row)
	}
	return sqlerr.New(kind, "Incorrect %s value: %s for column '%s' at row %d", what, convert.Quote([]byte(text)), col.Name, row)
}

func shownValue(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return fmt.Sprint(v)
}

// beginsWithNumber reports whether a text is a number with something behind it.
func beginsWithNumber(text string) bool {
	text = strings.TrimLeft(strings.TrimSpace(text), "+-.")
	return text != "" && text[0] >= '0' && text[0] <= '9'
}
