// Package column holds the typed column batches that flow from a topic to an answer.
//
// A Batch is N rows of Vectors. Vectors follow Arrow's idea (a validity bitmap beside flat values), with one departure: a
// variable-length value is a view, Data[Beg[i]:End[i]], not a run between consecutive offsets. A Kafka record batch, once
// decompressed, already holds every key and value; a view costs two uint32 a record and copies nothing. docs/adr/0002 has the
// figures against arrow-go and against contiguous offsets.
//
// # Ownership
//
// A Batch and all memory below it belong to whoever filled it. A callee that is handed a batch may read it until it returns
// and must not write to it, except to Sel, which operators replace as they filter. To keep rows longer, copy them (AppendRows). The
// memory of batches is reused; strings made by unsafe conversion must not outlive the call.
package column

import (
	"fmt"
	"math/bits"
)

// Kind is the physical kind of a Vector and the logical type of its values.
type Kind uint8

// The kinds. The comment says which fields of a Vector hold the values.
const (
	Invalid   Kind = iota
	Bool           // Int: 0 or 1
	Int32          // Int
	Int64          // Int
	Uint64         // Int holds the bits of the uint64
	Float64        // Float
	Decimal        // views: canonical decimal text, '-'? digits ('.' digits)?; precision and scale in Type
	Bytes          // views: raw bytes
	Text           // views: valid UTF-8
	JSON           // views: valid JSON text, numbers exactly as written
	Date           // Int: days since 1970-01-01
	Time           // Int: microseconds, signed
	Timestamp      // Int: microseconds since 1970-01-01 00:00:00 UTC; Scale in Type is the number of fractional digits shown
)

