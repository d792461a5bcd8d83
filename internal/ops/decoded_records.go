package ops

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"millrace/internal/column"
	"millrace/internal/decode"
	"millrace/internal/scan"
	"millrace/internal/sqlerr"
)

// recordSet runs one decoder over a column for all who want something of it: a record is walked once, however many fields are wanted. What was found
// is kept for the batch; rows that a filter has excluded before any field was asked for are never looked at.
type recordSet struct {
	x    evaluator
	id   evaluator // what headers say of schemas, nil for nothing
	lane *lane
	how  *Decoding
	// fields are the wanted fields, complete when the first batch comes.
	fields    []int
	keepTexts bool
	// counts are those of the format.
	counts *scan.FormatFaults

	decoder decode.Decoder
	// headed is decoder where it is told what headers say, and headers is that for the batch; else nil.
	headed  decode.Headed
	headers *column.Vector
	// slotOf is the slot of each field of the schema, -1 for one that is not wanted.
	slotOf []int
	batch  int64
	done   []uint64
	// bad are rows whose record is bad.
	bad []uint64
	// slots by row, then field. What Settle makes of one is put back where it needs no memory; a bad field becomes Null once it is counted.
	slots []decode.Slot
	// faults are the bad fields, with the texts when they are kept; row by row the first in the order of the fields.
	faults map[int32]fault
	// partial are the slots that have a value although a part of it is bad, which is counted.
	partial map[int]bool
	// scratch is for values that are only checked.
	scratch []byte
}

// fault is what is wrong with a row: its record when slot is -1, or the field of a slot.
type fault struct {
	slot int
	text string
}

// records gives the lane's decoder of x by how.
func (l *lane) records(x Expr, how *Decoding) *recordSet {
	key := fmt.Sprintf("records %p of %s", how, identity(x))
	r, ok := l.shared[key].(*recordSet)
	if !ok {
		r = &recordSet{lane: l, how: how, counts: l.formats.Of(how.format), faults: map[int32]fault{}, partial: map[int]bool{}}
		if with, ok := x.(*withSchemaID); ok {
			r.id, x = l.bindHeld(with.id), with.Expr
		}
		r.x = l.bindHeld(x)
		l.shared[key] = r
	}
	return r
}

func (r *recordSet) want(field int) {
	if !slices.Contains(r.fields, field) {
		r.fields = append(r.fields, field)
	}
}

func (r *recordSet) wantAll() {
	for i := range r.how.schema.Fields() {
		r.want(i)
	}
}

// start makes the decoder, at the first batch.
func (r *recordSet) start() error {
	slices.Sort(r.fields)
	plan, err := r.how.plan(r.fields)
	if err != nil {
		return err
	}
	r.decoder = plan.NewDecoder(r.lane.ctx)
	if r.id != nil {
		r.headed, _ = r.decoder.(decode.Headed)
	}
	r.slotOf = make([]int, len(r.how.schema.Fields()))
	for i := range r.slotOf {
		r.slotOf[i] = slices.Index(r.fields, i)
	}
	return nil
}

// locate makes sure that the records of the rows of sel are walked, and gives the records and the rows.
func (r *recordSet) locate(in *column.Batch, sel []int32) (*column.Vector, []int32, error) {
	v, err := r.x.eval(in, sel)
	if err != nil {
		return nil, nil, err
	}
	if r.decoder == nil {
		if err := r.start(); err != nil {
			return nil, nil, err
		}
	}
	if r.headed != nil {
		if r.headers, err = r.id.eval(in, sel); err != nil {
			return nil, nil, err
		}
	}
	k := len(r.fields)
	if r.batch != r.lane.batch {
		r.batch = r.lane.batch
		words := (in.N + 63) / 64
		r.done, r.bad, r.slots = room(r.done, words), room(r.bad, words), room(r.slots, in.N*k)
		clear(r.done)
		clear(r.bad)
		clear(r.faults)
		clear(r.partial)
	}
	rows := r.lane.rows(in.N, sel)
	for _, i := range rows {
		word, bit := i>>6, uint64(1)<<(uint(i)&63)
		if r.done[word]&bit != 0 {
			continue
		}
		slots := r.slots[int(i)*k : int(i)*k+k]
		if v.IsNull(int(i)) {
			clear(slots) // a tombstone is not bad
			r.done[word] |= bit
			continue
		}
		if r.headed != nil {
			r.setHeader(i)
		}
		if err := r.decoder.Locate(v.View(int(i)), slots); err != nil {
			if err := r.badRecord(i, err, slots); err != nil {
				return nil, nil, err
			}
		}
		r.done[word] |= bit
	}
	return v, rows, nil
}

