package wire

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"millrace/internal/column"
	"millrace/internal/sqlerr"
)

// body drops the length byte.
func body(t *testing.T, b []byte) string {
	t.Helper()
	if int(b[0]) != len(b)-1 {
		t.Fatalf("%q: length %d", b, b[0])
	}
	return string(b[1:])
}

func TestNumbersAsText(t *testing.T) {
	for _, v := range []int64{0, 9, 10, -1, 123456, math.MaxInt64, math.MinInt64} {
		if got := body(t, Int(nil, v)); got != strconv.FormatInt(v, 10) {
			t.Errorf("%d: %s", v, got)
		}
	}
	if got := body(t, Uint(nil, math.MaxUint64)); got != "18446744073709551615" {
		t.Error(got)
	}
	for v, want := range map[float64]string{
		0: "0", 1: "1", -7: "-7", 12345678: "12345678", 16777216: "16777216", 1<<24 + 1: "16777217", -2.5: "-2.5", 0.1: "0.1", 1e14: "100000000000000", 1e15: "1e15", -2.25e20: "-2.25e20", 1e300: "1e300", 1.5e-15: "0.0000000000000015",
		1.5e-20: "1.5e-20", math.MaxFloat64: "1.7976931348623157e308",
	} {
		if got := body(t, Float(nil, v, 64)); got != want {
			t.Errorf("%g: %s, want %s", v, got, want)
		}
	}
	if got := body(t, Float(nil, math.Copysign(0, -1), 64)); got != "-0" {
		t.Error(got)
	}
	if got := body(t, Float(nil, float64(float32(0.1)), 32)); got != "0.1" {
		t.Error(got)
	}
}

func TestDatesAgreeWithTheTimePackage(t *testing.T) {
	edges := []int64{0, -1, 1, microsPerDay - 1, microsPerDay, -microsPerDay, -microsPerDay - 1}
	for _, at := range []string{"0001-01-01 00:00:00", "1582-10-15 12:30:45.000001", "1900-02-28 23:59:59.999999", "1969-12-31 23:59:59.5", "2000-02-29 01:02:03.4",
		"2024-12-31 23:59:59", "9999-12-31 23:59:59.999999", "0000-01-01 00:00:00", "0000-02-29 00:00:00"} {
		v, err := time.Parse("2006-01-02 15:04:05.999999", at)
		if err != nil {
			t.Fatal(err)
		}
		edges = append(edges, v.UnixMicro())
	}
	for d := int64(-720_000); d < 3_000_000; d += 997 {
		edges = append(edges, d*microsPerDay+d*31_415_926%microsPerDay)
	}
	layouts := []string{"2006-01-02 15:04:05", "2006-01-02 15:04:05.0", "2006-01-02 15:04:05.00", "2006-01-02 15:04:05.000", "2006-01-02 15:04:05.0000", "2006-01-02 15:04:05.00000", "2006-01-02 15:04:05.000000"}
	for _, v := range edges {
		at := time.UnixMicro(v).UTC()
		if at.Year() > 9999 || at.Year() < 0 {
			continue
		}
		for scale, layout := range layouts {
			if got := body(t, DatetimeText(nil, v, scale)); got != at.Format(layout) {
				t.Fatalf("%d: %s, want %s", v, got, at.Format(layout))
			}
		}
		days := floorDiv(v, microsPerDay)
		if got := body(t, DateText(nil, days)); got != at.Format("2006-01-02") {
			t.Fatalf("%d: %s", v, got)
		}
		// What is written in binary reads back as the same text.
		b := DatetimeBinary(nil, v)
		text, err := datetimeValue(b[1:], false)
		want := strings.TrimSuffix(at.Format(layouts[6]), ".000000")
		if err != nil || text != want || int(b[0]) != len(b)-1 {
			t.Fatalf("%d: %v, want %s, %v", v, text, want, err)
		}
		b = DateBinary(nil, days)
		if text, err := datetimeValue(b[1:], true); err != nil || text != at.Format("2006-01-02") {
			t.Fatalf("%d: %v, %v", v, text, err)
		}
	}
}

func TestDatesThatMySQLDoesNotHave(t *testing.T) {
	for v, want := range map[int64]string{
		math.MaxInt64: "294247-01-10 04:00:54", math.MinInt64: "-290308-12-21 19:59:05", 253402300800 * microsPerSecond: "10000-01-01 00:00:00",
	} {
		if got := body(t, DatetimeText(nil, v, 0)); got != want {
			t.Errorf("%d: %s, want %s", v, got, want)
		}
		if b := DatetimeBinary(nil, v); int(b[0]) != len(b)-1 {
			t.Errorf("%d: %v", v, b)
		}
	}
	for _, days := range []int64{math.MaxInt32, math.MinInt32} {
		body(t, DateText(nil, days))
		DateBinary(nil, days)
	}
}

