package expr

import (
	"bytes"
	"context"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/cockroachdb/apd/v3"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/convert"
	"millrace/internal/decode/json"
)

// timestampLayout shows a timestamp without zeros at the end of the fraction, as the engine and Spark do.
const timestampLayout = "2006-01-02 15:04:05.999999"

const microsPerSecond = 1_000_000

// value converts a value that is not NULL. Which form it has in Go says most about its type; only booleans and dates need to look at the type.
func (c *Cast) value(ctx *sql.Context, v any) (any, error) {
	switch v := v.(type) {
	case string:
		return c.text(bytesOf(v))
	case []byte:
		return c.binary(ctx, v)
	case bool:
		if v {
			return c.boolean(ctx, 1)
		}
		return c.boolean(ctx, 0)
	case int8:
		if c.source(ctx) == fromBool {
			return c.boolean(ctx, int64(v))
		}
		return c.integer(int64(v))
	case int16:
		return c.integer(int64(v))
	case int32:
		return c.integer(int64(v))
	case int64:
		return c.integer(v)
	case int:
		return c.integer(int64(v))
	case uint8:
		return c.integer(int64(v))
	case uint16:
		return c.integer(int64(v))
	case uint32:
		return c.integer(int64(v))
	case uint64:
		if v > math.MaxInt64 {
			return c.decimal(strconv.AppendUint(nil, v, 10))
		}
		return c.integer(int64(v))
	case uint:
		return c.integer(int64(v))
	case float32:
		return c.float(float64(v), 32)
	case float64:
		return c.float(v, 64)
	case *apd.Decimal:
		return c.decimal([]byte(v.Text('f')))
	case time.Time:
		return c.time(v, c.source(ctx) == fromDate)
	case sql.JSONWrapper:
		return c.json(ctx, v)
	}
	if c.to.Kind != String {
		return nil, notCastable(c.source(ctx), c.to)
	}
	text, _, err := types.LongText.Convert(ctx, v)
	return text, err
}

// bytesOf is the bytes of s, which must not be changed.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

func (c *Cast) failed(fault convert.Fault, value []byte) (any, error) {
	if c.try {
		return nil, nil
	}
	return nil, convert.Failed(fault, value, c.to.String())
}

// text converts a text. It may belong to a buffer: nothing of it is kept.
func (c *Cast) text(b []byte) (any, error) {
	v, fault := parse(b, c.to)
	if fault != convert.OK {
		return c.failed(fault, b)
	}
	return v, nil
}

// parse reads a text as a value of type t.
func parse(b []byte, t Type) (any, convert.Fault) {
	switch t.Kind {
	case String:
		return string(b), convert.OK
	case Binary:
		return bytes.Clone(b), convert.OK
	case TinyInt, SmallInt, Int, BigInt:
		n, fault := convert.Int64(b)
		if fault != convert.OK {
			return nil, fault
		}
		return narrow(n, t.Kind)
	case Float:
		return result(convert.Float32(b))
	case Double:
		return result(convert.Float64(b))
	case Decimal:
		return parseExact(b, t)
	case Boolean:
		is, fault := convert.Bool(b)
		if is {
			return int8(1), fault
		}
		return int8(0), fault
	case Timestamp:
		micros, _, fault := convert.Timestamp(b)
		return time.UnixMicro(micros).UTC(), fault
	case TimestampNTZ:
		micros, fault := convert.WallClock(b)
		return time.UnixMicro(micros).UTC(), fault
	case Date:
		days, fault := convert.Date(b)
		return time.Unix(days*24*60*60, 0).UTC(), fault
	default:
		if !json.Valid(b) {
			return nil, convert.Syntax
		}
		return JSONText(bytes.Clone(b)), convert.OK
	}
}

func result[T any](v T, fault convert.Fault) (any, convert.Fault) { return v, fault }

func parseExact(b []byte, t Type) (any, convert.Fault) {
	var buffer [convert.MaxPrecision + 4]byte
	text, fault := convert.AppendDecimal(buffer[:0], b, int(t.Precision), int(t.Scale))
	if fault != convert.OK {
		return nil, fault
	}
	d, _, err := apd.NewFromString(string(text))
	if err != nil {
		return nil, convert.Syntax
	}
	return d, convert.OK
}

// narrow gives n the width of an integer kind.
func narrow(n int64, k Kind) (any, convert.Fault) {
	switch {
	case k == BigInt:
		return n, convert.OK
	case k == Int && int64(int32(n)) == n:
		return int32(n), convert.OK
	case k == SmallInt && int64(int16(n)) == n:
		return int16(n), convert.OK
	case k == TinyInt && int64(int8(n)) == n:
		return int8(n), convert.OK
	}
	return nil, convert.Overflow
}

func (c *Cast) binary(ctx *sql.Context, b []byte) (any, error) {
	if c.to.Kind == Binary {
		return bytes.Clone(b), nil
	}
	// The engine has texts as bytes, too: then the type says that it is text.
	if from := c.source(ctx); !fromBinary.castable(c.to.Kind) && from != fromText && from != fromNull {
		return nil, notCastable(fromBinary, c.to)
	}
	if !utf8.Valid(b) {
		b = convert.AppendUTF8(nil, b)
	}
	return c.text(b)
}

func (c *Cast) boolean(ctx *sql.Context, n int64) (any, error) {
	if !fromBool.castable(c.to.Kind) {
		return nil, notCastable(fromBool, c.to)
	}
	word := "false"
	if n != 0 {
		word = "true"
	}
	switch {
	case c.source(ctx) != fromBool:
		return c.integer(n)
	case c.to.Kind == String:
		return word, nil
	case c.to.Kind == JSON:
		return JSONText(word), nil
	default:
		return c.integer(n)
	}
}

