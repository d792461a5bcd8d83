package server

import (
	"fmt"
	"strconv"
	"time"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/server/wire"
)

// encoder appends rows of the engine to packets. The common Go values are written directly by a type switch, which is where nearly all of the
// cost of a row would otherwise go; the rest takes the way through the type's own text form.
type encoder struct {
	ctx    *sql.Context
	schema sql.Schema
	cols   []wire.Column
	// utf8: strings go out as they are.
	utf8 bool
	row  sql.Row
	// fill appends the row in the format of the protocol.
	fill func([]byte) ([]byte, error)
}

func newEncoder(ctx *sql.Context, schema sql.Schema, cols []wire.Column, binary bool) *encoder {
	cs := ctx.GetCharacterSetResults()
	e := &encoder{ctx: ctx, schema: schema, cols: cols,
		utf8: cs == sql.CharacterSet_Unspecified || cs == sql.CharacterSet_utf8mb4 || cs == sql.CharacterSet_utf8mb3 || cs == sql.CharacterSet_binary}
	if binary {
		e.fill = e.binaryRow
	} else {
		e.fill = e.textRow
	}
	return e
}

func (e *encoder) textRow(b []byte) ([]byte, error) {
	for i, v := range e.row {
		var err error
		if b, err = e.text(b, i, v); err != nil {
			return b, err
		}
	}
	return b, nil
}

func (e *encoder) binaryRow(b []byte) ([]byte, error) {
	start := len(b)
	b = wire.BinaryRow(b, len(e.row))
	for i, v := range e.row {
		var null bool
		var err error
		if b, null, err = e.binary(b, i, v); err != nil {
			return b, err
		}
		if null {
			wire.BinaryNull(b, start, i)
		}
	}
	return b, nil
}

// text appends a value in the text protocol.
func (e *encoder) text(b []byte, i int, v any) ([]byte, error) {
	if v == nil {
		return wire.Null(b), nil
	}
	col := &e.cols[i]
	if n, unsigned, ok := integer(v); ok && wire.IntWidth(col.Type) > 0 && col.Type != wire.TypeYear {
		if unsigned {
			return wire.Uint(b, uint64(n)), nil
		}
		return wire.Int(b, n), nil
	}
	switch v := v.(type) {
	case float64:
		if col.Type == wire.TypeDouble {
			return wire.Float(b, v, 64), nil
		}
	case float32:
		if col.Type == wire.TypeFloat {
			return wire.Float(b, float64(v), 32), nil
		}
	case string:
		if e.utf8 && (col.Type == wire.TypeBlob || col.Type == wire.TypeVarString) {
			return wire.Text(b, v), nil
		}
	case []byte:
		if col.Charset == wire.CharsetBinary && (col.Type == wire.TypeBlob || col.Type == wire.TypeVarString) {
			return wire.Text(b, v), nil
		}
	case time.Time:
		if y := v.Year(); y > 0 && y < 10000 {
			switch col.Type {
			case wire.TypeDatetime, wire.TypeTimestamp:
				return wire.DatetimeText(b, v.UnixMicro(), int(col.Decimals)), nil
			case wire.TypeDate:
				return wire.DateText(b, days(v)), nil
			}
		}
	case types.Timespan:
		if col.Type == wire.TypeTime {
			return wire.TimeText(b, int64(v), int(col.Decimals)), nil
		}
	}
	text, null, err := e.viaType(i, v)
	if null || err != nil {
		return wire.Null(b), err
	}
	return wire.Text(b, text), nil
}

// viaType converts a value by the means of its type.
func (e *encoder) viaType(i int, v any) (text []byte, null bool, err error) {
	s, err := e.schema[i].Type.SQL(e.ctx, nil, v)
	if err != nil {
		return nil, false, fmt.Errorf("column '%s': %w", e.cols[i].Name, err)
	}
	return s.Raw(), s.IsNull(), nil
}

// binary appends a value in the binary protocol.
func (e *encoder) binary(b []byte, i int, v any) (_ []byte, null bool, err error) {
	if v == nil {
		return b, true, nil
	}
	col := &e.cols[i]
	width := wire.IntWidth(col.Type)
	switch {
	case width > 0:
		n, _, ok := integer(v)
		if !ok {
			if n, null, err = e.parseInteger(i, v); null || err != nil {
				return b, null, err
			}
		}
		return wire.IntBinary(b, n, width), false, nil
	case col.Type == wire.TypeDouble, col.Type == wire.TypeFloat:
		f, ok := float(v)
		if !ok {
			text, null, err := e.viaType(i, v)
			if null || err != nil {
				return b, null, err
			}
			if f, err = strconv.ParseFloat(string(text), 64); err != nil {
				return b, false, fmt.Errorf("column '%s': %w", col.Name, err)
			}
		}
		if col.Type == wire.TypeFloat {
			return wire.FloatBinary(b, float32(f)), false, nil
		}
		return wire.DoubleBinary(b, f), false, nil
	}
	switch v := v.(type) {
	case time.Time:
		switch col.Type {
		case wire.TypeDatetime, wire.TypeTimestamp:
			if v.Year() < 1 || v.Year() > 9999 {
				return append(b, 0), false, nil // 0000-00-00
			}
			return wire.DatetimeBinary(b, v.UnixMicro()), false, nil
		case wire.TypeDate:
			if v.Year() < 1 || v.Year() > 9999 {
				return append(b, 0), false, nil
			}
			return wire.DateBinary(b, days(v)), false, nil
		}
	case types.Timespan:
		if col.Type == wire.TypeTime {
			return wire.TimeBinary(b, int64(v)), false, nil
		}
	}
	start := len(b)
	b, err = e.text(b, i, v)
	if err == nil && len(b) == start+1 && b[start] == wire.Null(nil)[0] {
		return b[:start], true, nil
	}
	return b, false, err
}

func (e *encoder) parseInteger(i int, v any) (n int64, null bool, err error) {
	text, null, err := e.viaType(i, v)
	if null || err != nil {
		return 0, null, err
	}
	if e.cols[i].Flags&wire.FlagUnsigned != 0 {
		u, err := strconv.ParseUint(string(text), 10, 64)
		return int64(u), false, err
	}
	n, err = strconv.ParseInt(string(text), 10, 64)
	return n, false, err
}

// integer gives the bits of any Go integer or boolean.
func integer(v any) (n int64, unsigned, ok bool) {
	switch v := v.(type) {
	case int64:
		return v, false, true
	case int32:
		return int64(v), false, true
	case int:
		return int64(v), false, true
	case int16:
		return int64(v), false, true
	case int8:
		return int64(v), false, true
	case uint64:
		return int64(v), true, true
	case uint32:
		return int64(v), true, true
	case uint16:
		return int64(v), true, true
	case uint8:
		return int64(v), true, true
	case bool:
		if v {
			return 1, false, true
		}
		return 0, false, true
	}
	return 0, false, false
}

func float(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case float32:
		return float64(v), true
	}
	return 0, false
}

const secondsADay = 24 * 60 * 60

// days is the date of t as days since 1970.
func days(t time.Time) int64 {
	s := t.Unix()
	d := s / secondsADay
	if s%secondsADay < 0 {
		d--
	}
	return d
}
