package wire

import (
	"fmt"

	"millrace/internal/column"
)

// encoding is how the values of one column are written, decided once per batch.
type encoding uint8

const (
	encodeInt encoding = iota
	encodeUint
	encodeFloat
	encodeView
	encodeDate
	encodeTime
	encodeTimestamp
	encodeDateAsDatetime
	encodeFloat32
	// In the binary protocol integers have a width; with encodeInt and encodeUint they are text, as for DECIMAL columns.
	encodeInt8
	encodeInt16
	encodeInt32
	encodeInt64
)

// batchColumn is a vector with the way to write it.
type batchColumn struct {
	encoding encoding
	scale    int
	vector   *column.Vector
	second   secondText
}

// bind matches the vectors of a batch with the column definitions.
func (r *Results) bind(b *column.Batch, columns []int) error {
	n := len(b.Cols)
	if columns != nil {
		n = len(columns)
	}
	if n != len(r.cols) {
		return fmt.Errorf("batch of %d columns for a result set of %d", n, len(r.cols))
	}
	if cap(r.plan) < n {
		r.plan = make([]batchColumn, n)
	}
	r.plan = r.plan[:n]
	for i := range n {
		at := i
		if columns != nil {
			at = columns[i]
		}
		v, def := &b.Cols[at], &r.cols[i]
		e, ok := encodingOf(v.Type.Kind, def, r.binary)
		if !ok {
			return fmt.Errorf("column '%s' is defined with type %d, which values of type %s cannot be sent as", def.Name, def.Type, v.Type)
		}
		r.plan[i] = batchColumn{encoding: e, scale: int(def.Decimals), vector: v}
	}
	return nil
}

// encodingOf says how values of kind k are written for a column of the definition, and whether they can be.
func encodingOf(k column.Kind, def *Column, binary bool) (encoding, bool) {
	switch k {
	case column.Bool, column.Int32, column.Int64, column.Uint64:
		return encodingOfInt(k, def.Type, binary)
	case column.Float64:
		if def.Type == TypeFloat {
			return encodeFloat32, true
		}
		return encodeFloat, def.Type == TypeDouble
	case column.Decimal, column.Bytes, column.Text, column.JSON:
		return encodeView, isString(def.Type)
	case column.Date:
		if def.Type == TypeDatetime || def.Type == TypeTimestamp {
			return encodeDateAsDatetime, true
		}
		return encodeDate, def.Type == TypeDate
	case column.Time:
		return encodeTime, def.Type == TypeTime
	case column.Timestamp:
		return encodeTimestamp, def.Type == TypeDatetime || def.Type == TypeTimestamp
	}
	return 0, false
}

func encodingOfInt(k column.Kind, t byte, binary bool) (encoding, bool) {
	width, need := IntWidth(t), 8
	switch k {
	case column.Bool:
		need = 1
	case column.Int32:
		need = 4
	}
	switch {
	case width < need && !isString(t):
		return 0, false
	case width == 0 || !binary:
		if k == column.Uint64 {
			return encodeUint, true
		}
		return encodeInt, true
	case width == 1:
		return encodeInt8, true
	case width == 2:
		return encodeInt16, true
	case width == 4:
		return encodeInt32, true
	default:
		return encodeInt64, true
	}
}

// isString reports whether both protocols carry values of the type as a string.
func isString(t byte) bool {
	return t == TypeDecimal || t == TypeVarchar || t == TypeBit || t >= TypeJSON
}

func appendTextRow(b []byte, plan []batchColumn, i int) []byte {
	for j := range plan {
		p := &plan[j]
		v := p.vector
		if v.IsNull(i) {
			b = append(b, nullValue)
			continue
		}
		switch p.encoding {
		case encodeInt:
			b = Int(b, v.Int[i])
		case encodeUint:
			b = Uint(b, uint64(v.Int[i]))
		case encodeView:
			b = Text(b, v.Data[v.Beg[i]:v.End[i]])
		case encodeTimestamp:
			b = p.second.append(b, v.Int[i], p.scale)
		case encodeFloat:
			b = Float(b, v.Float[i], 64)
		case encodeFloat32:
			b = Float(b, v.Float[i], 32)
		case encodeDate:
			b = DateText(b, v.Int[i])
		case encodeTime:
			b = TimeText(b, v.Int[i], p.scale)
		case encodeDateAsDatetime:
			b = DatetimeText(b, v.Int[i]*microsPerDay, p.scale)
		}
	}
	return b
}

func appendBinaryRow(b []byte, plan []batchColumn, i int) []byte {
	start := len(b)
	b = BinaryRow(b, len(plan))
	for j := range plan {
		p := &plan[j]
		v := p.vector
		if v.IsNull(i) {
			BinaryNull(b, start, j)
			continue
		}
		switch p.encoding {
		case encodeInt8:
			b = append(b, byte(v.Int[i]))
		case encodeInt16:
			b = IntBinary(b, v.Int[i], 2)
		case encodeInt32:
			b = IntBinary(b, v.Int[i], 4)
		case encodeInt64:
			b = IntBinary(b, v.Int[i], 8)
		case encodeInt:
			b = Int(b, v.Int[i])
		case encodeUint:
			b = Uint(b, uint64(v.Int[i]))
		case encodeView:
			b = Text(b, v.Data[v.Beg[i]:v.End[i]])
		case encodeTimestamp:
			b = DatetimeBinary(b, v.Int[i])
		case encodeFloat:
			b = DoubleBinary(b, v.Float[i])
		case encodeFloat32:
			b = FloatBinary(b, float32(v.Float[i]))
		case encodeDate:
			b = DateBinary(b, v.Int[i])
		case encodeTime:
			b = TimeBinary(b, v.Int[i])
		case encodeDateAsDatetime:
			b = DatetimeBinary(b, v.Int[i]*microsPerDay)
		}
	}
	return b
}
