package sqltable

import (
	"fmt"
	"time"

	"github.com/cockroachdb/apd/v3"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/column"
)

// Appender adds rows of the engine to a batch, whose columns are those of FieldsOf.
type Appender struct {
	ctx    *sql.Context
	schema sql.Schema
	fields []column.Field
}

// NewAppender makes an Appender for rows of a schema, whose columns are fields.
func NewAppender(ctx *sql.Context, schema sql.Schema, fields []column.Field) *Appender {
	return &Appender{ctx, schema, fields}
}

// Append adds a row. Its values are converted as INSERT would; when one cannot be, nothing of the row is added.
func (a *Appender) Append(to *column.Batch, row sql.Row) error {
	if len(row) != len(a.fields) {
		return fmt.Errorf("sqltable: a row has %d values, the table %d columns", len(row), len(a.fields))
	}
	for i, v := range row {
		if err := a.value(&to.Cols[i], i, v); err != nil {
			for k := range to.Cols[:i] {
				to.Cols[k].Truncate(to.N)
			}
			return err
		}
	}
	to.N++
	return nil
}

// value appends one value.
func (a *Appender) value(to *column.Vector, i int, v any) error {
	if v == nil {
		to.AppendNull()
		return nil
	}
	t := a.schema[i].Type
	v, err := sql.UnwrapAny(a.ctx, v)
	if err != nil {
		return err
	}
	switch kind := a.fields[i].Type.Kind; kind {
	case column.Decimal:
		// The text of a decimal that is too long for the column would be refused later by whoever reads it.
		v, inRange, err := t.Convert(a.ctx, v)
		if err == nil && inRange != sql.InRange {
			err = sql.ErrValueOutOfRange.New(v, t)
		}
		if err != nil {
			return fmt.Errorf("column '%s': %w", a.fields[i].Name, err)
		}
		if d, ok := v.(*apd.Decimal); ok && d.Negative && d.IsZero() {
			v = &apd.Decimal{Exponent: d.Exponent} // SQL has no -0
		}
		return a.text(to, i, v)
	case column.JSON:
		if j, ok := v.(types.JSONBytes); ok {
			b, err := j.GetBytes(a.ctx)
			if err != nil {
				return err
			}
			to.AppendBytes(b)
			return nil
		}
		return a.text(to, i, v)
	case column.Text, column.Bytes:
		switch v := v.(type) {
		case string:
			to.AppendBytes([]byte(v))
			return nil
		case []byte:
			to.AppendBytes(v)
			return nil
		}
		return a.text(to, i, v)
	case column.Float64:
		switch v := v.(type) {
		case float64:
			to.AppendFloat(v)
			return nil
		case float32:
			to.AppendFloat(float64(v))
			return nil
		}
	case column.Date, column.Timestamp:
		if v, ok := v.(time.Time); ok {
			to.AppendInt(moment(kind, v))
			return nil
		}
	case column.Time:
		if v, ok := v.(types.Timespan); ok {
			to.AppendInt(int64(v))
			return nil
		}
	default:
		if n, ok := integer(v); ok {
			to.AppendInt(n)
			return nil
		}
	}
	converted, inRange, err := t.Convert(a.ctx, v)
	if err != nil {
		return fmt.Errorf("column '%s': %w", a.fields[i].Name, err)
	}
	if inRange != sql.InRange {
		return sql.ErrValueOutOfRange.New(v, t)
	}
	if fmt.Sprintf("%T", converted) == fmt.Sprintf("%T", v) {
		return fmt.Errorf("sqltable: column '%s' is %s and cannot take a %T", a.fields[i].Name, t, v)
	}
	return a.value(to, i, converted)
}

// text appends the text that clients are sent of v.
func (a *Appender) text(to *column.Vector, i int, v any) error {
	s, err := a.schema[i].Type.SQL(a.ctx, nil, v)
	if err != nil {
		return fmt.Errorf("column '%s': %w", a.fields[i].Name, err)
	}
	if s.IsNull() {
		to.AppendNull()
		return nil
	}
	to.AppendBytes(s.Raw())
	return nil
}

func moment(kind column.Kind, t time.Time) int64 {
	if kind == column.Timestamp {
		return t.UnixMicro()
	}
	const day = 24 * 60 * 60
	s := t.Unix()
	d := s / day
	if s%day < 0 {
		d--
	}
	return d
}

// integer gives the bits of any Go integer or boolean.
func integer(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case int32:
		return int64(v), true
	case int16:
		return int64(v), true
	case int8:
		return int64(v), true
	case int:
		return int64(v), true
	case uint64:
		return int64(v), true
	case uint32:
		return int64(v), true
	case uint16:
		return int64(v), true
	case uint8:
		return int64(v), true
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}
