package expr

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/apd/v3"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/column"
	"millrace/internal/decode/json"
	"millrace/internal/ops"
	"millrace/internal/scan"
	"millrace/internal/sqlerr"
)

// A cast or a path gives the same on batches (internal/ops) as row by row here, errors included. Every pair of types that ops takes is tried with values at the
// edges.

// sample is a type with values, in the form the engine has them.
type sample struct {
	engine sql.Type
	column column.Type
	values []any
}

func samples() []sample {
	day := func(text string) time.Time {
		t, err := time.Parse("2006-01-02 15:04:05.999999", text)
		if err != nil {
			panic(err)
		}
		return t
	}
	decimal := func(text string) *apd.Decimal {
		d, _, err := apd.NewFromString(text)
		if err != nil {
			panic(err)
		}
		return d
	}
	return []sample{
		{types.LongText, column.Type{Kind: column.Text}, []any{"", " ", "0", "-0", "1", " 42 ", "+7", "1.0", "1.5", "-2.5", "1e3", "1E400", "1e-400", "9223372036854775807", "9223372036854775808",
			"-9223372036854775808", "2147483648", "true", "YES", "n", "2026-03-01", "2026-03-01T12:34:56.789123Z", "2026-07-01 12:00 Europe/Berlin", "10000-01-01", "x", "nan", "é", `{"a":1.50}`, "[1,]", `"q"`, "null"}},
		{types.LongBlob, column.Type{Kind: column.Bytes}, []any{[]byte(""), []byte("abc"), []byte("\xff\xe2\x82"), []byte(`{"a":1}`), []byte("{\"a\":\"\xff\"}")}},
		{types.Boolean, column.Type{Kind: column.Bool}, []any{int8(0), int8(1)}},
		{types.Int32, column.Type{Kind: column.Int32}, []any{int32(0), int32(-1), int32(math.MaxInt32), int32(300), int32(127), int32(-128), int32(128), int32(-32768), int32(32768)}},
		{types.Int64, column.Type{Kind: column.Int64}, []any{int64(0), int64(-1), int64(math.MaxInt64), int64(math.MinInt64), int64(1700000000), int64(2147483648)}},
		{types.Float64, column.Type{Kind: column.Float64}, []any{0.0, -1.9, 1.5, 2.5, 1e10, 1e300, -1e-300, 9.3e18, 123456.789, 127.9, -128.9, 32768.0, 3.5e38, 1.1, math.MaxFloat32}},
		{types.MustCreateColumnDecimalType(20, 5), column.Type{Kind: column.Decimal, Precision: 20, Scale: 5},
			[]any{decimal("0.00000"), decimal("-1.90000"), decimal("123456789012345.12345"), decimal("2.50000"), decimal("99.99500")}},
		{types.DatetimeMaxPrecision, column.Type{Kind: column.Timestamp, Scale: 6}, []any{day("1970-01-01 00:00:00"), day("1969-12-31 23:59:59.999999"), day("2026-03-01 12:34:56.789"), day("9999-12-31 23:59:59.999999")}},
		{types.Date, column.Type{Kind: column.Date}, []any{day("1970-01-01 00:00:00"), day("0001-01-01 00:00:00"), day("2026-03-01 00:00:00")}},
	}
}

func targets() []Type {
	return []Type{{Kind: String}, {Kind: TinyInt}, {Kind: SmallInt}, {Kind: Float}, {Kind: Int}, {Kind: BigInt}, {Kind: Double}, {Kind: Decimal, Precision: 10, Scale: 2}, {Kind: Decimal, Precision: 65, Scale: 30}, {Kind: Decimal, Precision: 3},
		{Kind: Boolean}, {Kind: Timestamp}, {Kind: Date}, {Kind: Binary}, {Kind: JSON}}
}

func TestCastsOnBatchesGiveWhatCastsOfRowsGive(t *testing.T) {
	ctx := sql.NewEmptyContext()
	compared := 0
	for _, s := range samples() {
		field := column.Field{Name: "x", Type: s.column, Nullable: true}
		for _, to := range targets() {
			kind, _ := to.Column()
			for _, try := range []bool{false, true} {
				kernel, err := ops.CastField(ops.Column(0, field), kind, try)
				if err != nil {
					continue // stays in the engine
				}
				row, err := NewCast(ctx, expression.NewGetField(0, s.engine, "x", true), to, try)
				if err != nil {
					t.Errorf("%s to %s: ops takes it, the engine does not: %v", s.engine, to, err)
					continue
				}
				for _, v := range append(s.values, nil) {
					want, got := shown(row.Eval(ctx, sql.Row{v})), evalKernel(t, field, kernel, v)
					if s.column.Kind == column.Timestamp { // the batches show the number that the time became, the rows its whole seconds
						want, got = errorKind(want), errorKind(got)
					}
					if got != want {
						t.Errorf("%v (%s) to %s, try %v: batches give %s, rows %s", v, s.engine, to, try, got, want)
					}
					compared++
				}
			}
		}
	}
	if compared < 500 {
		t.Errorf("only %d comparisons", compared)
	}
}

