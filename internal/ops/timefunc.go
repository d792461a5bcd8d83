package ops

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"millrace/internal/column"
	"millrace/internal/convert"
)

// TimeUnit is a unit of the calendar or the clock.
type TimeUnit uint8

// The units.
const (
	UnitYear TimeUnit = iota
	UnitQuarter
	UnitMonth
	UnitWeek
	UnitDay
	UnitHour
	UnitMinute
	UnitSecond
	UnitMillisecond
	UnitMicrosecond
)

func (u TimeUnit) String() string {
	return [...]string{"YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"}[u]
}

// microsOf are the units of a fixed length.
var microsOf = map[TimeUnit]int64{UnitDay: microsPerDay, UnitHour: 3_600_000_000, UnitMinute: 60_000_000, UnitSecond: 1_000_000, UnitMillisecond: 1000, UnitMicrosecond: 1}

// DateTrunc is the beginning of the unit in which x, a timestamp or a date, lies. Weeks begin on Monday.
func DateTrunc(u TimeUnit, x Expr) (Expr, error) {
	if k := x.Type().Kind; k != column.Timestamp && k != column.Date {
		return nil, unsupported("the beginning of a unit of %v is not computed on batches", x.Type())
	}
	text := fmt.Sprintf("date_trunc('%v', %v)", u, x)
	begin := func(day int64) int64 { return beginOf(u, day) }
	if by, ok := microsOf[u]; ok {
		return &intFunc{x: widen(x, column.Timestamp), typ: timestampMicros, text: text, loop: func(v []int64, rows []int32, out []int64) {
			for _, i := range rows {
				out[i] = floorDiv(v[i], by) * by
			}
		}}, nil
	}
	return &intFunc{x: widen(x, column.Timestamp), typ: timestampMicros, text: text, loop: func(v []int64, rows []int32, out []int64) {
		// Records stand in the order of their times, more or less, so the day is mostly that of the record before.
		known, first := int64(math.MinInt64), int64(0)
		for _, i := range rows {
			if day := floorDiv(v[i], microsPerDay); day != known {
				known, first = day, begin(day)
			}
			out[i] = first * microsPerDay
		}
	}}, nil
}

var timestampMicros = column.Type{Kind: column.Timestamp, Scale: 6}

// beginOf is the first day of the unit in which a day lies.
func beginOf(u TimeUnit, day int64) int64 {
	if u == UnitWeek {
		return day - floorMod(day+3, 7) // 1970 began on a Thursday
	}
	t := time.Unix(day*86_400, 0).UTC()
	month := t.Month()
	switch u {
	case UnitYear:
		month = 1
	case UnitQuarter:
		month -= (month - 1) % 3
	}
	return time.Date(t.Year(), month, 1, 0, 0, 0, 0, time.UTC).Unix() / 86_400
}

// UnixMillis is a timestamp as milliseconds since 1970, rounded down.
func UnixMillis(x Expr) (Expr, error) {
	if x.Type().Kind != column.Timestamp {
		return nil, unsupported("the milliseconds of %v are not computed on batches", x.Type())
	}
	return &intFunc{x: x, typ: column.Type{Kind: column.Int64}, text: fmt.Sprintf("unix_millis(%v)", x), loop: func(v []int64, rows []int32, out []int64) {
		for _, i := range rows {
			out[i] = floorDiv(v[i], 1000)
		}
	}}, nil
}

// UnixSeconds is a timestamp or a date as seconds since 1970, a decimal of so many fractional digits; more are cut off. What lies before the first second of that time, or
// after the last microsecond given, is 0.
func UnixSeconds(x Expr, typ column.Type, last int64) (Expr, error) {
	if k := x.Type().Kind; k != column.Timestamp && k != column.Date || typ.Kind != column.Decimal || typ.Scale > 6 {
		return nil, unsupported("the seconds of %v as %v are not computed on batches", x.Type(), typ)
	}
	scale, unit := int(typ.Scale), int64(1)
	for range 6 - scale {
		unit *= 10
	}
	return &textFunc{widen(x, column.Timestamp), typ, fmt.Sprintf("unix_timestamp(%v)", x), func(dst []byte, v *column.Vector, i int) []byte {
		micros := v.Int[i]
		if micros < 1_000_000 || micros > last {
			micros = 0
		}
		return appendScaledInt(dst, micros/unit, scale)
	}}, nil
}

// intFunc is a function of integers, times among them, that always has a value.
type intFunc struct {
	x    Expr
	typ  column.Type
	text string
	loop func(v []int64, rows []int32, out []int64)
}

func (e *intFunc) Type() column.Type { return e.typ }
func (e *intFunc) Nullable() bool    { return e.x.Nullable() }
func (e *intFunc) String() string    { return e.text }

func (e *intFunc) operands() []Expr { return []Expr{e.x} }

func (e *intFunc) bind(l *lane) evaluator { return &intFuncEval{intFunc: e, in: l.bind(e.x), lane: l} }

type intFuncEval struct {
	*intFunc
	in   evaluator
	lane *lane
	out  column.Vector
}

func (e *intFuncEval) eval(in *column.Batch, sel []int32) (*column.Vector, error) {
	v, err := e.in.eval(in, sel)
	if err != nil {
		return nil, err
	}
	e.out.Type = e.typ
	e.out.Int, e.out.Valid = room(e.out.Int, in.N), v.Valid
	e.loop(v.Int, dropNullsInto(v, e.lane.rows(in.N, sel), &e.lane.scratch), e.out.Int)
	return &e.out, nil
}

// TimestampOf is the time that lies x units of so many microseconds after 1970. What is out of the range of times is an error.
func TimestampOf(x Expr, name string, micros int64) (Expr, error) {
	if k := x.Type().Kind; k != column.Int32 && k != column.Int64 {
		return nil, unsupported("a time of %v is not computed on batches", x.Type())
	}
	return &timestampOf{x, name, micros}, nil
}

type timestampOf struct {
	x      Expr
	name   string
	micros int64
}

func (e *timestampOf) Type() column.Type { return timestampMicros }
func (e *timestampOf) Nullable() bool    { return e.x.Nullable() }
func (e *timestampOf) String() string    { return fmt.Sprintf("%s(%v)", e.name, e.x) }

func (e *timestampOf) operands() []Expr { return []Expr{e.x} }

func (e *timestampOf) bind(l *lane) evaluator {
	return &timestampOfEval{timestampOf: e, in: l.bind(e.x), lane: l}
}

type timestampOfEval struct {
	*timestampOf
	in   evaluator
	lane *lane
	out  column.Vector
}

func (e *timestampOfEval) eval(in *column.Batch, sel []int32) (*column.Vector, error) {
	v, err := e.in.eval(in, sel)
	if err != nil {
		return nil, err
	}
	e.out.Type = timestampMicros
	e.out.Int, e.out.Valid = room(e.out.Int, in.N), v.Valid
	for _, i := range dropNullsInto(v, e.lane.rows(in.N, sel), &e.lane.scratch) {
		x := v.Int[i]
		if x > math.MaxInt64/e.micros || x < math.MinInt64/e.micros || !convert.InTimestampRange(x*e.micros) {
			return nil, &rowError{int(i), convert.Failed(convert.Overflow, strconv.AppendInt(nil, x, 10), "TIMESTAMP")}
		}
		e.out.Int[i] = x * e.micros
	}
	return &e.out, nil
}
