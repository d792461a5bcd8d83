package ops

import (
	"regexp"

	"millrace/internal/column"
)

// Matches reports whether a part of x, a text, matches an expression of Go's.
func Matches(x Expr, re *regexp.Regexp) (Expr, error) {
	if x.Type().Kind != column.Text {
		return nil, unsupported("'REGEXP' over %v is not computed on batches", x.Type())
	}
	return &matches{condition{x.Nullable(), "(" + x.String() + " REGEXP " + quoted([]byte(re.String())) + ")"}, x, re}, nil
}

type matches struct {
	condition
	x  Expr
	re *regexp.Regexp
}

func (e *matches) operands() []Expr { return []Expr{e.x} }

func (e *matches) bind(l *lane) evaluator { return withValue(&matchesEval{l.bind(e.x), e.re}) }

type matchesEval struct {
	x  evaluator
	re *regexp.Regexp
}

func (e *matchesEval) choose(in *column.Batch, sel []int32, want bool, dst []int32) ([]int32, error) {
	v, err := e.x.eval(in, sel)
	if err != nil {
		return nil, err
	}
	sel = chooseValid(v, in.N, sel, true, dst)
	k := 0
	for _, i := range sel {
		dst[k] = i
		k += bit(e.re.Match(v.Data[v.Beg[i]:v.End[i]]) == want)
	}
	return dst[:k], nil
}
