package ops

import (
	"fmt"
	"math"

	"millrace/internal/column"
	"millrace/internal/convert"
)

// Cast converts x to a type, by the rules of Spark's ANSI mode: a value that cannot be converted is an error, or with try NULL.
// Pairs without a kernel are refused.
func Cast(x Expr, to column.Type, try bool) (Expr, error) {
	return CastField(x, column.Field{Type: to}, try)
}

// CastField is Cast to what a column holds, whose Width may be less than that of its type: TINYINT and SMALLINT are an Int32 of 8 and 16 bits, FLOAT is a Float64 of 32.
func CastField(x Expr, field column.Field, try bool) (Expr, error) {
	from, to := x.Type(), field.Type
	e := &cast{x: x, typ: to, try: try, least: math.MinInt64, most: math.MaxInt64}
	if to.Kind == column.Int32 {
		bits := field.Width
		if bits == 0 {
			bits = 32
		}
		e.most = 1<<(bits-1) - 1
		e.least = -e.most - 1
	}
	e.single = to.Kind == column.Float64 && field.Width == 32
	narrows := e.single || to.Kind == column.Int32 && e.most < math.MaxInt32
	if !narrows && (from == to || from.Kind == to.Kind && to.Kind != column.Decimal && to.Kind != column.Timestamp) {
		return x, nil
	}
	if !e.castable() {
		return nil, unsupported("a cast of %v to %v is not computed on batches", from, to)
	}
	return e, nil
}

// castable says which pairs have a kernel.
func (e *cast) castable() bool {
	from, to := e.x.Type(), e.typ
	number := to.Kind == column.Int32 || to.Kind == column.Int64 || to.Kind == column.Float64 || to.Kind == column.Decimal
	if to.Kind == column.Timestamp && to.Scale != 6 {
		return false
	}
	switch from.Kind {
	case column.Text:
		return number || to.Kind == column.Uint64 || to.Kind == column.Bool || to.Kind == column.Timestamp || to.Kind == column.Date ||
			to.Kind == column.Bytes || to.Kind == column.JSON
	case column.Bytes:
		return to.Kind == column.Text || to.Kind == column.JSON
	case column.Bool:
		return number || to.Kind == column.Text
	case column.Int32, column.Int64:
		return number || to.Kind == column.Bool || to.Kind == column.Text || to.Kind == column.Timestamp
	case column.Float64:
		return number || to.Kind == column.Bool || to.Kind == column.Text
	case column.Decimal:
		return number || to.Kind == column.Text
	case column.Timestamp:
		return number || to.Kind == column.Text || to.Kind == column.Timestamp || to.Kind == column.Date
	case column.Date:
		return to.Kind == column.Text || to.Kind == column.Timestamp
	case column.JSON:
		return number || to.Kind == column.Text || to.Kind == column.Bool || to.Kind == column.Timestamp || to.Kind == column.Date
	default:
		return false
	}
}

type cast struct {
	x   Expr
	typ column.Type
	try bool
	// least and most are the limits of an integer; single says that a Float64 has the values of FLOAT.
	least, most int64
	single      bool
}

func (e *cast) Type() column.Type { return e.typ }
func (e *cast) Nullable() bool    { return e.try || e.x.Nullable() || e.x.Type().Kind == column.JSON }
func (e *cast) operands() []Expr  { return []Expr{e.x} }

func (e *cast) String() string {
	if e.try {
		return fmt.Sprintf("%v?::%s", e.x, e.target())
	}
	return fmt.Sprintf("%v::%s", e.x, e.target())
}

// target is the type as users write it.
func (e *cast) target() string {
	switch {
	case e.single:
		return "FLOAT"
	case e.typ.Kind == column.Int32 && e.most == math.MaxInt8:
		return "TINYINT"
	case e.typ.Kind == column.Int32 && e.most == math.MaxInt16:
		return "SMALLINT"
	}
	return sqlName(e.typ)
}

// fits reports whether the target takes an integer.
func (e *cast) fits(x int64) bool { return x >= e.least && x <= e.most }

// sqlName is t as users write it.
func sqlName(t column.Type) string {
	switch t.Kind {
	case column.Bool:
		return "BOOLEAN"
	case column.Int32:
		return "INT"
	case column.Int64:
		return "BIGINT"
	case column.Uint64:
		return "BIGINT UNSIGNED"
	case column.Float64:
		return "DOUBLE"
	case column.Decimal:
		return fmt.Sprintf("DECIMAL(%d,%d)", t.Precision, t.Scale)
	case column.Bytes:
		return "BINARY"
	case column.Text:
		return "STRING"
	case column.JSON:
		return "JSON"
	case column.Date:
		return "DATE"
	default:
		return "TIMESTAMP"
	}
}

func (e *cast) bind(l *lane) evaluator { return &castEval{cast: e, in: l.bind(e.x), lane: l} }

// castEval converts in one step, or over text when the pair is rare: then render writes the value and parse reads it.
type castEval struct {
	*cast
	in   evaluator
	lane *lane
	out  column.Vector
	// text holds what render writes; valid and data are memory of out where that is not the source's.
	text  column.Vector
	valid []uint64
	data  []byte
	// kept are the rows whose JSON values are read as text.
	kept []int32
}