func TestTimes(t *testing.T) {
	for _, c := range []struct {
		micros int64
		scale  int
		want   string
	}{
		{0, 0, "00:00:00"}, {0, 6, "00:00:00.000000"}, {1, 6, "00:00:00.000001"}, {-1, 6, "-00:00:00.000001"}, {-1_500_000, 1, "-00:00:01.5"},
		{838*3600e6 + 59*60e6 + 59e6, 0, "838:59:59"}, {-(838*3600e6 + 59*60e6 + 59e6), 0, "-838:59:59"}, {100 * 3600e6, 2, "100:00:00.00"},
		{math.MinInt64, 6, "-2562047788:00:54.775808"}, {23*3600e6 + 4*60e6 + 5_060_708, 6, "23:04:05.060708"},
	} {
		if got := body(t, TimeText(nil, c.micros, c.scale)); got != c.want {
			t.Errorf("%d: %s, want %s", c.micros, got, c.want)
		}
		b := TimeBinary(nil, c.micros)
		text, err := timeValue(b[1:])
		want := strings.TrimSuffix(body(t, TimeText(nil, c.micros, 6)), ".000000")
		if err != nil || text != want {
			t.Errorf("%d: %v, want %s, %v", c.micros, text, want, err)
		}
	}
}

func TestColumnDefinitions(t *testing.T) {
	for _, c := range []struct {
		field column.Type
		want  Column
	}{
		{column.Type{Kind: column.Bool}, Column{Type: TypeTiny, Length: 1, Charset: 63, Flags: 128}},
		{column.Type{Kind: column.Int32}, Column{Type: TypeLong, Length: 11, Charset: 63, Flags: 128}},
		{column.Type{Kind: column.Int64}, Column{Type: TypeLonglong, Length: 20, Charset: 63, Flags: 128}},
		{column.Type{Kind: column.Uint64}, Column{Type: TypeLonglong, Length: 20, Charset: 63, Flags: 128 | 32}},
		{column.Type{Kind: column.Float64}, Column{Type: TypeDouble, Length: 22, Charset: 63, Flags: 128, Decimals: 31}},
		{column.Type{Kind: column.Decimal, Precision: 10}, Column{Type: TypeNewDecimal, Length: 11, Charset: 63, Flags: 128}},
		{column.Type{Kind: column.Decimal, Precision: 10, Scale: 2}, Column{Type: TypeNewDecimal, Length: 12, Charset: 63, Flags: 128, Decimals: 2}},
		{column.Type{Kind: column.Bytes}, Column{Type: TypeBlob, Length: math.MaxUint32, Charset: 63, Flags: 128 | 16}},
		{column.Type{Kind: column.Text}, Column{Type: TypeBlob, Length: math.MaxUint32, Charset: 255, Flags: 16}},
		{column.Type{Kind: column.JSON}, Column{Type: TypeJSON, Length: math.MaxUint32, Charset: 63, Flags: 128 | 16}},
		{column.Type{Kind: column.Date}, Column{Type: TypeDate, Length: 10, Charset: 63, Flags: 128}},
		{column.Type{Kind: column.Time}, Column{Type: TypeTime, Length: 10, Charset: 63, Flags: 128}},
		{column.Type{Kind: column.Time, Scale: 6}, Column{Type: TypeTime, Length: 17, Charset: 63, Flags: 128, Decimals: 6}},
		{column.Type{Kind: column.Timestamp}, Column{Type: TypeDatetime, Length: 19, Charset: 63, Flags: 128}},
		{column.Type{Kind: column.Timestamp, Scale: 3}, Column{Type: TypeDatetime, Length: 23, Charset: 63, Flags: 128, Decimals: 3}},
	} {
		c.want.Name = "c"
		if got := ColumnOf(column.Field{Name: "c", Type: c.field, Nullable: true}); got != c.want {
			t.Errorf("%v: %+v, want %+v", c.field, got, c.want)
		}
		c.want.Flags |= FlagNotNull
		if got := ColumnOf(column.Field{Name: "c", Type: c.field}); got != c.want {
			t.Errorf("%v: %+v, want %+v", c.field, got, c.want)
		}
	}
}