func (c *Cast) integer(n int64) (any, error) {
	switch c.to.Kind {
	case TinyInt, SmallInt, Int, BigInt:
		if v, fault := narrow(n, c.to.Kind); fault == convert.OK {
			return v, nil
		}
		return c.failed(convert.Overflow, strconv.AppendInt(nil, n, 10))
	case Float:
		return float32(n), nil
	case Double:
		return float64(n), nil
	case Boolean:
		return truth(n != 0), nil
	case Timestamp:
		if n > math.MaxInt64/microsPerSecond || n < math.MinInt64/microsPerSecond || !convert.InTimestampRange(n*microsPerSecond) {
			return c.failed(convert.Overflow, strconv.AppendInt(nil, n, 10))
		}
		return time.Unix(n, 0).UTC(), nil
	case String, Decimal, JSON:
		return c.text(strconv.AppendInt(nil, n, 10))
	default:
		return nil, notCastable(fromInteger, c.to)
	}
}

func truth(is bool) int8 {
	if is {
		return 1
	}
	return 0
}

func (c *Cast) float(f float64, bits int) (any, error) {
	text := strconv.AppendFloat(nil, f, 'f', -1, bits)
	switch c.to.Kind {
	case TinyInt, SmallInt, Int, BigInt:
		// The fraction is cut off. Beyond the limits the conversion to int64 would give nonsense.
		if whole := math.Trunc(f); whole >= -1<<63 && whole < 1<<63 {
			if v, fault := narrow(int64(whole), c.to.Kind); fault == convert.OK {
				return v, nil
			}
		}
		return c.failed(convert.Overflow, text)
	case Float:
		if narrow := float32(f); !math.IsInf(float64(narrow), 0) || math.IsInf(f, 0) {
			return narrow, nil
		}
		return c.failed(convert.Overflow, text)
	case Double:
		return f, nil
	case Boolean:
		return truth(f != 0), nil
	case Timestamp:
		return c.seconds(text)
	case String, Decimal, JSON:
		return c.text(text)
	default:
		return nil, notCastable(fromApproximate, c.to)
	}
}

// decimal converts a number given as its exact text, without an exponent.
func (c *Cast) decimal(text []byte) (any, error) {
	switch c.to.Kind {
	case TinyInt, SmallInt, Int, BigInt:
		whole, _, _ := bytes.Cut(text, []byte{'.'})
		v, fault := parse(whole, c.to)
		if fault != convert.OK {
			return c.failed(fault, text)
		}
		return v, nil
	case Boolean:
		return truth(convert.CompareDecimal(text, []byte{'0'}) != 0), nil
	case Timestamp:
		return c.seconds(text)
	case Float, Double, String, Decimal, JSON:
		return c.text(text)
	default:
		return nil, notCastable(fromDecimal, c.to)
	}
}

// seconds is the timestamp at so many seconds since 1970.
func (c *Cast) seconds(text []byte) (any, error) {
	micros, fault := convert.AppendDecimal(nil, append(bytes.Clone(text), "e6"...), convert.MaxPrecision, 0)
	if fault == convert.OK {
		var n int64
		if n, fault = convert.Int64(micros); fault == convert.OK {
			if convert.InTimestampRange(n) {
				return time.UnixMicro(n).UTC(), nil
			}
			fault = convert.Overflow
		}
	}
	return c.failed(fault, text)
}

func (c *Cast) time(t time.Time, isDate bool) (any, error) {
	from := fromTimestamp
	layout := timestampLayout
	if isDate {
		from, layout = fromDate, time.DateOnly
	}
	if !from.castable(c.to.Kind) {
		return nil, notCastable(from, c.to)
	}
	t = t.UTC()
	switch c.to.Kind {
	case String:
		return t.Format(layout), nil
	case Timestamp, TimestampNTZ:
		return t, nil
	case Date:
		return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC), nil
	case JSON:
		return JSONText(t.AppendFormat(nil, `"`+layout+`"`)), nil
	case Float, Double, Decimal:
		return c.text(append(strconv.AppendInt(nil, t.UnixMicro(), 10), "e-6"...))
	default:
		return c.integer(t.Unix()) // whole seconds, rounded down
	}
}

func (c *Cast) json(ctx context.Context, j sql.JSONWrapper) (any, error) {
	text, err := types.MarshallJson(ctx, j)
	if err != nil {
		return nil, err
	}
	if c.to.Kind == JSON {
		return JSONText(text), nil
	}
	text = bytes.TrimSpace(text)
	switch {
	case len(text) == 0 || text[0] == 'n':
		return nil, nil
	case text[0] == '"':
		return c.text(json.AppendUnescaped(nil, text[1:len(text)-1]))
	case c.to.Kind == String, text[0] == 't', text[0] == 'f':
		if c.to.Kind.isNumber() { // a JSON boolean, as a SQL one
			return c.integer(int64(truth(text[0] == 't')))
		}
		return c.text(text)
	case text[0] == '{', text[0] == '[':
		return c.failed(convert.Syntax, text)
	case c.to.Kind == Boolean:
		return truth(convert.CompareDecimal(text, []byte{'0'}) != 0), nil
	case c.to.Kind >= TinyInt && c.to.Kind <= BigInt, c.to.Kind == Timestamp:
		// A number, not text: the fraction is cut off, or part of a second. Written in full there is no exponent left.
		full, fault := convert.AppendDecimal(nil, text, convert.MaxPrecision, convert.MaxScale)
		if fault != convert.OK {
			return c.failed(fault, text)
		}
		return c.decimal(full)
	default:
		return c.text(text)
	}
}