func (e *castEval) eval(in *column.Batch, sel []int32) (*column.Vector, error) {
	v, err := e.in.eval(in, sel)
	if err != nil {
		return nil, err
	}
	out := &e.out
	out.Type, out.Valid = e.typ, v.Valid
	rows := dropNullsInto(v, e.lane.rows(in.N, sel), &e.lane.scratch)
	switch e.typ.Kind {
	case column.Float64:
		out.Float = room(out.Float, in.N)
	case column.Decimal:
		out.Beg, out.End = room(out.Beg, in.N), room(out.End, in.N)
	case column.Bytes, column.Text, column.JSON:
		// out will be views of the source or of text.
	default:
		out.Int = room(out.Int, in.N)
	}
	if v.Type.Kind == column.JSON {
		return out, e.readJSON(v, in.N, rows)
	}
	if done, err := e.direct(v, in.N, rows); done || err != nil {
		return out, err
	}
	if !v.Type.Kind.IsView() {
		v = e.render(v, in.N, rows)
	}
	return out, e.parse(v, in.N, rows)
}

// fail handles a value that cannot be converted: NULL, or the error of its row.
func (e *castEval) fail(fault convert.Fault, text []byte, i int32, n int) error {
	if !e.try {
		return &rowError{int(i), convert.Failed(fault, text, e.target())}
	}
	e.null(i, n)
	return nil
}

// null makes row i NULL.
func (e *castEval) null(i int32, n int) {
	e.own(n)
	e.out.Valid[i>>6] &^= 1 << (uint(i) & 63)
}

// own gives out a bitmap that may be written.
func (e *castEval) own(n int) {
	words := (n + 63) / 64
	if len(e.out.Valid) > 0 && len(e.valid) > 0 && &e.out.Valid[0] == &e.valid[0] {
		return
	}
	from := e.out.Valid
	e.valid = room(e.valid, words)
	if from != nil {
		copy(e.valid, from[:words])
	} else {
		for w := range e.valid {
			e.valid[w] = ^uint64(0)
		}
	}
	e.out.Valid = e.valid
}

// direct serves the pairs that need no text. done is false for all others.
func (e *castEval) direct(v *column.Vector, n int, rows []int32) (done bool, err error) {
	out, from, to := &e.out, e.x.Type().Kind, e.typ.Kind
	switch {
	case from == column.Bytes:
		return true, e.readUTF8(v, n, rows)
	case to == column.Bool && from == column.Float64:
		for _, i := range rows {
			out.Int[i] = int64(bit(v.Float[i] != 0))
		}
	case from == column.Float64 && (to == column.Int32 || to == column.Int64):
		return true, e.truncate(v, n, rows)
	case from == column.Float64 && to == column.Float64:
		return true, e.halve(v, n, rows)
	case from == column.Float64, from.IsView():
		return false, nil
	case to == column.Bool:
		for _, i := range rows {
			out.Int[i] = int64(bit(v.Int[i] != 0))
		}
	case from == column.Timestamp && to == column.Date:
		for _, i := range rows {
			out.Int[i] = floorDiv(v.Int[i], microsPerDay)
		}
	case from == column.Timestamp && to == column.Timestamp:
		copy(out.Int, v.Int[:n])
	case from == column.Date && to == column.Timestamp:
		for _, i := range rows {
			out.Int[i] = v.Int[i] * microsPerDay
		}
	case to == column.Timestamp:
		return true, e.scaled(v, n, rows, func(x int64) (int64, bool) {
			return x * 1e6, x <= math.MaxInt64/1_000_000 && x >= math.MinInt64/1_000_000 && convert.InTimestampRange(x*1e6)
		})
	case to == column.Int32 || to == column.Int64:
		return true, e.scaled(v, n, rows, func(x int64) (int64, bool) {
			if from == column.Timestamp {
				x = floorDiv(x, 1e6)
			}
			return x, e.fits(x)
		})
	case to == column.Float64 && from != column.Timestamp && e.single:
		for _, i := range rows {
			out.Float[i] = float64(float32(v.Int[i]))
		}
	case to == column.Float64 && from != column.Timestamp:
		for _, i := range rows {
			out.Float[i] = float64(v.Int[i])
		}
	default:
		return false, nil
	}
	return true, nil
}

func floorDiv(x, y int64) int64 {
	q := x / y
	if x%y < 0 {
		q--
	}
	return q
}

// scaled converts integers to integers; f says whether the value fits.
func (e *castEval) scaled(v *column.Vector, n int, rows []int32, f func(int64) (int64, bool)) error {
	for _, i := range rows {
		x, ok := f(v.Int[i])
		if e.out.Int[i] = x; !ok {
			if err := e.fail(convert.Overflow, e.shown(v, n, i), i, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// truncate cuts the fraction off doubles.
func (e *castEval) truncate(v *column.Vector, n int, rows []int32) error {
	for _, i := range rows {
		x := math.Trunc(v.Float[i])
		ok := x >= -1<<63 && x < 1<<63
		if ok {
			e.out.Int[i] = int64(x)
			ok = e.fits(int64(x))
		}
		if !ok {
			if err := e.fail(convert.Overflow, e.shown(v, n, i), i, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// halve gives doubles the precision of FLOAT.
func (e *castEval) halve(v *column.Vector, n int, rows []int32) error {
	for _, i := range rows {
		x := float64(float32(v.Float[i]))
		if e.out.Float[i] = x; math.IsInf(x, 0) && !math.IsInf(v.Float[i], 0) {
			if err := e.fail(convert.Overflow, e.shown(v, n, i), i, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// shown is one value as text, for an error.
func (e *castEval) shown(v *column.Vector, n int, i int32) []byte {
	return e.render(v, n, []int32{i}).View(int(i))
}
