package server

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/dolthub/go-mysql-server/sql"

	"millrace/server/dialect"
	"millrace/server/wire"
)

// ResultKind is what the text of a value is.
type ResultKind uint8

// The kinds of values.
const (
	ResultText ResultKind = iota
	ResultNumber
	ResultJSON
)

// ResultColumn describes a column for a Sink.
type ResultColumn struct {
	Name string
	Kind ResultKind
}

// localResults hands the answer of a statement to a Sink. Values come in the text of the MySQL protocol, so that a query looks the same with and
// without a server between.
type localResults struct {
	out     Sink
	columns int
	rows    int64
	buffer  []byte
	values  [][]byte
}

var _ results = (*localResults)(nil)

func (r *localResults) OK(affected, insertID uint64, info string) error {
	return r.out.Done(affected, insertID, info)
}

func (r *localResults) Columns(columns []wire.Column) error {
	described := make([]ResultColumn, len(columns))
	for i, c := range columns {
		described[i].Name = c.Name
		switch {
		case wire.IntWidth(c.Type) > 0, c.Type == wire.TypeDouble, c.Type == wire.TypeFloat, c.Type == wire.TypeNewDecimal:
			described[i].Kind = ResultNumber
		case c.Type == wire.TypeJSON:
			described[i].Kind = ResultJSON
		}
	}
	r.columns, r.rows = len(columns), 0
	return r.out.Begin(described)
}

func (r *localResults) Row(fill func([]byte) ([]byte, error)) error {
	var err error
	if r.buffer, err = fill(r.buffer[:0]); err != nil {
		return err
	}
	r.values = r.values[:0]
	rest := r.buffer
	for range r.columns {
		var v []byte
		if v, rest, err = textValue(rest); err != nil {
			return err
		}
		r.values = append(r.values, v)
	}
	r.rows++
	return r.out.Row(r.values)
}

// textValue takes one value of the text protocol off b: nil is NULL, an empty value is not nil.
func textValue(b []byte) (value, rest []byte, err error) {
	if len(b) == 0 {
		return nil, nil, fmt.Errorf("row ends too early")
	}
	var n uint64
	switch head := b[0]; {
	case head == wire.Null(nil)[0]:
		return nil, b[1:], nil
	case head < 0xfb:
		n, b = uint64(head), b[1:]
	case head == 0xfc && len(b) >= 3:
		n, b = uint64(binary.LittleEndian.Uint16(b[1:])), b[3:]
	case head == 0xfd && len(b) >= 4:
		n, b = uint64(b[1])|uint64(b[2])<<8|uint64(b[3])<<16, b[4:]
	case head == 0xfe && len(b) >= 9:
		n, b = binary.LittleEndian.Uint64(b[1:]), b[9:]
	default:
		return nil, nil, fmt.Errorf("row holds a length that cannot be read")
	}
	if n > uint64(len(b)) {
		return nil, nil, fmt.Errorf("row ends too early")
	}
	return b[:n:n], b[n:], nil
}

func (r *localResults) EndRows() error  { return r.out.End() }
func (r *localResults) SetMore(bool)    {}
func (r *localResults) Multi() bool     { return false }
func (r *localResults) Binary() bool    { return false }
func (r *localResults) RowCount() int64 { return r.rows }

// splitOne cuts the first statement off a text in the session's sql_mode.
func splitOne(x *session, ctx context.Context, text string) (first, rest string) {
	return dialect.Split(text, dialectMode(sql.LoadSqlMode(x.context(ctx, ""))))
}