func TestPathsOnBatchesGiveWhatPathsOfRowsGive(t *testing.T) {
	ctx := sql.NewEmptyContext()
	field := column.Field{Name: "x", Type: column.Type{Kind: column.Bytes}, Nullable: true}
	records := []any{`{"a":{"B":[1,"x\ty"]}}`, `{"A":1,"a":2}`, `{"a":null}`, "{\"a\":\"\xff\"}", "{\"a\":\"\xe2\x82\",\"b\":1}", `{"a":[{"b":1},{"b":"2"}]}`, `{"a":1`, ``, `[1]`, `"s"`, nil}
	for _, text := range []string{"a", "A.b", "a.b[1]", "['a']", "a[*].b", "[0]", "b"} {
		row, err := NewPath(ctx, expression.NewGetField(0, types.LongBlob, "x", true), text)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := json.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		kernel, err := ops.Path(ops.Column(0, field), parsed)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			if s, ok := r.(string); ok {
				r = []byte(s)
			}
			want := shown(row.Eval(ctx, sql.Row{r}))
			if got := evalKernel(t, field, kernel, r); got != want {
				t.Errorf("%s of %s: batches give %s, rows %s", text, r, got, want)
			}
		}
	}
}

// shown makes values of the engine and of batches comparable.
func shown(v any, err error) string {
	if err != nil {
		if e, ok := sqlerr.As(err); ok {
			return "error " + e.Kind.Symbol + " " + e.Msg + " / " + e.Hint
		}
		return "error " + err.Error()
	}
	switch v := v.(type) {
	case nil:
		return "NULL"
	case string:
		return "text " + v
	case []byte:
		return "text " + string(v)
	case JSONText:
		return "text " + string(v)
	case *apd.Decimal:
		return "text " + v.Text('f')
	case time.Time:
		return fmt.Sprint("micros ", v.UnixMicro())
	case float64:
		return fmt.Sprint("float ", v)
	case float32:
		return fmt.Sprint("float ", float64(v))
	default:
		return fmt.Sprint("int ", v)
	}
}

// errorKind leaves only the kind of a shown error.
func errorKind(text string) string {
	if strings.HasPrefix(text, "error ") {
		return strings.Join(strings.Fields(text)[:2], " ")
	}
	return text
}

// evalKernel runs a kernel over a batch of one row.
func evalKernel(t *testing.T, field column.Field, kernel ops.Expr, v any) string {
	t.Helper()
	plan, err := (&ops.Pipeline{Input: []column.Field{field}, Project: []ops.Expr{kernel}, Names: []string{"y"}, Limit: -1}).Compile()
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	rows := ops.Run(ctx, &oneRow{vector(field.Type, v)}, plan, ops.RunOptions{})
	defer func() {
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}()
	b, err := rows.Next(ctx)
	if errors.Is(err, io.EOF) {
		t.Fatal("no row")
	}
	if err != nil {
		return shown(nil, err)
	}
	y := &b.Cols[0]
	switch {
	case y.IsNull(0):
		return "NULL"
	case y.Type.Kind.IsView():
		return "text " + string(y.View(0))
	case y.Type.Kind == column.Float64:
		return shown(y.Float[0], nil)
	case y.Type.Kind == column.Timestamp:
		return fmt.Sprint("micros ", y.Int[0])
	case y.Type.Kind == column.Date:
		return fmt.Sprint("micros ", y.Int[0]*86400*1e6)
	default:
		return fmt.Sprint("int ", y.Int[0])
	}
}

// vector is a column of one value.
func vector(ct column.Type, v any) column.Vector {
	out := column.Vector{Type: ct}
	switch v := v.(type) {
	case nil:
		out.AppendNull()
	case string:
		out.AppendBytes([]byte(v))
	case []byte:
		out.AppendBytes(v)
	case int8:
		out.AppendInt(int64(v))
	case int32:
		out.AppendInt(int64(v))
	case int64:
		out.AppendInt(v)
	case float64:
		out.AppendFloat(v)
	case *apd.Decimal:
		out.AppendBytes([]byte(v.Text('f')))
	case time.Time:
		if ct.Kind == column.Date {
			out.AppendInt(v.Unix() / 86400)
		} else {
			out.AppendInt(v.UnixMicro())
		}
	default:
		panic(fmt.Sprintf("%T", v))
	}
	return out
}

// oneRow is a source of one row.
type oneRow struct{ x column.Vector }

func (s *oneRow) Splits() []scan.Split { return []scan.Split{{Topic: "t", Range: scan.Range{To: 1}}} }
func (s *oneRow) Stats() scan.Stats    { return scan.Stats{} }
func (s *oneRow) Warnings() []string   { return nil }
func (s *oneRow) Close()               {}
func (s *oneRow) Run(ctx context.Context, newSink func(lane int) (scan.Sink, error)) error {
	sink, err := newSink(0)
	if err != nil {
		return err
	}
	if err := sink.Push(ctx, &column.Batch{N: 1, Cols: []column.Vector{s.x}}); err != nil {
		if errors.Is(err, scan.Stop) {
			return nil
		}
		return err
	}
	return sink.Finish(ctx)
}
