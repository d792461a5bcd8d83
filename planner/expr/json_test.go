package expr

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/cockroachdb/apd/v3"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
)

func TestJSONTextReachesClientsAsWritten(t *testing.T) {
	const text = `{ "a":1.50,"b":9007199254740993 ,"c":1E400}`
	wire, err := types.JSON.SQL(sql.NewEmptyContext(), nil, JSONText(text))
	if err != nil || wire.ToString() != text {
		t.Errorf("%s, %v", wire.ToString(), err)
	}
	if v, err := JSONText(text).Value(); err != nil || v != text {
		t.Errorf("%v, %v", v, err)
	}
}

func TestJSONTextGivesExactNumbersToTheEngine(t *testing.T) {
	for text, want := range map[string]any{
		"1": int64(1), "-9223372036854775808": int64(-1 << 63), "18446744073709551615": uint64(1<<64 - 1), "1.5": 1.5, "1.50": 1.5, "1e3": 1000.0,
		"0.1": 0.1, `"x"`: "x", "true": true, "null": nil,
	} {
		if got, err := JSONText(text).ToInterface(context.Background()); err != nil || got != want {
			t.Errorf("%s: %T %v, %v", text, got, got, err)
		}
	}
	for _, text := range []string{"18446744073709551616", "0.1234567890123456789", "1E400"} {
		got, err := JSONText(text).ToInterface(context.Background())
		d, ok := got.(*apd.Decimal)
		want, _, _ := apd.NewFromString(text)
		if err != nil || !ok || d.Cmp(want) != 0 {
			t.Errorf("%s: %T %v, %v", text, got, got, err)
		}
	}
}

func TestJSONTextComparesExactly(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"9007199254740993", "9007199254740992", 1}, {"1.50", "1.5", 0}, {"1e3", "1000", 0}, {`{"a":1,"b":2}`, `{"b":2,"a":1}`, 0}, {"[1]", "[2]", -1}, {`"a"`, "1", 1}, {"null", "null", 0},
	} {
		if got, err := types.JSON.Compare(ctx, JSONText(c.a), JSONText(c.b)); err != nil || got != c.want {
			t.Errorf("%s against %s: %d, %v", c.a, c.b, got, err)
		}
	}
	if got, err := types.JSON.Compare(ctx, JSONText("2"), types.JSONDocument{Val: int64(1)}); err != nil || got != 1 {
		t.Errorf("against a document of the engine: %d, %v", got, err)
	}
	if got, err := types.JSON.Compare(ctx, types.JSONDocument{Val: int64(1)}, JSONText("2")); err != nil || got != -1 {
		t.Errorf("a document of the engine against it: %d, %v", got, err)
	}
}

func TestJSONTextLookup(t *testing.T) {
	ctx := context.Background()
	doc := JSONText(`{"a":{"b":[1.50,{"c":null}]},"x y":2.50,"n":null}`)
	for path, want := range map[string]string{
		"$": string(doc), "$.a.b[0]": "1.50", "$.a.b[1].c": "null", "$.n": "null", "$.missing": "NULL", "$.a.b[7]": "NULL", `$."x y"`: "2.5", "$.a.b.c": "NULL",
	} {
		found, err := types.LookupJSONValue(ctx, doc, path)
		got := "NULL"
		if err == nil && found != nil {
			b, merr := types.MarshallJson(ctx, found)
			if got = string(b); merr != nil || !json.Valid(b) {
				t.Errorf("%s gives %q, %v", path, b, merr)
			}
		}
		if err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", path, got, err, want)
		}
	}
}

func TestJSONTypeNames(t *testing.T) {
	for text, want := range map[string]string{
		"1": "INTEGER", "18446744073709551615": "UNSIGNED INTEGER", "1.5": "DOUBLE", "0.12345678901234567890": "DECIMAL", " {}": "OBJECT", "[]": "ARRAY", `""`: "STRING", "true": "BOOLEAN", "null": "NULL",
	} {
		if got, err := JSONText(text).JsonType(context.Background()); err != nil || got != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
}
