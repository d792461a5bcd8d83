package expr

import (
	"testing"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/types"
)

// The engine's json_unquote took the server down to its recover at a character beyond 16 bits, and read escapes inside objects, which are then no JSON any more.
func TestUnquoteGivesTheTextOfStringsAndAllElseAsItIs(t *testing.T) {
	ctx := sql.NewEmptyContext()
	for _, c := range []struct {
		value any
		typ   sql.Type
		want  any
		fails bool
	}{
		{JSONText(`"\ud83d\ude00 \"x\""`), types.JSON, "😀 \"x\"", false},
		{JSONText(`{"b": "x\"y"}`), types.JSON, `{"b": "x\"y"}`, false},
		{JSONText(` "a" `), types.JSON, "a", false},
		{JSONText(`null`), types.JSON, "null", false},
		{JSONText(`1.50`), types.JSON, "1.50", false},
		{types.MustJSON(`{"a": "b"}`), types.JSON, `{"a": "b"}`, false},
		{`"\ud83d\ude00"`, types.LongText, "😀", false},
		{`"abc`, types.LongText, `"abc`, false},
		{`a\tb`, types.LongText, `a\tb`, false},
		{`"`, types.LongText, `"`, false},
		{`""`, types.LongText, ``, false},
		{`"a\qb"`, types.LongText, nil, true},
		{nil, types.LongText, nil, false},
		{nil, types.Null, nil, false},
		{int64(1), types.Int64, nil, true},
	} {
		got, err := NewUnquote(ctx, expression.NewLiteral(c.value, c.typ)).Eval(ctx, nil)
		if got != c.want || (err != nil) != c.fails {
			t.Errorf("%v: %v, %v, want %v", c.value, got, err, c.want)
		}
	}
}
