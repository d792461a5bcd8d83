package avro

import (
	"context"
	"math"
	"slices"

	"millrace/internal/column"
	"millrace/internal/decode"
)

// opcode is what an instruction does at the place where the walk has come to.
type opcode uint8

const (
	// Checks without a slot; n is how often, or how many bytes, or for an enum how many symbols there are.
	opSkip opcode = iota
	opSkipInts
	opSkipLongs
	opSkipStrings
	opSkipEnum
	// Structure. A union goes on with one of alt; an array runs code for each element, a map a string and code for each entry; a call runs
	// the routine of a record that stands in several places or in itself.
	opUnion
	opArray
	opMap
	opCall
	// Final slots.
	opBool
	opInt
	opLong
	opIntAs
	opLongAs
	opFloat
	opDouble
	opNarrow // a double for a FLOAT
	opText   // at most n bytes where n is not 0, else Settle looks closer
	opBytes
	opFixed // n bytes
	// A lazy slot: where it begins and where it ends, with instructions that check it in between.
	opBegin
	opEnd
)

// instruction is one step of a walk.
type instruction struct {
	op   opcode
	as   conversion
	slot int32
	// settler is what Settle does with the slot where it stays lazy.
	settler uint32
	n       int
	// then is the number of bytes behind that are passed over as well.
	then int
	// width and least are those of the elements of an array or map, as in node.
	width, least int
	code         []instruction
	alt          [][]instruction
	routine      *routine
}

// routine is the code that checks a record, shared by the places where it stands.
type routine struct{ code []instruction }

// plan implements decode.Plan.
type plan struct {
	code        []instruction
	settlers    []settler
	least       int
	fingerprint uint64
	// template has the slots of a record in which nothing was found. It is not needed where all are found in every record.
	template []decode.Slot
	complete bool
}

var _ decode.Plan = (*plan)(nil)

// NewDecoder implements decode.Plan. Nothing in Avro waits, so ctx is not needed.
func (p *plan) NewDecoder(context.Context) decode.Decoder { return &decoder{plan: p} }

// compiler makes a plan of a writer's schema.
type compiler struct {
	writer   *Schema
	plan     *plan
	routines map[*node]*routine
}

func compile(reader, writer *Schema, wanted []int) (decode.Plan, error) {
	c := compiler{writer: writer, plan: &plan{least: writer.root.least, fingerprint: writer.fingerprint, template: make([]decode.Slot, len(wanted))},
		routines: map[*node]*routine{}}
	readsRecord, writesRecord := reader.IsRecord(), writer.IsRecord()
	if readsRecord && !writesRecord {
		return nil, &decode.Error{Reason: decode.WrongType, Offset: -1, Detail: "the writer's schema is not a record"}
	}
	if !readsRecord {
		var slots []target
		for i := range wanted {
			slots = append(slots, target{slot: int32(i), field: &reader.columns[0], to: reader.fields[0]})
		}
		c.plan.code = c.values(nil, slots, writer.root)
		return c.plan, nil
	}
	targets := make([][]target, len(writer.columns))
	claim := func(name string, t target) bool {
		i := slices.IndexFunc(writer.columns, func(f field) bool { return f.name == name })
		if i < 0 || len(targets[i]) > 0 {
			return false
		}
		targets[i] = []target{t}
		return true
	}
	var unmatched []target
	for i, w := range wanted {
		t := target{slot: int32(i), field: &reader.columns[w], to: reader.fields[w]}
		if !claim(t.field.name, t) {
			unmatched = append(unmatched, t)
		}
	}
	for _, t := range unmatched {
		if !slices.ContainsFunc(t.field.aliases, func(alias string) bool { return claim(alias, t) }) {
			if err := c.useDefault(t); err != nil {
				return nil, err
			}
		}
	}
	c.plan.code = c.root(writer.root, targets)
	c.plan.complete = fills(c.plan.code, len(wanted))
	return c.plan, nil
}

// fills reports whether code fills all of so many slots whatever the record: not by a branch of a union.
func fills(code []instruction, slots int) bool {
	for i := range code {
		if op := code[i].op; op >= opBool && op != opBegin {
			slots--
		}
	}
	return slots == 0
}

// IsRecord reports whether the columns are the fields of a record, null or not; the one column of any other schema is the value itself.
func (s *Schema) IsRecord() bool {
	r := s.root.only()
	return r != nil && r.wire == record && r.as == plain
}

// target is a wanted column of the reader.
type target struct {
	slot  int32
	field *field
	to    column.Field
}