var kindNames = [...]string{"invalid", "bool", "int32", "int64", "uint64", "float64", "decimal", "bytes", "text", "json", "date", "time", "timestamp"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// IsView reports whether values of the kind are byte views.
func (k Kind) IsView() bool { return k >= Decimal && k <= JSON }

// IsInt reports whether values of the kind lie in Vector.Int.
func (k Kind) IsInt() bool { return k >= Bool && k <= Uint64 || k >= Date }

// Type is a Kind with its parameters.
type Type struct {
	Kind Kind
	// Precision and Scale of a Decimal; Scale is the number of fractional digits (0-6) of a Time or Timestamp.
	Precision, Scale uint8
}

func (t Type) String() string {
	switch t.Kind {
	case Decimal:
		return fmt.Sprintf("decimal(%d,%d)", t.Precision, t.Scale)
	case Time, Timestamp:
		return fmt.Sprintf("%s(%d)", t.Kind, t.Scale)
	default:
		return t.Kind.String()
	}
}

var sqlNames = [...]string{"NULL", "BOOLEAN", "INT", "BIGINT", "BIGINT UNSIGNED", "DOUBLE", "DECIMAL", "BINARY", "STRING", "JSON", "DATE", "TIME", "TIMESTAMP"}

// SQL is the type as users write it, for messages.
func (t Type) SQL() string {
	switch {
	case int(t.Kind) >= len(sqlNames):
		return t.Kind.String()
	case t.Kind == Decimal:
		return fmt.Sprintf("DECIMAL(%d,%d)", t.Precision, t.Scale)
	default:
		return sqlNames[t.Kind]
	}
}

// Field names a column.
type Field struct {
	Name     string
	Type     Type
	Nullable bool
	// Width narrows the type that SQL shows where that is narrower than the kind: the bits of an integer (8, 16, 24, 32) or of a Float64 (32), the most
	// characters of a Text, the most bytes of a Bytes. 0 is all that the kind holds. Whoever fills such a column keeps to it.
	Width uint32
	// Fixed says that SQL shows a Text or Bytes with a Width as CHAR or BINARY in place of VARCHAR or VARBINARY.
	Fixed bool
}

// Vector is one column of a Batch. Which of Int, Float and the views is in use follows from Type.Kind.
type Vector struct {
	Type Type
	// Valid has a bit per row, 1 = not NULL, bit i%64 of word i/64, in as many words as all rows need or more. nil means that no row is
	// NULL. Bits at and beyond the row count are undefined. The values of NULL rows are undefined but there.
	Valid []uint64
	Int   []int64
	Float []float64
	// Value i of a view kind is Data[Beg[i]:End[i]]. Several vectors may share Data. The views of NULL rows are undefined but lie in Data.
	Beg, End []uint32
	Data     []byte
	// Codes and Dict, when not nil, say the same in another way: value i is value Codes[i] of Dict. Rows that are not NULL and have equal codes have equal
	// values, in all vectors of one Dict. A source may leave the views of such a vector out for a scan.Coder; all others find
	// them. Whoever makes a vector of another does not copy the codes.
	Codes []uint16
	Dict  *Dictionary

	// spare is the memory of the last bitmap while Valid is nil, so that a reused vector does not allocate one a batch.
	spare []uint64
}

// Batch is N rows.
type Batch struct {
	// N is the number of rows in Cols. A batch without columns still has rows: it is how a scan that needs no column counts.
	N int
	// Sel, when not nil, lists the live rows in ascending order; the others are filtered out. An empty non-nil Sel means no live row.
	Sel  []int32
	Cols []Vector
}

// Live is the number of rows that are not filtered out.
func (b *Batch) Live() int {
	if b.Sel != nil {
		return len(b.Sel)
	}
	return b.N
}

// Reset makes v empty and of type t, keeping its memory.
func (v *Vector) Reset(t Type) {
	v.Type = t
	if v.Valid != nil {
		v.spare, v.Valid = v.Valid[:0], nil
	}
	v.Int = v.Int[:0]
	v.Float = v.Float[:0]
	v.Beg, v.End = v.Beg[:0], v.End[:0]
	v.Data = v.Data[:0]
	v.Codes, v.Dict = nil, nil
}

// Len is the number of values in v.
func (v *Vector) Len() int {
	switch {
	case v.Coded():
		return len(v.Codes)
	case v.Type.Kind.IsView():
		return len(v.Beg)
	case v.Type.Kind == Float64:
		return len(v.Float)
	default:
		return len(v.Int)
	}
}

// IsNull reports whether row i is NULL.
func (v *Vector) IsNull(i int) bool {
	return v.Valid != nil && v.Valid[i>>6]>>(uint(i)&63)&1 == 0
}

// View returns the bytes of row i, which must not be NULL. They alias v.Data.
func (v *Vector) View(i int) []byte { return v.Data[v.Beg[i]:v.End[i]:v.End[i]] }

// Window is n rows of v from one on that is a multiple of 64. It shares the memory of v.
func (v *Vector) Window(from, n int) Vector {
	w := Vector{Type: v.Type, Data: v.Data}
	if v.Valid != nil {
		w.Valid = v.Valid[from>>6 : (from+n+63)>>6]
	}
	if v.Dict != nil {
		w.Codes, w.Dict = v.Codes[from:from+n], v.Dict
	}
	switch k := v.Type.Kind; {
	case v.Coded():
	case k.IsView():
		w.Beg, w.End = v.Beg[from:from+n], v.End[from:from+n]
	case k == Float64:
		w.Float = v.Float[from : from+n]
	default:
		w.Int = v.Int[from : from+n]
	}
	return w
}

// SetNull marks row i NULL; i must be below n, the number of rows that v has or will have.
func (v *Vector) SetNull(i, n int) {
	v.needValid(max(n, i+1))
	v.Valid[i>>6] &^= 1 << (uint(i) & 63)
}

// needValid makes sure that there is a bitmap of at least n rows. Words that are added have every row valid.
func (v *Vector) needValid(n int) {
	if v.Valid == nil {
		if v.Valid = v.spare[:0]; v.Valid == nil {
			v.Valid = make([]uint64, 0, (n+63)/64)
		}
		v.spare = nil
	}
	for len(v.Valid)*64 < n {
		v.Valid = append(v.Valid, ^uint64(0))
	}
}

// AppendNull appends a NULL row.
func (v *Vector) AppendNull() {
	n := v.Len()
	switch {
	case v.Type.Kind.IsView():
		v.Beg = append(v.Beg, 0)
		v.End = append(v.End, 0)
	case v.Type.Kind == Float64:
		v.Float = append(v.Float, 0)
	default:
		v.Int = append(v.Int, 0)
	}
	v.SetNull(n, n+1)
}

// AppendInt appends x to a vector of an integer kind.
func (v *Vector) AppendInt(x int64) { v.Int = append(v.Int, x); v.grown(len(v.Int)) }

// AppendFloat appends x to a Float64 vector.
func (v *Vector) AppendFloat(x float64) { v.Float = append(v.Float, x); v.grown(len(v.Float)) }

// AppendBytes copies x to the end of v.Data and appends a view of it.
func (v *Vector) AppendBytes(x []byte) {
	beg := len(v.Data)
	v.Data = append(v.Data, x...)
	v.Beg = append(v.Beg, uint32(beg))
	v.End = append(v.End, uint32(len(v.Data)))
	v.grown(len(v.Beg))
}

// grown extends the validity bitmap, where there is one, to n rows, the last one valid.
func (v *Vector) grown(n int) {
	if v.Valid == nil {
		return
	}
	v.needValid(n)
	v.Valid[(n-1)>>6] |= 1 << (uint(n-1) & 63)
}

// NullCount counts the NULLs in the first n rows.
func (v *Vector) NullCount(n int) int {
	if v.Valid == nil {
		return 0
	}
	valid := 0
	for i := 0; i < n>>6; i++ {
		valid += bits.OnesCount64(v.Valid[i])
	}
	if r := uint(n) & 63; r != 0 {
		valid += bits.OnesCount64(v.Valid[n>>6] & (1<<r - 1))
	}
	return n - valid
}

// Bytes is the memory held by the batch, by capacity. Data shared between vectors is counted for each.
func (b *Batch) Bytes() int {
	n := 4 * cap(b.Sel)
	for i := range b.Cols {
		v := &b.Cols[i]
		n += 8*cap(v.Valid) + 8*cap(v.Int) + 8*cap(v.Float) + 4*cap(v.Beg) + 4*cap(v.End) + cap(v.Data)
	}
	return n
}

// Reset empties b and gives its columns the types of fields, keeping memory.
func (b *Batch) Reset(fields []Field) {
	b.N = 0
	b.Sel = nil
	if cap(b.Cols) < len(fields) {
		b.Cols = make([]Vector, len(fields))
	}
	b.Cols = b.Cols[:len(fields)]
	for i := range fields {
		b.Cols[i].Reset(fields[i].Type)
	}
}
