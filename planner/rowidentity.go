package planner

import (
	stdbinary "encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cockroachdb/apd/v3"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
)

// rowIdentity tells rows apart as DISTINCT, GROUP BY and the set operators do: NULL is the same as NULL and as nothing else, texts are the same where their collation
// says so, numbers where they are equal. The engine's own is a hash of the values' texts one after the other, to which NULL is the text '<nil>' and a value may run
// into the next.
//
// A row becomes bytes that differ for rows that differ: each value is a tag, its length and its bytes.
type rowIdentity struct {
	types []sql.Type
	row   []byte // the last row, reused
	value []byte // the last value, reused
}

// The tags. Values of one tag have one spelling each.
const (
	nullTag byte = iota
	numberTag
	bytesTag
	weightsTag
	timeTag
	otherTag
)

// newRowIdentity tells rows of schema apart.
func newRowIdentity(schema sql.Schema) rowIdentity {
	id := rowIdentity{types: make([]sql.Type, len(schema))}
	for i, c := range schema {
		id.types[i] = c.Type
	}
	return id
}

// rowIdentityOf tells rows of the values of exprs apart.
func rowIdentityOf(ctx *sql.Context, exprs []sql.Expression) rowIdentity {
	id := rowIdentity{types: make([]sql.Type, len(exprs))}
	for i, e := range exprs {
		id.types[i] = e.Type(ctx)
	}
	return id
}

// of gives the bytes of row, valid until the next call.
func (id *rowIdentity) of(ctx *sql.Context, row sql.Row) ([]byte, error) {
	id.row = id.row[:0]
	for i, v := range row {
		v, err := sql.UnwrapAny(ctx, v)
		if err != nil {
			return nil, err
		}
		if v == nil {
			id.row = append(id.row, nullTag)
			continue
		}
		var t sql.Type = types.Null
		if i < len(id.types) {
			t = id.types[i]
		}
		id.value = id.value[:0]
		tag, err := id.encode(ctx, t, v)
		if err != nil {
			return nil, err
		}
		id.row = append(id.row, tag)
		id.row = stdbinary.AppendUvarint(id.row, uint64(len(id.value)))
		id.row = append(id.row, id.value...)
	}
	return id.row, nil
}

// encode appends v, which is not NULL, to id.value.
func (id *rowIdentity) encode(ctx *sql.Context, t sql.Type, v any) (tag byte, err error) {
	if text, ok := t.(sql.StringType); ok {
		return id.text(ctx, text, v)
	}
	switch v := v.(type) {
	case bool:
		if v {
			return id.integer(1), nil
		}
		return id.integer(0), nil
	case int:
		return id.integer(int64(v)), nil
	case int8:
		return id.integer(int64(v)), nil
	case int16:
		return id.integer(int64(v)), nil
	case int32:
		return id.integer(int64(v)), nil
	case int64:
		return id.integer(v), nil
	case uint:
		return id.unsigned(uint64(v)), nil
	case uint8:
		return id.unsigned(uint64(v)), nil
	case uint16:
		return id.unsigned(uint64(v)), nil
	case uint32:
		return id.unsigned(uint64(v)), nil
	case uint64:
		return id.unsigned(v), nil
	case float32:
		return id.double(float64(v), 32), nil
	case float64:
		return id.double(v, 64), nil
	case *apd.Decimal:
		return id.number(v.Text('f')), nil
	case string:
		if types.IsNumber(t) { // a literal
			return id.number(v), nil
		}
		id.value = append(id.value, v...)
		return bytesTag, nil
	case []byte:
		id.value = append(id.value, v...)
		return bytesTag, nil
	case time.Time:
		id.value = stdbinary.BigEndian.AppendUint64(id.value, uint64(v.Unix()))
		id.value = stdbinary.BigEndian.AppendUint32(id.value, uint32(v.Nanosecond()))
		return timeTag, nil
	case types.Timespan:
		return id.integer(int64(v)), nil
	case sql.JSONWrapper:
		text, err := types.MarshallJson(ctx, v)
		id.value = append(id.value, text...)
		return otherTag, err
	default:
		id.value = fmt.Appendf(id.value, "%v", v)
		return otherTag, nil
	}
}

func (id *rowIdentity) integer(v int64) byte {
	id.value = strconv.AppendInt(id.value, v, 10)
	return numberTag
}

func (id *rowIdentity) unsigned(v uint64) byte {
	id.value = strconv.AppendUint(id.value, v, 10)
	return numberTag
}

func (id *rowIdentity) double(v float64, bits int) byte {
	if v == 0 { // -0 is equal to it
		v = 0
	}
	id.value = strconv.AppendFloat(id.value, v, 'f', -1, bits)
	return numberTag
}

// number appends the digits of a decimal: 1.50 is equal to 1.5, -0.0 to 0.
func (id *rowIdentity) number(text string) byte {
	if strings.Contains(text, ".") && !strings.ContainsAny(text, "eE") {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	if text == "-0" || text == "" || text == "-" {
		text = "0"
	}
	id.value = append(id.value, text...)
	return numberTag
}

// text appends a text by what its collation makes of it.
func (id *rowIdentity) text(ctx *sql.Context, t sql.StringType, v any) (byte, error) {
	var text string
	switch v := v.(type) {
	case string:
		text = v
	case []byte:
		if plainBytes(t) {
			id.value = append(id.value, v...)
			return bytesTag, nil
		}
		text = string(v)
	default:
		converted, _, err := t.Convert(ctx, v)
		if err != nil {
			return 0, err
		}
		switch converted := converted.(type) {
		case string:
			text = converted
		case []byte:
			text = string(converted)
		default:
			text = fmt.Sprint(converted)
		}
	}
	if plainBytes(t) {
		id.value = append(id.value, text...)
		return bytesTag, nil
	}
	weight := t.Collation().Sorter()
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		w := weight(r)
		if r == utf8.RuneError && n == 1 { // a byte that is no text is itself
			w = -1 - int32(text[0])
		}
		id.value = stdbinary.BigEndian.AppendUint32(id.value, uint32(w))
		text = text[n:]
	}
	return weightsTag, nil
}

// plainBytes reports whether values of t are the same only when their bytes are.
func plainBytes(t sql.StringType) bool {
	return bytewise(t) || t.Collation() == sql.Collation_binary
}
