package ops

import "millrace/internal/column"

// IsTrue is true where x, a condition, is TRUE, else false.
func IsTrue(x Expr) (Expr, error) { return newIsTruth(x, true, " IS TRUE)") }

// IsFalse is true where x, a condition, is FALSE, else false.
func IsFalse(x Expr) (Expr, error) { return newIsTruth(x, false, " IS FALSE)") }

func newIsTruth(x Expr, truth bool, text string) (Expr, error) {
	if err := isCondition(x); err != nil {
		return nil, err
	}
	return &isTruth{condition{false, "(" + x.String() + text}, x, truth}, nil
}

type isTruth struct {
	condition
	x     Expr
	truth bool
}

func (e *isTruth) operands() []Expr { return []Expr{e.x} }

func (e *isTruth) bind(l *lane) evaluator {
	return withValue(&isTruthEval{x: asPredicate(e.x, l), truth: e.truth})
}

type isTruthEval struct {
	x     predicate
	truth bool
	rows  []int32
}

func (e *isTruthEval) choose(in *column.Batch, sel []int32, want bool, dst []int32) ([]int32, error) {
	if want {
		return e.x.choose(in, sel, e.truth, dst)
	}
	e.rows = room(e.rows, in.N)
	rows, err := e.x.choose(in, sel, e.truth, e.rows)
	if err != nil {
		return nil, err
	}
	return minus(in.N, sel, rows, dst), nil
}