// root is the code of the outermost type, which is a record or a union with one.
func (c *compiler) root(n *node, targets [][]target) (code []instruction) {
	if n.wire == union {
		in := instruction{op: opUnion}
		for _, branch := range n.branches {
			in.alt = append(in.alt, nil)
			if branch.wire != null {
				in.alt[len(in.alt)-1] = c.root(branch, targets)
			}
		}
		return append(code, in)
	}
	for i := range n.fields {
		code = c.values(code, targets[i], n.fields[i].node)
	}
	return code
}

// values appends the code for a value of type n that targets want; several only for the one value of a schema that is not a record.
func (c *compiler) values(code []instruction, targets []target, n *node) []instruction {
	if len(targets) == 0 {
		return c.skip(code, n)
	}
	return c.value(code, targets[0], targets[0].field.node, n)
}

// useDefault puts the reader's default into the template.
func (c *compiler) useDefault(t target) error {
	if t.field.missing == nil {
		return nil // the zero Slot is NULL
	}
	sub := compiler{writer: c.writer, plan: &plan{template: make([]decode.Slot, 1)}, routines: c.routines}
	t2 := t
	t2.slot = 0
	sub.plan.code = sub.value(nil, t2, t.field.node, t.field.node)
	d, slots := sub.plan.NewDecoder(context.Background()), make([]decode.Slot, 1)
	if err := d.Locate(t.field.missing, slots); err != nil {
		return nil // not of its type after all: it counts as none
	}
	s := slots[0]
	var made []byte
	switch s.Kind {
	case decode.Lazy:
		var err error
		if s, made, err = d.Settle(t.field.missing, 0, s, nil); err != nil {
			return nil
		}
		if s.Kind == decode.View {
			made = t.field.missing
		}
	case decode.View:
		made = t.field.missing
	}
	if s.Kind == decode.View || s.Kind == decode.Made {
		c.plan.settlers = append(c.plan.settlers, settler{how: settleDefault, column: t.to, missing: made[s.Beg:s.End]})
		s = decode.Slot{Kind: decode.Lazy, Aux: uint32(len(c.plan.settlers) - 1)}
	}
	c.plan.template[t.slot] = s
	return nil
}

// value appends the code for a value of the writer's type w that becomes the column t, whose type in the reader's schema is r.
func (c *compiler) value(code []instruction, t target, r, w *node) []instruction {
	if w.wire == union {
		in := instruction{op: opUnion}
		for _, branch := range w.branches {
			in.alt = append(in.alt, c.value(nil, t, r, branch))
		}
		return append(code, in)
	}
	if w.wire == null {
		return code
	}
	from := reconcile(r.only(), w, t.to.Type.Kind)
	in := instruction{slot: t.slot, settler: c.settler(t, r, from)}
	in.op, in.as = direct(from, t.to.Type.Kind)
	in.n = from.size
	switch width := int(t.to.Width); {
	case width == 0:
	case in.op == opFixed && in.n > width:
		in.op = opBegin // too long: Settle says so
	case in.op == opText || in.op == opBytes:
		in.n = width
	case in.op == opDouble:
		in.op = opNarrow
	case in.as == asFloat:
		in.as = asFloat32
	}
	if in.op != opBegin {
		return append(code, in)
	}
	code = append(code, in)
	code = c.skip(code, w)
	in.op = opEnd
	return append(code, in)
}

// reconcile gives the writer's type with the meaning that both schemas give it together. r is nil when the reader takes several types.
func reconcile(r, w *node, to column.Kind) *node {
	if r == nil || r.as == w.as && w.as != decimal {
		return w
	}
	switch {
	case w.as == plain && r.as != plain && (r.as.fits(w) || w.wire == integer64 && (r.as == date || r.as == timeMillis)):
		both := *w
		both.as, both.precision, both.scale = r.as, r.precision, r.scale
		return &both
	case w.as != plain && r.as == plain && to != column.JSON && (w.wire == r.wire || w.wire == integer32 && r.wire == integer64):
		both := *w
		both.as = plain
		return &both
	default:
		return w
	}
}

// conversion makes an Int or Float of a column's type of an integer.
type conversion uint8

const (
	asIs conversion = iota
	asInt32
	asFloat
	asFloat32
	asDate
	asDateOfDays // a Timestamp
	asTime1000   // of milliseconds, microseconds, nanoseconds
	asTime1
	asTimePer1000
	asTimestamp1000
	asTimestamp1
	asTimestampPer1000
)

