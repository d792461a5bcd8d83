package ops

import (
	"fmt"

	"millrace/internal/column"
	"millrace/internal/convert"
)

// ParseTime is the time that the text x gives by a pattern. A text that the pattern does not fit is an error, or NULL when it is tried.
func ParseTime(x Expr, p *convert.TimePattern, try bool) (Expr, error) {
	if x.Type().Kind != column.Text {
		return nil, unsupported("a time of %v by a format is not computed on batches", x.Type())
	}
	return &parseTime{x, p, try}, nil
}

type parseTime struct {
	x       Expr
	pattern *convert.TimePattern
	try     bool
}

func (e *parseTime) Type() column.Type { return timestampMicros }
func (e *parseTime) Nullable() bool    { return e.try || e.x.Nullable() }
func (e *parseTime) String() string {
	try := ""
	if e.try {
		try = "try_"
	}
	return fmt.Sprintf("%sto_timestamp(%v, '%v')", try, e.x, e.pattern)
}

func (e *parseTime) operands() []Expr { return []Expr{e.x} }

func (e *parseTime) bind(l *lane) evaluator {
	return &parseTimeEval{parseTime: e, in: l.bind(e.x), lane: l}
}

type parseTimeEval struct {
	*parseTime
	in   evaluator
	lane *lane
	out  column.Vector
	// valid is out's own bitmap, of batches where some text does not fit.
	valid []uint64
}

func (e *parseTimeEval) eval(in *column.Batch, sel []int32) (*column.Vector, error) {
	v, err := e.in.eval(in, sel)
	if err != nil {
		return nil, err
	}
	out := &e.out
	out.Type = timestampMicros
	out.Int, out.Valid = room(out.Int, in.N), v.Valid
	own := false
	for _, i := range dropNullsInto(v, e.lane.rows(in.N, sel), &e.lane.scratch) {
		text := v.View(int(i))
		micros, ok := e.pattern.Parse(text)
		switch {
		case ok:
			out.Int[i] = micros
		case !e.try:
			return nil, &rowError{int(i), e.pattern.Failed(text)}
		default:
			if !own {
				own = true
				out.Valid = e.ownValid(v.Valid, in.N)
			}
			out.Valid[i>>6] &^= 1 << (uint(i) & 63)
		}
	}
	return out, nil
}

// ownValid is a copy of a bitmap, in which all are valid when there is none.
func (e *parseTimeEval) ownValid(from []uint64, n int) []uint64 {
	words := (n + 63) / 64
	e.valid = room(e.valid, words)
	if copy(e.valid, from) == 0 {
		for w := range e.valid {
			e.valid[w] = ^uint64(0)
		}
	}
	return e.valid
}
