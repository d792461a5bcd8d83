package ops

import (
	"testing"

	"millrace/internal/column"
	"millrace/internal/decode/json"
	"millrace/internal/sqlerr"
)

// TestCastsOfJSON: what a value of type JSON becomes, of each sort of value; - stands for NULL and ! for an error.
func TestCastsOfJSON(t *testing.T) {
	types := []column.Type{
		{Kind: column.Text}, {Kind: column.Int32}, {Kind: column.Int64}, {Kind: column.Float64}, {Kind: column.Decimal, Precision: 9, Scale: 2}, {Kind: column.Bool}, timestampMicros, {Kind: column.Date},
	}
	for value, want := range map[string][]string{
		` null `:               {"-", "-", "-", "-", "-", "-", "-", "-"},
		`"12"`:                 {"12", "12", "12", "12", "12.00", "!", "!", "!"},
		`"a\n\u00e9"`:          {"a\né", "!", "!", "!", "!", "!", "!", "!"},
		`"2026-01-02"`:         {"2026-01-02", "!", "!", "!", "!", "!", "1767312000000000", "20455"},
		`"true"`:               {"true", "!", "!", "!", "!", "1", "!", "!"},
		`true`:                 {"true", "1", "1", "1", "1.00", "1", "!", "!"},
		`false`:                {"false", "0", "0", "0", "0.00", "0", "!", "!"},
		`1.75`:                 {"1.75", "1", "1", "1.75", "1.75", "1", "1750000", "!"},
		`-1.5e1`:               {"-1.5e1", "-15", "-15", "-15", "-15.00", "1", "-15000000", "!"},
		`0.0`:                  {"0.0", "0", "0", "0", "0.00", "0", "0", "!"},
		`9223372036854775807`:  {"9223372036854775807", "!", "9223372036854775807", "9.223372036854776e+18", "!", "1", "!", "!"},
		`{"a": [1, 2.50]}`:     {`{"a": [1, 2.50]}`, "!", "!", "!", "!", "!", "!", "!"},
		`[]`:                   {"[]", "!", "!", "!", "!", "!", "!", "!"},
		`123456789012345678e9`: {"123456789012345678e9", "!", "!", "1.2345678901234568e+26", "!", "1", "!", "!"},
	} {
		f := column.Field{Name: "j", Type: column.Type{Kind: column.JSON}, Nullable: true}
		v := column.Vector{Type: f.Type}
		v.AppendBytes([]byte("7"))
		v.AppendNull()
		v.AppendBytes([]byte(value))
		for i, to := range types {
			strict := newLane(map[string]int{}).bind(must(Cast(Column(0, f), to, false)))
			out, err := strict.eval(batchOf(v), []int32{1, 2})
			got := "!"
			switch {
			case err == nil && out.IsNull(2):
				got = "-"
			case err == nil:
				got = cell(out, 2)
			case !sqlerr.HasKind(err, sqlerr.BadValue) && !sqlerr.HasKind(err, sqlerr.OutOfRange) || asRowError(err).row != 2:
				t.Errorf("%s as %v: %v", value, to, err)
			}
			if got != want[i] {
				t.Errorf("%s as %v is %s, want %s", value, to, got, want[i])
			}
			tried, err := newLane(map[string]int{}).bind(must(Cast(Column(0, f), to, true))).eval(batchOf(v), nil)
			if null := want[i] == "!" || want[i] == "-"; err != nil || tried.IsNull(2) != null || !tried.IsNull(1) || !null && cell(tried, 2) != want[i] {
				t.Errorf("%s tried as %v is %s, %v, want %s", value, to, cell(tried, 2), err, want[i])
			}
		}
	}
}

func TestPathsIntoJSONGiveJSON(t *testing.T) {
	f := column.Field{Name: "j", Type: column.Type{Kind: column.JSON}, Nullable: true}
	v := column.Vector{Type: f.Type}
	v.AppendBytes([]byte(`{"s": "a\"b", "n": 1.50, "o": {"k": [{"x": 1}, {"x": 2.50}]}, "A": 1, "a": 2, "z": null}`))
	v.AppendNull()
	for path, want := range map[string]string{"s": `"a\"b"`, "n": "1.50", "o.k": `[{"x": 1}, {"x": 2.50}]`, "o.k[*].x": "[1,2.50]", "a": "2", "z": "NULL", "missing": "NULL"} {
		e := must(Path(Column(0, f), must(json.ParsePath(path))))
		if e.Type().Kind != column.JSON {
			t.Errorf("%s gives %v", path, e.Type())
		}
		l := newLane(map[string]int{})
		bound := l.bind(e)
		l.batch++
		out, err := bound.eval(batchOf(v), nil)
		if err != nil || cell(out, 0) != want || !out.IsNull(1) {
			t.Errorf("%s gives %s, %v, want %s", path, cell(out, 0), err, want)
		}
	}
}