// direct gives the instruction that makes a final slot of n, or opBegin when only Settle can.
func direct(n *node, to column.Kind) (opcode, conversion) {
	number := func(as conversion) (opcode, conversion) {
		if n.wire == integer32 {
			return opIntAs, as
		}
		return opLongAs, as
	}
	switch {
	case n.as == date && to == column.Date:
		return number(asDate)
	case n.as == date && to == column.Timestamp:
		return number(asDateOfDays)
	case to == column.Time && n.as == timeMillis:
		return number(asTime1000)
	case to == column.Time && n.as == timeMicros:
		return number(asTime1)
	case to == column.Time && n.as == timeNanos:
		return number(asTimePer1000)
	case to == column.Timestamp && (n.as == timestampMillis || n.as == localMillis):
		return number(asTimestamp1000)
	case to == column.Timestamp && (n.as == timestampMicros || n.as == localMicros):
		return number(asTimestamp1)
	case to == column.Timestamp && (n.as == timestampNanos || n.as == localNanos):
		return number(asTimestampPer1000)
	case n.as == uuid && n.wire == text && to == column.Text:
		return opText, asIs
	case n.as != plain:
		return opBegin, asIs
	}
	switch {
	case n.wire == boolean && to == column.Bool:
		return opBool, asIs
	case n.wire == integer32 && (to == column.Int32 || to == column.Int64):
		return opInt, asIs
	case n.wire == integer64 && to == column.Int64:
		return opLong, asIs
	case n.wire == integer64 && to == column.Int32:
		return opLongAs, asInt32
	case (n.wire == integer32 || n.wire == integer64) && to == column.Float64:
		return number(asFloat)
	case n.wire == float32s && to == column.Float64:
		return opFloat, asIs
	case n.wire == float64s && to == column.Float64:
		return opDouble, asIs
	case (n.wire == text || n.wire == byteString) && to == column.Text:
		return opText, asIs
	case (n.wire == text || n.wire == byteString) && to == column.Bytes:
		return opBytes, asIs
	case n.wire == fixed && to == column.Bytes:
		return opFixed, asIs
	default:
		return opBegin, asIs
	}
}

// skip appends the code that checks a value of type n.
func (c *compiler) skip(code []instruction, n *node) []instruction {
	switch n.wire {
	case null:
		return code
	case boolean, float32s, float64s, fixed:
		return pass(code, n.width)
	case integer32:
		return merge(code, opSkipInts, 1)
	case integer64:
		return merge(code, opSkipLongs, 1)
	case byteString, text:
		return merge(code, opSkipStrings, 1)
	case enum:
		return append(code, instruction{op: opSkipEnum, n: len(n.symbols)})
	case union:
		in := instruction{op: opUnion}
		for _, branch := range n.branches {
			in.alt = append(in.alt, c.skip(nil, branch))
		}
		return append(code, in)
	case array:
		return append(code, instruction{op: opArray, width: n.inner.width, least: n.inner.least, code: c.skip(nil, n.inner)})
	case mapping:
		return append(code, instruction{op: opMap, width: -1, least: min(n.inner.least+1, hugeLeast), code: c.skip(nil, n.inner)})
	default:
		return c.skipRecord(code, n)
	}
}

func (c *compiler) skipRecord(code []instruction, n *node) []instruction {
	if n.width >= 0 {
		if n.width == 0 {
			return code
		}
		return pass(code, n.width)
	}
	// In line only where it is certain that the code does not grow without end, and that the depth of the record is bounded by the schema.
	if n.uses == 1 && !c.writer.recursive {
		for i := range n.fields {
			code = c.skip(code, n.fields[i].node)
		}
		return code
	}
	r := c.routines[n]
	if r == nil {
		r = &routine{}
		c.routines[n] = r
		for i := range n.fields {
			r.code = c.skip(r.code, n.fields[i].node)
		}
	}
	return append(code, instruction{op: opCall, routine: r})
}

// pass appends a skip of n bytes, or lets the last instruction do it. After a union it is one of the branches' instructions that is the last to run.
func pass(code []instruction, n int) []instruction {
	if last := len(code) - 1; last >= 0 && code[last].op != opUnion && code[last].op != opSkip && code[last].then <= math.MaxInt32-n {
		code[last].then += n
		return code
	}
	return merge(code, opSkip, n)
}

// merge appends a skip, or makes the last one longer.
func merge(code []instruction, op opcode, n int) []instruction {
	if n == 0 {
		return code
	}
	if last := len(code) - 1; last >= 0 && code[last].op == op && code[last].then == 0 && code[last].n <= math.MaxInt32-n {
		code[last].n += n
		return code
	}
	return append(code, instruction{op: op, n: n})
}