// setHeader tells the decoder what the header of row i says.
func (r *recordSet) setHeader(i int32) {
	var id []byte
	if !r.headers.IsNull(int(i)) {
		if id = r.headers.View(int(i)); id == nil {
			id = []byte{} // an empty header is one all the same
		}
	}
	r.headed.SetHeader(id)
}

// badRecord notes a record error; any other error is returned.
func (r *recordSet) badRecord(i int32, err error, slots []decode.Slot) error {
	e, ok := dataError(err)
	if !ok {
		return r.stopped(i, err)
	}
	clear(slots)
	r.bad[i>>6] |= 1 << (uint(i) & 63)
	r.lane.faults.record(e.Reason)
	r.counts.Records.Add(1)
	r.faults[i] = fault{-1, r.text(e)}
	return nil
}

// badField notes a field error; any other error is returned.
func (r *recordSet) badField(i int32, slot int, err error) error {
	e, ok := dataError(err)
	if !ok {
		return r.stopped(i, err)
	}
	at := int(i)*len(r.fields) + slot
	if !e.Partial {
		r.slots[at] = decode.Slot{}
	} else if r.partial[at] {
		return nil
	} else {
		r.partial[at] = true
	}
	r.lane.faults.field(e.Reason)
	r.counts.Fields.Add(1)
	if first, ok := r.faults[i]; !ok || slot < first.slot {
		r.faults[i] = fault{slot, r.text(e)}
	}
	return nil
}

// text is what is wrong, when somebody may ask.
func (r *recordSet) text(e *decode.Error) string {
	if r.keepTexts || r.how.mode == decode.FailFast {
		return r.how.name + ": " + e.Error()
	}
	return ""
}

func dataError(err error) (*decode.Error, bool) {
	if e, ok := err.(*decode.Error); ok {
		return e, true
	}
	var e *decode.Error
	return e, errors.As(err, &e)
}

// stopped is an error that says nothing about the data.
func (r *recordSet) stopped(i int32, err error) error {
	var e *sqlerr.Error
	switch {
	case errors.As(err, &e):
		return &rowError{int(i), e}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return &rowError{int(i), sqlerr.New(sqlerr.Unexpected, "decode %s: %w", r.how.name, err)}
}

// isBad reports whether the record of row i, which is located, is bad or NULL fields hide a fault.
func (r *recordSet) fault(i int32) (fault, bool) {
	if len(r.faults) == 0 {
		return fault{}, false
	}
	f, ok := r.faults[i]
	return f, ok
}

// settle makes the value of slot number slot of row i. Bytes of a Made value are appended to scratch.
func (r *recordSet) settle(v *column.Vector, i int32, slot int, scratch []byte) (decode.Slot, []byte, error) {
	at := &r.slots[int(i)*len(r.fields)+slot]
	if at.Kind != decode.Lazy {
		return *at, scratch, nil
	}
	if r.headed != nil {
		r.setHeader(i)
	}
	before := len(scratch)
	s, scratch, err := r.decoder.Settle(v.View(int(i)), slot, *at, scratch)
	if err != nil {
		e, ok := dataError(err)
		err = r.badField(i, slot, err)
		if !ok || !e.Partial {
			return decode.Slot{}, scratch[:before], err
		}
	}
	if s.Kind != decode.Made {
		*at = s
	}
	return s, scratch, err
}

// check settles all fields of the rows, so that fault knows all that is wrong with them.
func (r *recordSet) check(v *column.Vector, rows []int32) error {
	for _, i := range rows {
		if v.IsNull(int(i)) {
			continue
		}
		for slot := range r.fields {
			var err error
			if _, r.scratch, err = r.settle(v, i, slot, r.scratch[:0]); err != nil {
				return err
			}
		}
	}
	return nil
}
