package ops

import (
	"bytes"
	"cmp"

	"millrace/internal/column"
)

// Order is a key of ORDER BY. NULL sorts before everything else, as in MySQL, and so last with Desc.
type Order struct {
	Expr Expr
	Desc bool
}

func (o Order) String() string {
	if o.Desc {
		return o.Expr.String() + " DESC"
	}
	return o.Expr.String()
}

// orderable reports whether values of t have the order that compareValues gives.
func orderable(t column.Type) bool { return t.Kind != column.JSON && t.Kind != column.Invalid }

// compareValues orders row i of a and row j of b, vectors of one type.
func compareValues(a *column.Vector, i int, b *column.Vector, j int) int {
	if a.Valid != nil || b.Valid != nil {
		if an, bn := a.IsNull(i), b.IsNull(j); an || bn {
			return bit(bn) - bit(an)
		}
	}
	switch k := a.Type.Kind; {
	case k == column.Uint64:
		return cmp.Compare(uint64(a.Int[i]), uint64(b.Int[j]))
	case k == column.Float64:
		return compareFloats(a.Float[i], b.Float[j])
	case k == column.Decimal:
		return compareDecimals(a.View(i), b.View(j))
	case k.IsView():
		return bytes.Compare(a.View(i), b.View(j))
	default:
		return cmp.Compare(a.Int[i], b.Int[j])
	}
}

// ordering compares rows by several keys.
type ordering []Order

func (o ordering) compare(a []*column.Vector, i int, b []*column.Vector, j int) int {
	for k := range o {
		c := compareValues(a[k], i, b[k], j)
		if c == 0 {
			continue
		}
		if o[k].Desc {
			return -c
		}
		return c
	}
	return 0
}

func (o ordering) exprs() []Expr {
	list := make([]Expr, len(o))
	for i, k := range o {
		list[i] = k.Expr
	}
	return list
}
