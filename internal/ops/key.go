package ops

import (
	"fmt"

	"millrace/internal/column"
)

// Key is the condition that x equals key n. Which value that is, is said for each run by Plan.WithKeys: a look-up that is run again and again is compiled once. x is a
// column of signed integers, or of text or bytes, which are compared byte by byte.
func Key(x Expr, n int) (Expr, error) {
	_, isColumn := x.(*columnRef)
	if as := family(x); !isColumn || as != asInt && as != asBytes {
		return nil, unsupported("'%v' is not compared with keys on batches", x)
	}
	return &key{condition{x.Nullable(), fmt.Sprintf("(%v = key %d)", x, n)}, x, n}, nil
}

// KeyValue is the value of a key: Int that of an integer, Text that of text or bytes.
type KeyValue struct {
	Int  int64
	Text string
}

// WithKeys is p, the filter of which has Keys, with values in their places. p stays as it is, and may be given other values at the same time.
func (p *Plan) WithKeys(values []KeyValue) *Plan {
	c := *p
	c.filter = make([]Expr, len(p.filter))
	for i, e := range p.filter {
		if k, ok := e.(*key); ok {
			e = k.with(values[k.number])
		}
		c.filter[i] = e
	}
	return &c
}

// key is a Key.
type key struct {
	condition
	x      Expr
	number int
}

func (k *key) operands() []Expr { return []Expr{k.x} }

func (k *key) bind(*lane) evaluator {
	panic("ops: a plan with keys runs by WithKeys")
}

// with is the comparison with v. Its text is that of the key: nothing that runs again is worth a text.
func (k *key) with(v KeyValue) Expr {
	if family(k.x) == asInt {
		return &inRange{condition: k.condition, x: k.x, lo: uint64(v.Int)}
	}
	return &comparison{condition: k.condition, op: Eq, as: asBytes, l: k.x, r: &constant{typ: column.Type{Kind: column.Text}, b: []byte(v.Text)}}
}
