package ops

import (
	"math"
	"strings"
	"testing"

	"millrace/internal/column"
)

func TestCasts(t *testing.T) {
	text, binary := column.Type{Kind: column.Text}, column.Type{Kind: column.Bytes}
	i32, i64, u64 := column.Type{Kind: column.Int32}, column.Type{Kind: column.Int64}, column.Type{Kind: column.Uint64}
	f64, boolean, date := column.Type{Kind: column.Float64}, column.Type{Kind: column.Bool}, column.Type{Kind: column.Date}
	dec, ts := column.Type{Kind: column.Decimal, Precision: 6, Scale: 2}, column.Type{Kind: column.Timestamp, Scale: 6}
	jsonType := column.Type{Kind: column.JSON}
	const day = int64(microsPerDay)
	for _, c := range []struct {
		from column.Type
		x    any
		to   column.Type
		want string // an error when it starts with !
	}{
		{text, "42", i64, "42"},
		{text, " -1e3 ", i64, "-1000"},
		{text, "9223372036854775808", i64, "!value '9223372036854775808' is out of range for BIGINT"},
		{text, "12x", i64, "!invalid value '12x' for BIGINT"},
		{text, "2147483648", i32, "!value '2147483648' is out of range for INT"},
		{text, "18446744073709551615", u64, "18446744073709551615"},
		{text, "1.5", f64, "1.5"},
		{text, "NaN", f64, "!invalid value 'NaN' for DOUBLE"},
		{text, "1.005", dec, "1.01"},
		{text, "10000", dec, "!value '10000' is out of range for DECIMAL(6,2)"},
		{text, "yes", boolean, "1"},
		{text, "1970-01-02 00:00:01.5", ts, "86401500000"},
		{text, "soon", ts, "!invalid value 'soon' for TIMESTAMP"},
		{text, "1970-01-03T10:00:00Z", date, "2"},
		{text, "ab", binary, "ab"},
		{text, "ab", text, "ab"},
		{text, `{"a":1.50}`, jsonType, `{"a":1.50}`},
		{text, `{`, jsonType, "!invalid value '{' for JSON"},
		{binary, "a\xffb", text, "a\ufffdb"},
		{binary, "ab", text, "ab"},
		{i64, int64(1) << 40, i32, "!value '1099511627776' is out of range for INT"},
		{i64, int64(7), f64, "7"},
		{i64, int64(-7), dec, "-7.00"},
		{i64, int64(-7), text, "-7"},
		{i64, int64(2), boolean, "1"},
		{i64, int64(86400), ts, "86400000000"},
		{i64, int64(math.MaxInt64), ts, "!value '9223372036854775807' is out of range for TIMESTAMP"},
		{boolean, true, text, "true"},
		{boolean, true, i64, "1"},
		{boolean, false, dec, "0.00"},
		{f64, -1.9, i64, "-1"},
		{f64, 1e19, i64, "!value '10000000000000000000' is out of range for BIGINT"},
		{f64, 0.5, text, "0.5"},
		{f64, 1e21, text, "1000000000000000000000"},
		{f64, 2.345, dec, "2.35"},
		{f64, 0.1, boolean, "1"},
		{dec, "-7.90", i64, "-7"},
		{dec, "7.25", f64, "7.25"},
		{dec, "7.25", column.Type{Kind: column.Decimal, Precision: 3, Scale: 1}, "7.3"},
		{dec, "7.25", text, "7.25"},
		{ts, 3*day + 1500000, text, "1970-01-04 00:00:01.5"},
		{ts, int64(-1), date, "-1"},
		{ts, int64(-1), i64, "-1"},
		{ts, int64(1500000), f64, "1.5"},
		{ts, int64(1500000), dec, "1.50"},
		{column.Type{Kind: column.Timestamp, Scale: 3}, int64(1000), ts, "1000"},
		{date, int64(1), ts, "86400000000"},
		{date, int64(1), text, "1970-01-02"},
	} {
		in := column.Vector{Type: c.from}
		in.AppendNull()
		switch x := c.x.(type) {
		case string:
			in.AppendBytes([]byte(x))
		case float64:
			in.AppendFloat(x)
		case bool:
			in.AppendInt(int64(bit(x)))
		default:
			in.AppendInt(x.(int64))
		}
		for _, try := range []bool{false, true} {
			e, err := Cast(Column(0, column.Field{Type: c.from, Nullable: true}), c.to, try)
			if err != nil {
				t.Errorf("%v → %v: %v", c.from, c.to, err)
				continue
			}
			got, err := newLane(nil).bind(e).eval(batchOf(in), nil)
			message, fails := strings.CutPrefix(c.want, "!")
			if fails && !try {
				if r, ok := err.(*rowError); !ok || r.row != 1 || !strings.HasPrefix(err.Error(), message+"\nhint:") {
					t.Errorf("%v %v → %v: got %v", c.from, c.x, c.to, err)
				}
				continue
			}
			want := c.want
			if fails {
				want = "NULL"
			}
			if err != nil {
				t.Errorf("%v %v → %v: %v", c.from, c.x, c.to, err)
			} else if cell(got, 0) != "NULL" || cell(got, 1) != want || got.Type != c.to {
				t.Errorf("%v %v → %v: got %s, %s (%v), want %s", c.from, c.x, c.to, cell(got, 0), cell(got, 1), got.Type, want)
			}
		}
	}
}

func TestCastsWithoutAKernelAreRefused(t *testing.T) {
	for _, c := range []struct{ from, to column.Kind }{
		{column.Bytes, column.Int64}, {column.Date, column.Int64}, {column.JSON, column.Bytes}, {column.Timestamp, column.Bool},
	} {
		if e, err := Cast(Column(0, column.Field{Type: column.Type{Kind: c.from}}), column.Type{Kind: c.to}, true); err == nil {
			t.Errorf("%v → %v became %v", c.from, c.to, e)
		}
	}
}
