package ops

import (
	"time"

	"millrace/internal/column"
)

// DatePart is a number that a time has in the calendar or on the clock, in UTC.
type DatePart uint8

// The parts. Weekday counts from Monday as 0, DayOfWeek from Sunday as 1.
const (
	Year DatePart = iota
	Quarter
	Month
	Day
	DayOfYear
	Weekday
	DayOfWeek
	Hour
	Minute
	Second
)

func (p DatePart) String() string {
	return [...]string{"year", "quarter", "month", "day", "dayofyear", "weekday", "dayofweek", "hour", "minute", "second"}[p]
}

// wantsDay reports whether the part is that of a day there is: 0000-00-00, which a stored column may hold, has 0 for a year but no weekday.
func (p DatePart) wantsDay() bool { return p == DayOfYear || p == Weekday || p == DayOfWeek }

// PartOf is part of x, a timestamp or a date, whose clock shows midnight.
func PartOf(part DatePart, x Expr) (Expr, error) {
	switch x.Type().Kind {
	case column.Timestamp, column.Date:
		return &partOf{part, widen(x, column.Timestamp)}, nil
	default:
		return nil, unsupported("'%v' of %v is not computed on batches", part, x.Type())
	}
}

type partOf struct {
	part DatePart
	x    Expr
}

func (e *partOf) Type() column.Type { return column.Type{Kind: column.Int32} }
func (e *partOf) Nullable() bool    { return e.x.Nullable() || e.part.wantsDay() }
func (e *partOf) String() string    { return e.part.String() + "(" + e.x.String() + ")" }

func (e *partOf) operands() []Expr { return []Expr{e.x} }

func (e *partOf) bind(l *lane) evaluator {
	return &partOfEval{x: l.bind(e.x), part: e.part, lane: l}
}

type partOfEval struct {
	x    evaluator
	part DatePart
	lane *lane
	out  column.Vector
	// valid is the memory of a bitmap for results that are NULL where x is not.
	valid []uint64
}

func (e *partOfEval) eval(in *column.Batch, sel []int32) (*column.Vector, error) {
	v, err := e.x.eval(in, sel)
	if err != nil {
		return nil, err
	}
	out := &e.out
	out.Type = column.Type{Kind: column.Int32}
	out.Int, out.Valid = room(out.Int, in.N), v.Valid
	rows := dropNullsInto(v, e.lane.rows(in.N, sel), &e.lane.scratch)
	switch e.part {
	case Hour:
		e.clock(v, rows, 3_600_000_000, 24)
	case Minute:
		e.clock(v, rows, 60_000_000, 60)
	case Second:
		e.clock(v, rows, 1_000_000, 60)
	case Weekday:
		// 1970 began on a Thursday.
		e.weekday(v, rows, 3, 0)
	case DayOfWeek:
		e.weekday(v, rows, 4, 1)
	default:
		e.calendar(v, rows)
	}
	if e.part.wantsDay() {
		e.dropZeroDates(v, rows, in.N)
	}
	return out, nil
}

// yearZero is the first moment of the year 0 in microseconds. All that a column can hold of the time before is 0000-00-00.
var yearZero = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()

// dropZeroDates makes the results of 0000-00-00 NULL.
func (e *partOfEval) dropZeroDates(v *column.Vector, rows []int32, n int) {
	owned := false
	for _, i := range rows {
		if v.Int[i] >= yearZero {
			continue
		}
		if !owned {
			owned = true
			e.valid = room(e.valid, (n+63)/64)
			if v.Valid != nil {
				copy(e.valid, v.Valid[:len(e.valid)])
			} else {
				for w := range e.valid {
					e.valid[w] = ^uint64(0)
				}
			}
			e.out.Valid = e.valid
		}
		e.out.Valid[i>>6] &^= 1 << (uint(i) & 63)
	}
}

// clock fills out with the unit's count modulo of.
func (e *partOfEval) clock(v *column.Vector, rows []int32, unit, of int64) {
	for _, i := range rows {
		e.out.Int[i] = floorMod(floorDiv(v.Int[i], unit), of)
	}
}

func (e *partOfEval) weekday(v *column.Vector, rows []int32, epoch, first int64) {
	for _, i := range rows {
		e.out.Int[i] = floorMod(floorDiv(v.Int[i], microsPerDay)+epoch, 7) + first
	}
}

// calendar fills out with what depends on the lengths of months. Records stand in the order of their times, more or less, so the day is mostly
// that of the record before.
func (e *partOfEval) calendar(v *column.Vector, rows []int32) {
	known, part := int64(0), int64(0)
	for k, i := range rows {
		if day := floorDiv(v.Int[i], microsPerDay); k == 0 || day != known {
			known, part = day, e.ofDay(day)
		}
		e.out.Int[i] = part
	}
}

func (e *partOfEval) ofDay(day int64) int64 {
	t := time.Unix(day*86_400, 0).UTC()
	if t.Year() < 0 {
		return 0 // 0000-00-00
	}
	switch e.part {
	case Year:
		return int64(t.Year())
	case Quarter:
		return int64(t.Month()-1)/3 + 1
	case Month:
		return int64(t.Month())
	case Day:
		return int64(t.Day())
	default:
		return int64(t.YearDay())
	}
}

// floorMod is the rest that goes with floorDiv, never negative.
func floorMod(x, by int64) int64 {
	return x - floorDiv(x, by)*by
}
