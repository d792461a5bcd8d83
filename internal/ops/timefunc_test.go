package ops

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"millrace/internal/column"

	"pgregory.net/rapid"
)

// timeOf is a time of the boxed value of x.
func timeOf(x Expr, v any) time.Time {
	if x.Type().Kind == column.Date {
		return time.Unix(v.(int64)*86_400, 0).UTC()
	}
	return time.UnixMicro(v.(int64)).UTC()
}

// timeFuncOracle is a function of a time, or one that makes a time.
func timeFuncOracle(t *rapid.T) oracle {
	x := columnOf(rapid.SampledFrom([]int{8, 9}).Draw(t, "time"))
	of := func(e Expr, f func(at time.Time) any) oracle {
		return oracle{e, func(row []any) (any, error) {
			v, err := x.eval(row)
			if v == nil || err != nil {
				return nil, err
			}
			return f(timeOf(x.expr, v)), nil
		}}
	}
	switch rapid.IntRange(0, 4).Draw(t, "time function") {
	case 4:
		typ := column.Type{Kind: column.Decimal, Precision: 19, Scale: uint8(rapid.SampledFrom([]int{0, 3, 6}).Draw(t, "scale"))}
		return of(must(UnixSeconds(x.expr, typ, math.MaxInt64)), func(at time.Time) any {
			if at.Unix() < 1 {
				at = time.Unix(0, 0)
			}
			whole := fmt.Sprintf("%d.%06d", at.Unix(), at.Nanosecond()/1000)
			return boxed(strings.TrimSuffix(whole[:len(whole)-6+int(typ.Scale)], "."), column.Decimal)
		})
	case 0:
		x = columnOf(8)
		return of(must(UnixMillis(x.expr)), func(at time.Time) any { return at.UnixMilli() })
	case 1:
		return of(must(DateFormat(x.expr, "%Y-%m-%dT%T.%f %W at %l %p")), func(at time.Time) any {
			return strings.Replace(at.Format("2006-01-02T15:04:05.000000 Monday _t 3 PM"), "_t", "at", 1)
		})
	case 2:
		x = columnOf(1)
		micros := rapid.SampledFrom([]int64{1, 1000}).Draw(t, "micros")
		return oracle{must(TimestampOf(x.expr, "timestamp_of", micros)), func(row []any) (any, error) {
			v, err := x.eval(row)
			if v == nil || err != nil {
				return nil, err
			}
			if n := v.(int64); math.Abs(float64(n)) > 1<<41 {
				return nil, errRange
			} else {
				return n * micros, nil
			}
		}}
	}
	u := TimeUnit(rapid.IntRange(0, int(UnitMicrosecond)).Draw(t, "unit"))
	return of(must(DateTrunc(u, x.expr)), func(at time.Time) any {
		switch u {
		case UnitYear:
			at = time.Date(at.Year(), 1, 1, 0, 0, 0, 0, time.UTC)
		case UnitQuarter:
			at = time.Date(at.Year(), (at.Month()+2)/3*3-2, 1, 0, 0, 0, 0, time.UTC)
		case UnitMonth:
			at = time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC)
		case UnitWeek:
			for at = at.Truncate(24 * time.Hour); at.Weekday() != time.Monday; at = at.AddDate(0, 0, -1) {
			}
		default:
			at = at.Truncate(time.Duration(microsOf[u]) * time.Microsecond)
		}
		return at.UnixMicro()
	})
}

func TestDateTruncAcrossTheEdges(t *testing.T) {
	for want, c := range map[string]struct {
		unit TimeUnit
		at   string
	}{
		"1969-12-29 00:00:00": {UnitWeek, "1970-01-01 00:00:00"},
		"1969-12-31 23:59:59": {UnitSecond, "1969-12-31 23:59:59.5"},
		"2024-01-01 00:00:00": {UnitYear, "2024-12-31 23:59:59.999999"},
		"2024-10-01 00:00:00": {UnitQuarter, "2024-12-31 00:00:00"},
		"2024-02-01 00:00:00": {UnitMonth, "2024-02-29 12:00:00"},
		"2024-02-29 12:00:00": {UnitHour, "2024-02-29 12:59:59"},
	} {
		at, err := time.Parse("2006-01-02 15:04:05", c.at)
		if err != nil {
			t.Fatal(err)
		}
		v := column.Vector{Type: timestampMicros}
		v.AppendInt(at.UnixMicro())
		f := column.Field{Name: "at", Type: timestampMicros}
		e := must(DateTrunc(c.unit, Column(0, f)))
		out := must(newLane(map[string]int{}).bind(e).eval(batchOf(v), nil))
		if got := time.UnixMicro(out.Int[0]).UTC().Format("2006-01-02 15:04:05.999999"); got != want {
			t.Errorf("%v of %s is %s, want %s", c.unit, c.at, got, want)
		}
	}
}

func TestFormatsThatNeedTheEngineAreRefused(t *testing.T) {
	for _, format := range []string{"%U", "%y", "%", "%Y%", "%%", "%k", "%é"} {
		if _, err := DateFormat(Column(8, rowFields[8]), format); err == nil {
			t.Errorf("%s has a kernel", format)
		}
	}
}

// hexOracle is hex of text or bytes.
func hexOracle(t *rapid.T) oracle {
	x := columnOf(rapid.SampledFrom([]int{5, 6}).Draw(t, "hex"))
	return oracle{must(Hex(x.expr)), func(row []any) (any, error) {
		v, err := x.eval(row)
		if v == nil || err != nil {
			return nil, err
		}
		return fmt.Sprintf("%X", v), nil
	}}
}

func BenchmarkDateTruncMinute(b *testing.B) {
	v := column.Vector{Type: timestampMicros}
	for i := range int64(1024) {
		v.AppendInt(1_700_000_000_000_000 + i*1_234_567)
	}
	batch := batchOf(v)
	l := newLane(map[string]int{})
	e := l.bind(must(DateTrunc(UnitMinute, Column(0, column.Field{Name: "at", Type: timestampMicros}))))
	b.ReportAllocs()
	for b.Loop() {
		l.batch++
		if _, err := e.eval(batch, nil); err != nil {
			b.Fatal(err)
		}
	}
}
