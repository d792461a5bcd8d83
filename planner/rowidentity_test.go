package planner

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/cockroachdb/apd/v3"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	wire "github.com/dolthub/vitess/go/vt/proto/query"

	"millrace/planner/expr"
)

func TestRowIdentity(t *testing.T) {
	text := types.MustCreateString(wire.Type_VARCHAR, 20, sql.Collation_utf8mb4_0900_bin)
	folded := types.MustCreateString(wire.Type_VARCHAR, 20, sql.Collation_utf8mb4_0900_ai_ci)
	decimal := types.MustCreateDecimalType(10, 2)
	noon := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	number := func(text string) *apd.Decimal {
		d, _, err := apd.NewFromString(text)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, c := range []struct {
		name  string
		types []sql.Type
		a, b  sql.Row
		same  bool
	}{
		{"NULL and NULL", []sql.Type{text}, sql.Row{nil}, sql.Row{nil}, true},
		{"NULL and the text of it", []sql.Type{text}, sql.Row{nil}, sql.Row{"<nil>"}, false},
		{"NULL and an empty text", []sql.Type{text}, sql.Row{nil}, sql.Row{""}, false},
		{"a NUL in either of two texts", []sql.Type{text, text}, sql.Row{"\x00", ""}, sql.Row{"", "\x00"}, false},
		{"a text that runs into the next", []sql.Type{text, text}, sql.Row{"a", "bc"}, sql.Row{"ab", "c"}, false},
		{"folded texts that run into each other", []sql.Type{folded, folded}, sql.Row{"a", "bc"}, sql.Row{"ab", "c"}, false},
		{"case where it counts", []sql.Type{text}, sql.Row{"a"}, sql.Row{"A"}, false},
		{"case where it does not", []sql.Type{folded}, sql.Row{"a"}, sql.Row{"A"}, true},
		{"bytes that are no text", []sql.Type{types.Blob}, sql.Row{[]byte{0xff}}, sql.Row{[]byte{0xfe}}, false},
		{"bytes that are no text, folded", []sql.Type{folded}, sql.Row{"\xff"}, sql.Row{"\xfe"}, false},
		{"bytes as a string", []sql.Type{types.Blob}, sql.Row{[]byte{0xff}}, sql.Row{"\xff"}, true},
		{"decimals of another scale", []sql.Type{decimal}, sql.Row{number("1.50")}, sql.Row{number("1.5")}, true},
		{"a decimal as a literal", []sql.Type{decimal}, sql.Row{"1.50"}, sql.Row{number("1.5")}, true},
		{"a decimal of no sign", []sql.Type{decimal}, sql.Row{number("-0.00")}, sql.Row{number("0")}, true},
		{"round tens", []sql.Type{decimal}, sql.Row{number("100")}, sql.Row{number("1")}, false},
		{"doubles of no sign", []sql.Type{types.Float64}, sql.Row{0.0}, sql.Row{math.Copysign(0, -1)}, true},
		{"integers of another width", []sql.Type{types.Int64}, sql.Row{int8(1)}, sql.Row{int64(1)}, true},
		{"booleans", []sql.Type{types.Boolean}, sql.Row{true}, sql.Row{int8(1)}, true},
		{"a moment in another zone", []sql.Type{types.Datetime}, sql.Row{noon}, sql.Row{noon.In(time.FixedZone("", 3600))}, true},
		{"moments a microsecond apart", []sql.Type{types.Datetime}, sql.Row{noon}, sql.Row{noon.Add(time.Microsecond)}, false},
		{"times of day", []sql.Type{types.Time}, sql.Row{types.Timespan(1)}, sql.Row{types.Timespan(2)}, false},
		{"documents", []sql.Type{types.JSON}, sql.Row{expr.JSONText(`["a b"]`)}, sql.Row{expr.JSONText(`["a","b"]`)}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			id := rowIdentity{types: c.types}
			first, err := id.of(sql.NewEmptyContext(), c.a)
			if err != nil {
				t.Fatal(err)
			}
			first = bytes.Clone(first)
			second, err := id.of(sql.NewEmptyContext(), c.b)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Equal(first, second) != c.same {
				t.Errorf("%v is %x, %v is %x: same should be %v", c.a, first, c.b, second, c.same)
			}
		})
	}
}