func TestParameterValues(t *testing.T) {
	for _, c := range []struct {
		name     string
		t        byte
		unsigned bool
		bytes    []byte
		want     any
	}{
		{"tiny", TypeTiny, false, []byte{0x80}, int64(-128)},
		{"unsigned tiny", TypeTiny, true, []byte{0x80}, uint64(128)},
		{"short", TypeShort, false, []byte{0xff, 0xff}, int64(-1)},
		{"int24 takes four bytes", TypeInt24, false, []byte{1, 0, 0, 0}, int64(1)},
		{"long", TypeLong, true, []byte{0xff, 0xff, 0xff, 0xff}, uint64(math.MaxUint32)},
		{"longlong", TypeLonglong, false, []byte{0, 0, 0, 0, 0, 0, 0, 0x80}, int64(math.MinInt64)},
		{"year", TypeYear, false, []byte{0xe9, 0x07}, int64(2025)},
		{"float keeps its decimal form", TypeFloat, false, FloatBinary(nil, 0.1), 0.1},
		{"double", TypeDouble, false, DoubleBinary(nil, -2.5), -2.5},
		{"null", TypeNull, false, nil, nil},
		{"text", TypeVarString, false, []byte("\x03abc"), "abc"},
		{"decimal", TypeNewDecimal, false, []byte("\x041.50"), "1.50"},
		{"empty date", TypeDate, false, []byte{0}, "0000-00-00"},
		{"date", TypeDate, false, []byte{4, 0xe9, 7, 1, 2}, "2025-01-02"},
		{"datetime without time", TypeDatetime, false, []byte{4, 0xe9, 7, 1, 2}, "2025-01-02 00:00:00"},
		{"datetime", TypeTimestamp, false, []byte{7, 0xe9, 7, 1, 2, 3, 4, 5}, "2025-01-02 03:04:05"},
		{"milliseconds", TypeDatetime, false, []byte{11, 0xe9, 7, 1, 2, 3, 4, 5, 0xa0, 0x0f, 0, 0}, "2025-01-02 03:04:05.004000"},
		{"time", TypeTime, false, []byte{8, 1, 1, 0, 0, 0, 2, 3, 4}, "-26:03:04"},
		{"time with fraction", TypeTime, false, []byte{12, 0, 0, 0, 0, 0, 2, 3, 4, 5, 0, 0, 0}, "02:03:04.000005"},
		{"no time", TypeTime, false, []byte{0}, "00:00:00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := cursor{b: c.bytes}
			got, err := decodeValue(&k, c.t, c.unsigned)
			if err != nil || got != c.want || k.bad || len(k.b) > 0 {
				t.Errorf("%v (%T), want %v; %v; rest %v", got, got, c.want, err, k.b)
			}
		})
	}
	for _, kind := range []byte{TypeBit, TypeTinyBlob, TypeMediumBlob, TypeLongBlob, TypeBlob, TypeGeometry} {
		k := cursor{b: []byte("\x04\x00\xff'\\")}
		if got, err := decodeValue(&k, kind, false); err != nil || string(got.([]byte)) != "\x00\xff'\\" {
			t.Errorf("type %d: %v, %v", kind, got, err)
		}
	}
	for _, bad := range [][]byte{{TypeDate, 3, 1, 1, 1}, {TypeTime, 7, 0, 0, 0, 0, 0, 0, 0}, {TypeTime, 13, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, {14}, {200, 1, 2}} {
		k := cursor{b: bad[1:]}
		if v, err := decodeValue(&k, bad[0], false); err == nil || !sqlerr.HasKind(err, sqlerr.Malformed) && !sqlerr.HasKind(err, sqlerr.BadParameters) {
			t.Errorf("%v: %v, %v", bad, v, err)
		}
	}
}

func TestRememberedSecondsAreWrittenAsOthers(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var s secondText
	micros := int64(0)
	for range 20_000 {
		switch rnd.IntN(4) {
		case 0:
			micros = int64(rnd.Uint64()) // any, also years that MySQL has not
		case 1:
			micros = rnd.Int64N(4_000_000_000_000_000) - 1_000_000_000_000_000
		default:
			micros += rnd.Int64N(2_000_000) - 500_000
		}
		scale := rnd.IntN(8) - 1
		if got, want := string(s.append(nil, micros, scale)), string(DatetimeText(nil, micros, scale)); got != want {
			t.Fatalf("%d with %d digits: %q, want %q", micros, scale, got, want)
		}
	}
}
