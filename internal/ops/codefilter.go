package ops

import (
	"slices"

	"millrace/internal/column"
)

// codeFilter is a condition that is computed of one text column and nothing else. Where that has codes the condition is decided once for each value of the
// dictionary, and rows are chosen by their codes.
type codeFilter struct {
	predicate // by rows
	column    int

	// byValue is the same condition in a lane of its own: what the lane of the rows remembers of its batch is none of the dictionary's.
	byValue predicate
	own     *lane
	values  column.Batch // of the dictionary, and NULL
	dict    *column.Dictionary
	decided bool
	passes  []bool // by code, NULL behind them
	rows    []int32
}

// mostDecided is the most values that a condition is decided for ahead: fewer than the rows of a window, which may be all that is read.
const mostDecided = 1024

// asFilter binds a conjunct of a filter.
func asFilter(e Expr, l *lane) predicate {
	byRow := asPredicate(e, l)
	c, ok := onlyText(e)
	if !ok || c < 0 {
		return byRow
	}
	own := newLane(nil)
	return &codeFilter{predicate: byRow, column: c, byValue: asPredicate(e, own), own: own}
}

// onlyText gives the text column that a condition is computed of, -1 for none; ok is false when there are several, and when it is not known to come to the same for the
// same text, and to leave no other trace, such as a count of bad records.
func onlyText(e Expr) (c int, ok bool) {
	switch x := e.(type) {
	case *columnRef:
		return x.index, x.field.Type.Kind.IsView()
	case *constant, *comparison, *inSet, *like, *matches, *isNull, *isTruth, *not, *logic, *textMap, *length, *characterCount:
	default:
		return 0, false
	}
	c = -1
	for _, o := range e.operands() {
		of, ok := onlyText(o)
		switch {
		case !ok, c >= 0 && of >= 0 && of != c:
			return 0, false
		case of >= 0:
			c = of
		}
	}
	return c, true
}

func (f *codeFilter) choose(in *column.Batch, sel []int32, want bool, dst []int32) ([]int32, error) {
	v := &in.Cols[f.column]
	if !want || !f.decide(v, len(in.Cols)) {
		return f.predicate.choose(in, sel, want, dst)
	}
	k := 0
	switch codes, passes := v.Codes, f.passes; {
	case v.Valid != nil:
		null := len(passes) - 1
		for _, i := range f.own.rows(in.N, sel) {
			c := null
			if !v.IsNull(int(i)) {
				c = int(codes[i])
			}
			dst[k] = i
			k += bit(passes[c])
		}
	case sel == nil:
		for i, c := range codes[:in.N] {
			dst[k] = int32(i)
			k += bit(passes[c])
		}
	default:
		for _, i := range sel {
			dst[k] = i
			k += bit(passes[codes[i]])
		}
	}
	return dst[:k], nil
}

// decide computes the condition for the values of a dictionary, unless it has. It reports false where it cannot: values may be many, or fail in rows that nobody asks for.
func (f *codeFilter) decide(v *column.Vector, columns int) bool {
	switch {
	case v.Dict == nil || v.Dict.Len() > mostDecided:
		return false
	case v.Dict == f.dict:
		return f.decided
	}
	f.dict = v.Dict
	n := v.Dict.Len()
	f.values.N = n + 1
	f.values.Cols = slices.Grow(f.values.Cols[:0], columns)[:columns]
	of := &f.values.Cols[f.column]
	of.Reset(v.Type)
	of.Beg, of.End = append(of.Beg, v.Dict.Beg...), append(of.End, v.Dict.End...)
	of.AppendNull()
	of.Data = v.Data
	f.rows = room(f.rows, n+1)
	f.own.batch++
	chosen, err := f.byValue.choose(&f.values, nil, true, f.rows)
	if f.decided = err == nil; !f.decided {
		return false
	}
	f.passes = room(f.passes, n+1)
	clear(f.passes)
	for _, c := range chosen {
		f.passes[c] = true
	}
	return true
}
