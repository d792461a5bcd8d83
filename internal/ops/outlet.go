package ops

import "millrace/internal/column"

// projection computes columns.
type projection struct {
	evals   []evaluator
	vectors []*column.Vector
}

func (l *lane) bindAll(list []Expr) projection {
	p := projection{vectors: make([]*column.Vector, len(list))}
	for _, e := range list {
		p.evals = append(p.evals, l.bind(e))
	}
	return p
}

// all computes the columns at sel. The vectors stay valid until the next batch.
func (p *projection) all(b *column.Batch, sel []int32) *rowError {
	for i, e := range p.evals {
		v, err := e.eval(b, sel)
		if err != nil {
			return asRowError(err)
		}
		p.vectors[i] = v
	}
	return nil
}

// upTo is all, except that when a row fails it computes the rows before it, which it returns.
func (p *projection) upTo(b *column.Batch, sel []int32) (_ []int32, failed *rowError) {
	for {
		f := p.all(b, sel)
		if f == nil {
			return sel, failed
		}
		// All columns again: a later one may fail at a row before this one.
		failed = f
		sel = before(sel, f.row)
	}
}

// outlet copies rows into output batches of bounded size.
type outlet struct {
	to      output
	options *RunOptions
	views   []*column.Vector // the vectors at hand that hold bytes
}

// deliver hands out the rows of sel, in its order. all says that these are simply the first rows of the vectors, which saves
// looking each up.
func (o *outlet) deliver(vectors []*column.Vector, sel []int32, all bool) error {
	if len(sel) == 0 {
		return nil
	}
	o.views = o.views[:0]
	for _, v := range vectors {
		if v.Type.Kind.IsView() {
			o.views = append(o.views, v)
		}
	}
	for len(sel) > 0 {
		out := o.to.take()
		take := min(len(sel), o.options.MaxBatchRows-out.N)
		full := out.N+take == o.options.MaxBatchRows
		if len(o.views) > 0 {
			var heavy bool
			take, heavy = o.fit(sel[:take], o.options.MaxBatchBytes-viewBytes(out))
			full = full || heavy
		}
		rows := sel[:take]
		if all && take == len(sel) {
			rows = nil
		}
		for c, v := range vectors {
			out.Cols[c].AppendFrom(v, rows, take)
		}
		out.N += take
		sel, all = sel[take:], false
		if err := o.to.give(out, full); err != nil {
			return err
		}
	}
	return nil
}

// viewBytes is how many bytes the values of a batch have.
func viewBytes(b *column.Batch) int {
	n := 0
	for i := range b.Cols {
		n += len(b.Cols[i].Data)
	}
	return n
}

// fit gives how many of the rows, at least one, bring no more than space bytes, and whether that space is used up.
func (o *outlet) fit(sel []int32, space int) (rows int, full bool) {
	for k, i := range sel {
		for _, v := range o.views {
			if !v.IsNull(int(i)) {
				space -= int(v.End[i] - v.Beg[i])
			}
		}
		if space <= 0 {
			return k + 1, true
		}
	}
	return len(sel), false
}
