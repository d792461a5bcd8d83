package json

import (
	"testing"

	"millrace/internal/column"
)

func TestNumbersInTimesCountUnits(t *testing.T) {
	for _, c := range []struct {
		kind column.Kind
		unit Unit
		json string
		want string
	}{
		{column.Date, Days, `20512`, "20512"},
		{column.Date, Days, `1.5`, "'x': wrong type: DATE is expected, found a number '1.5' at byte 5"},
		{column.Date, Days, `99999999`, "'x': out of range: '99999999' does not fit DATE at byte 5"},
		{column.Date, Seconds, `1`, "'x': wrong type: DATE is expected, found a number '1' at byte 5"},
		{column.Date, Millis, `1`, "'x': wrong type: DATE is expected, found a number '1' at byte 5"},
		{column.Date, Days, `"1970-01-02"`, "1"},
		{column.Time, Millis, `3600000`, "3600000000"},
		{column.Time, Micros, `1`, "1"},
		{column.Time, Millis, `86400000`, "'x': out of range: '86400000' does not fit TIME(6) at byte 5"},
		{column.Time, Millis, `-1`, "'x': out of range: '-1' does not fit TIME(6) at byte 5"},
		{column.Time, Seconds, `1`, "'x': wrong type: TIME(6) is expected, found a number '1' at byte 5"},
		{column.Timestamp, Millis, `1767225600123`, "1767225600123000"},
		{column.Timestamp, Millis, `1.5`, "1500"},
		{column.Timestamp, Micros, `1767225600123456`, "1767225600123456"},
		{column.Timestamp, Nanos, `1767225600123456789`, "1767225600123456"},
		{column.Timestamp, Nanos, `-1`, "-1"},
		{column.Timestamp, Millis, `1e300`, "'x': out of range: '1e300' does not fit TIMESTAMP(6) at byte 5"},
		{column.Timestamp, Days, `1`, "'x': wrong type: TIMESTAMP(6) is expected, found a number '1' at byte 5"},
	} {
		f := field("x", column.Type{Kind: c.kind, Scale: 6}, 0)
		if c.kind == column.Date {
			f.Type.Scale = 0
		}
		f.Unit = c.unit
		got, err := decodeAll(t, NewSchema([]Field{f}), `{"x":`+c.json+`}`)
		if err != nil || got[0] != c.want {
			t.Errorf("%s of unit %d, %s: got %q, %v; want %q", c.kind, c.unit, c.json, got, err, c.want)
		}
	}
}

func TestAFieldMayBeTheWholeRecord(t *testing.T) {
	f := field("value", column.Type{Kind: column.Int64}, 0)
	f.Path = Path{}
	for record, want := range map[string]string{"17": "17", " 1e3 ": "1000", "null": "NULL", `"x"`: "'value': wrong type: BIGINT is expected, found a string 'x' at byte 0"} {
		if got, err := decodeAll(t, NewSchema([]Field{f}), record); err != nil || got[0] != want {
			t.Errorf("%s: got %q, %v; want %q", record, got, err, want)
		}
	}
}
