package ops

import (
	"math"

	"millrace/internal/column"
	"millrace/internal/decode"
	"millrace/internal/sqlerr"
)

// decodedEval fills the vector of a field.
type decodedEval struct {
	*decoded
	from *recordSet
	kind column.Type
	out  column.Vector
	// valid and data are out's own memory; out.Data may be that of the records.
	valid []uint64
	data  []byte
	// copying remembers that the values of the last batch were not in the records as they stand.
	copying bool
}

func (e *decodedEval) eval(in *column.Batch, sel []int32) (*column.Vector, error) {
	v, rows, err := e.from.locate(in, sel)
	if err != nil {
		return nil, err
	}
	out := &e.out
	out.Type = e.kind
	e.valid = room(e.valid, (in.N+63)/64)
	for w := range e.valid {
		e.valid[w] = ^uint64(0)
	}
	out.Valid = e.valid
	slot := e.from.slotOf[e.field]
	switch {
	case e.kind.Kind.IsView():
		out.Beg, out.End = room(out.Beg, in.N), room(out.End, in.N)
		if !e.copying && e.view(v, rows, slot) {
			return out, nil
		}
		return out, e.copy(v, rows, slot)
	case e.kind.Kind == column.Float64:
		out.Float = room(out.Float, in.N)
		return out, e.floats(v, rows, slot)
	default:
		out.Int = room(out.Int, in.N)
		return out, e.ints(v, rows, slot)
	}
}

func (e *decodedEval) null(i int32) { e.out.Valid[i>>6] &^= 1 << (uint(i) & 63) }

func (e *decodedEval) ints(v *column.Vector, rows []int32, slot int) error {
	k := len(e.from.fields)
	for _, i := range rows {
		s := e.from.slots[int(i)*k+slot]
		if s.Kind == decode.Lazy {
			var err error
			if s, e.data, err = e.from.settle(v, i, slot, e.data[:0]); err != nil {
				return err
			}
		}
		if e.out.Int[i] = s.Int; s.Kind == decode.Null {
			e.null(i)
		}
	}
	return nil
}

func floatOf(s decode.Slot) float64 { return math.Float64frombits(uint64(s.Int)) }

func (e *decodedEval) floats(v *column.Vector, rows []int32, slot int) error {
	k := len(e.from.fields)
	for _, i := range rows {
		s := e.from.slots[int(i)*k+slot]
		if s.Kind == decode.Lazy {
			var err error
			if s, e.data, err = e.from.settle(v, i, slot, e.data[:0]); err != nil {
				return err
			}
		}
		if e.out.Float[i] = floatOf(s); s.Kind == decode.Null {
			e.null(i)
		}
	}
	return nil
}

// view points into the records themselves. It gives up at a value that is not written there as it reads.
func (e *decodedEval) view(v *column.Vector, rows []int32, slot int) bool {
	out, slots, k := &e.out, e.from.slots, len(e.from.fields)
	out.Data = v.Data
	for _, i := range rows {
		switch s := &slots[int(i)*k+slot]; s.Kind {
		case decode.View:
			beg := v.Beg[i]
			out.Beg[i], out.End[i] = beg+s.Beg, beg+s.End
		case decode.Null:
			e.null(i)
			out.Beg[i], out.End[i] = 0, 0
		default:
			return false
		}
	}
	return true
}

// copy writes the values one behind the other. When all of them were in the records after all, the next batch tries to view again.
func (e *decodedEval) copy(v *column.Vector, rows []int32, slot int) error {
	out := &e.out
	e.data = e.data[:0]
	e.copying = false
	for _, i := range rows {
		beg := len(e.data)
		s, data, err := e.from.settle(v, i, slot, e.data)
		if e.data = data; err != nil {
			return err
		}
		switch s.Kind {
		case decode.View:
			e.data = append(e.data, v.View(int(i))[s.Beg:s.End]...)
		case decode.Made:
			e.copying = true
			// Settle may have used more of the memory than the value.
			beg, e.data = int(s.Beg), e.data[:s.End]
		default:
			e.null(i)
		}
		out.Beg[i], out.End[i] = uint32(beg), uint32(len(e.data))
	}
	out.Data = e.data
	return nil
}

// decodeErrorEval writes what is wrong with rows.
type decodeErrorEval struct {
	from  *recordSet
	out   column.Vector
	valid []uint64
}

func (e *decodeErrorEval) eval(in *column.Batch, sel []int32) (*column.Vector, error) {
	v, rows, err := e.from.locate(in, sel)
	if err != nil {
		return nil, err
	}
	if err := e.from.check(v, rows); err != nil {
		return nil, err
	}
	out := &e.out
	out.Type = column.Type{Kind: column.Text}
	out.Beg, out.End, out.Data = room(out.Beg, in.N), room(out.End, in.N), out.Data[:0]
	e.valid = room(e.valid, (in.N+63)/64)
	clear(e.valid)
	out.Valid = e.valid
	for _, i := range rows {
		out.Beg[i], out.End[i] = 0, 0
		if f, ok := e.from.fault(i); ok {
			out.Beg[i] = uint32(len(out.Data))
			out.Data = append(out.Data, f.text...)
			out.End[i] = uint32(len(out.Data))
			out.Valid[i>>6] |= 1 << (uint(i) & 63)
		}
	}
	return out, nil
}

// wellFormedEval chooses rows by whether something is wrong with them.
type wellFormedEval struct{ from *recordSet }

func (e *wellFormedEval) choose(in *column.Batch, sel []int32, want bool, dst []int32) ([]int32, error) {
	v, rows, err := e.from.locate(in, sel)
	if err != nil {
		return nil, err
	}
	if err := e.from.check(v, rows); err != nil {
		return nil, err
	}
	dst = dst[:len(rows)]
	k := 0
	for _, i := range rows {
		f, bad := e.from.fault(i)
		if bad && e.from.how.mode == decode.FailFast {
			return nil, &rowError{int(i), sqlerr.New(sqlerr.BadRecord, "a record cannot be decoded: %s", f.text).
				WithHint("mode => 'PERMISSIVE' shows what is bad as NULL with the reason in _error, 'DROPMALFORMED' leaves such records out")}
		}
		dst[k] = i
		k += bit(bad != want)
	}
	if want {
		e.from.lane.faults.dropped.Add(int64(len(rows) - k))
		e.from.counts.Dropped.Add(int64(len(rows) - k))
	}
	return dst[:k], nil
}
