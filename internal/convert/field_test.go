package convert

import (
	"math"
	"testing"

	"millrace/internal/column"
)

func TestFieldsTakeWhatTheirWidthHolds(t *testing.T) {
	of := func(k column.Kind, width uint32) *column.Field {
		return &column.Field{Type: column.Type{Kind: k}, Width: width}
	}
	for _, c := range []struct {
		text  string
		field *column.Field
		want  int64
		fault Fault
	}{
		{"yes", of(column.Bool, 0), 1, OK},
		{"127", of(column.Int32, 8), 127, OK},
		{"128", of(column.Int32, 8), 0, Overflow},
		{"-128", of(column.Int32, 8), -128, OK},
		{"-129", of(column.Int32, 8), 0, Overflow},
		{"2147483648", of(column.Int32, 0), 0, Overflow},
		{"-2147483648", of(column.Int32, 0), math.MinInt32, OK},
		{"9223372036854775807", of(column.Int64, 0), math.MaxInt64, OK},
		{"4294967295", of(column.Uint64, 32), math.MaxUint32, OK},
		{"4294967296", of(column.Uint64, 32), 0, Overflow},
		{"18446744073709551615", of(column.Uint64, 0), -1, OK},
		{"1970-01-02", of(column.Date, 0), 1, OK},
		{"00:00:01", of(column.Time, 0), 1e6, OK},
		{"1970-01-01T01:00:00+01:00", of(column.Timestamp, 0), 0, OK},
		{"x", of(column.Int64, 0), 0, Syntax},
		{"x", of(column.Text, 0), 0, Syntax},
	} {
		n, fault := Int([]byte(c.text), c.field, false)
		if fault != c.fault || fault == OK && n != c.want {
			t.Errorf("%s as %s: %d, %v", c.text, c.field.Type, n, fault)
		}
	}
	if n, fault := Int([]byte("1970-01-01T01:00:00+01:00"), of(column.Timestamp, 0), true); n != 3600e6 || fault != OK {
		t.Errorf("on the clock: %d, %v", n, fault)
	}
	for text, want := range map[string]Fault{"1e300": Overflow, "0.1": OK, "nan": Syntax} {
		if _, fault := Float([]byte(text), of(column.Float64, 32)); fault != want {
			t.Errorf("%s as FLOAT: %v", text, fault)
		}
	}
	if bits, _ := Float([]byte("0.1"), of(column.Float64, 32)); math.Float64frombits(uint64(bits)) != float64(float32(0.1)) {
		t.Error("0.1 is not single")
	}
}
