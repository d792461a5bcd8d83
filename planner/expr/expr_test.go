package expr

import (
	"sync"
	"testing"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/types"
)

func TestParseType(t *testing.T) {
	for text, want := range map[string]string{
		"STRING": "STRING", "bigint": "BIGINT", " INT ": "INT", "VARIANT": "JSON", "JSON": "JSON", "TIMESTAMP_NTZ": "TIMESTAMP_NTZ", "DECIMAL": "DECIMAL(10,0)", "DECIMAL(5)": "DECIMAL(5,0)",
		"decimal( 38 , 18 )": "DECIMAL(38,18)", "DECIMAL(65,30)": "DECIMAL(65,30)",
	} {
		if got, err := ParseType(text); err != nil || got.String() != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "MONEY", "DECIMAL(0)", "DECIMAL(66)", "DECIMAL(40,31)", "DECIMAL(3,4)", "DECIMAL(3", "DECIMAL()", "DECIMAL(3,)", "DECIMALS", "INT(11)"} {
		if got, err := ParseType(text); err == nil {
			t.Errorf("%s became %v", text, got)
		}
	}
}

func TestEveryTypeHasAnEngineType(t *testing.T) {
	for k := range kindNames {
		typ := Type{Kind: Kind(k), Precision: 10, Scale: 2}
		if typ.Engine() == nil {
			t.Errorf("%v has no type in the engine", typ)
		}
	}
}

func TestAccessorsShowWhatThePlannerNeeds(t *testing.T) {
	ctx := sql.NewEmptyContext()
	field := expression.NewGetField(0, types.LongBlob, "value", true)
	text, err := NewCast(ctx, field, Type{Kind: String}, false)
	if err != nil {
		t.Fatal(err)
	}
	path, err := NewPath(ctx, text, "a.b[0]")
	if err != nil {
		t.Fatal(err)
	}
	number, err := NewCast(ctx, path, Type{Kind: BigInt}, true)
	if err != nil {
		t.Fatal(err)
	}
	if number.Arg() != sql.Expression(path) || number.To().Kind != BigInt || !number.Try() || path.Arg() != sql.Expression(text) || path.JSONPath().String() != "a.b[0]" || path.GivesJSON(ctx) {
		t.Error("accessors")
	}
	if got := number.String(); got != "value::STRING:a.b[0] ?:: BIGINT" {
		t.Error(got)
	}
	// A copy with other children is a new expression.
	other := expression.NewGetField(1, types.JSON, "doc", true)
	moved, err := path.WithChildren(ctx, other)
	if err != nil {
		t.Fatal(err)
	}
	if p := moved.(*Path); p.Arg() != sql.Expression(other) || !p.GivesJSON(ctx) || path.Arg() != sql.Expression(text) {
		t.Error("WithChildren")
	}
}

func TestDifferentExpressionsHaveDifferentTexts(t *testing.T) {
	ctx := sql.NewEmptyContext()
	n := expression.NewGetField(0, types.Int64, "n", true)
	cast := func(e sql.Expression, try bool) sql.Expression {
		c, err := NewCast(ctx, e, Type{Kind: String}, try)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	seen := map[string]bool{}
	for _, e := range []sql.Expression{
		cast(n, false), cast(n, true), cast(expression.NewUnaryMinus(n), false), expression.NewUnaryMinus(cast(n, false)), cast(cast(n, true), false), cast(cast(n, false), true), cast(cast(n, true), true),
		cast(expression.NewLiteral(int64(-1), types.Int64), false), expression.NewUnaryMinus(cast(expression.NewLiteral(int64(1), types.Int64), false)),
		cast(expression.NewEquals(n, n), false), expression.NewEquals(n, cast(n, false)),
	} {
		if text := e.String(); seen[text] {
			t.Errorf("%s twice", text)
		} else {
			seen[text] = true
		}
	}
}

func TestExpressionsMayBeEvaluatedByManyGoroutines(t *testing.T) {
	ctx := sql.NewEmptyContext()
	path, err := NewPath(ctx, expression.NewGetField(0, types.LongBlob, "value", true), "items[*].N")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 500 {
				if got, err := path.Eval(ctx, sql.Row{[]byte(`{"items":[{"n":1},{"\u006e":2}]}`)}); err != nil || got != "[1,2]" {
					t.Errorf("%v, %v", got, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkPathAndCastOfARow(b *testing.B) {
	ctx := sql.NewEmptyContext()
	row := sql.Row{[]byte(`{"event_id":"0123456789abcdef","user_id":223082153551,"event_type":"purchase","ts":1704235010051,"amount":686.82}`)}
	text, err := NewCast(ctx, expression.NewGetField(0, types.LongBlob, "value", true), Type{Kind: String}, false)
	if err != nil {
		b.Fatal(err)
	}
	path, err := NewPath(ctx, text, "user_id")
	if err != nil {
		b.Fatal(err)
	}
	number, err := NewCast(ctx, path, Type{Kind: BigInt}, false)
	if err != nil {
		b.Fatal(err)
	}
	for name, e := range map[string]sql.Expression{"path": path, "cast": number} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if v, err := e.Eval(ctx, row); err != nil || v == nil {
					b.Fatal(v, err)
				}
			}
		})
	}
}
