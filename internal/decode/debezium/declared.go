package debezium

import (
	"slices"

	"millrace/internal/column"
	"millrace/internal/convert"
	"millrace/internal/decode/json"
)

// NeedsSample reports whether the records say more of declared fields than their types do: what numbers count in a column of times, and how decimals are written.
func NeedsSample(fields []json.Field) bool {
	return slices.ContainsFunc(fields, func(f json.Field) bool { return f.Type.Kind == column.Decimal || isTime(f.Type.Kind) })
}

func isTime(k column.Kind) bool { return k == column.Date || k == column.Time || k == column.Timestamp }

// Declare fits fields that a user has declared to the way in which Debezium writes them: as the schema that records bring along says, for those of the same name
// and kind. Without one a number is a day in a DATE column, and a decimal in base64 has the declared scale.
func Declare(fields []json.Field, records [][]byte) []json.Field {
	sampled, rows, exact := Sample(records)
	byName := map[string]json.Field{}
	if exact {
		for _, f := range sampled {
			byName[f.Name] = f
		}
	}
	declared := make([]json.Field, len(fields))
	for i, f := range fields {
		written, known := byName[f.Name]
		switch kind := f.Type.Kind; {
		case kind == column.Decimal && known:
			f.Unscaled, f.Point = written.Unscaled, written.Point
		case kind == column.Decimal && !exact:
			if f.Unscaled = inBase64(f.Name, rows); f.Unscaled {
				f.Point = f.Type.Scale
			}
		case known && isTime(written.Type.Kind):
			f.Unit = written.Unit
		case kind == column.Date:
			f.Unit = json.Days
		}
		declared[i] = f
	}
	return declared
}

// inBase64 reports whether the strings of a field are not all numbers as text. Debezium writes decimals in one way, and in base64 unless it is told otherwise, so
// that is what rows without a string say.
func inBase64(name string, rows [][]byte) bool {
	plan := json.Compile([]json.Path{{{Kind: json.Name, Name: name}}})
	x, found := plan.NewExtractor(), make([]json.Value, 1)
	texts := false
	for _, row := range rows {
		if x.Extract(row, found) != nil || found[0].Type != json.String {
			continue
		}
		text, _ := found[0].Text(row, nil)
		if _, fault := convert.AppendDecimal(nil, text, convert.MaxPrecision, convert.MaxScale); fault == convert.Syntax {
			return true
		}
		texts = true
	}
	return !texts
}
