package ops

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"millrace/internal/column"
	"millrace/internal/decode/json"
	"millrace/internal/sqlerr"

	"pgregory.net/rapid"
)

var (
	bytesField = column.Field{Name: "value", Type: column.Type{Kind: column.Bytes}, Nullable: true}
	value      = Column(0, bytesField)
)

func pathOf(x Expr, text string) Expr { return must(Path(x, must(json.ParsePath(text)))) }

// records makes a column of bytes; "NULL" is NULL.
func records(recs ...string) column.Vector {
	v := column.Vector{Type: bytesField.Type}
	for _, r := range recs {
		if r == "NULL" {
			v.AppendNull()
		} else {
			v.AppendBytes([]byte(r))
		}
	}
	return v
}

func project(t *testing.T, in column.Vector, exprs ...Expr) ([]string, error) {
	t.Helper()
	f := bytesField
	f.Type = in.Type
	src := &memorySource{lanes: [][]*column.Batch{{batchOf(in)}}}
	return run(t, src, Pipeline{Input: []column.Field{f}, Project: exprs, Limit: -1}, RunOptions{})
}

func TestPathsReadWhatIsThere(t *testing.T) {
	in := records(
		`{"a":"x","b":{"c":1.50},"d":[1,2]}`, `{"a":null,"b":7,"d":[]}`, `no json`, "NULL", `{"A":true}`, `[]`,
		`{"a":"line\nbreak","b":{"c":"é"}}`, "{\"a\":\"\xff\",\"b\":{\"c\":\"\xc3\"}}", ``,
	)
	want := []string{
		`x|1.50|[1,2]|2`, `NULL|NULL|[]|NULL`, `NULL|NULL|NULL|NULL`, `NULL|NULL|NULL|NULL`, `true|NULL|NULL|NULL`, `NULL|NULL|NULL|NULL`,
		"line\nbreak|é|NULL|NULL", "\ufffd|\ufffd|NULL|NULL", `NULL|NULL|NULL|NULL`,
	}
	rows, err := project(t, in, pathOf(value, "a"), pathOf(value, "b.c"), pathOf(value, "d"), pathOf(value, "d[1]"))
	if err != nil || !slices.Equal(rows, want) {
		t.Fatalf("got  %q, %v\nwant %q", rows, err, want)
	}
}

func TestPathsGatherAndNest(t *testing.T) {
	in := records(`{"a":[{"p":6.12},{"p":9.24},{}],"inner":"{\"k\":\"v\\u0041\"}"}`, `{"a":{},"inner":"x"}`)
	rows, err := project(t, in, pathOf(value, "a[*].p"), pathOf(pathOf(value, "inner"), "k"), pathOf(pathOf(value, "inner"), "K"))
	if want := []string{`[6.12,9.24]|vA|vA`, `NULL|NULL|NULL`}; err != nil || !slices.Equal(rows, want) {
		t.Fatalf("got %q, %v, want %q", rows, err, want)
	}
}

func TestAmbiguousPathsNameTheRecord(t *testing.T) {
	in := batchOf(records(`{"a":1}`, `{"A":1,"a":2}`), texts("t", "t"), column.Vector{Type: column.Type{Kind: column.Int32}, Int: []int64{0, 0}}, ints(8, 9))
	p := Pipeline{
		Input:   []column.Field{bytesField, {Name: "topic", Type: column.Type{Kind: column.Text}}, {Name: "p", Type: column.Type{Kind: column.Int32}}, {Name: "o", Type: column.Type{Kind: column.Int64}}},
		Project: []Expr{pathOf(value, "a")}, Limit: -1, Position: &Position{1, 2, 3},
	}
	rows, err := run(t, &memorySource{lanes: [][]*column.Batch{{in}}}, p, RunOptions{})
	if len(rows) != 1 || !sqlerr.HasKind(err, sqlerr.BadValue) || !strings.Contains(err.Error(), "topic 't', partition 0, offset 9") {
		t.Fatalf("got %v, %v", rows, err)
	}
	p.Project = []Expr{pathOf(value, "['a']")}
	if rows, err := run(t, &memorySource{lanes: [][]*column.Batch{{in}}}, p, RunOptions{}); err != nil || !slices.Equal(rows, []string{"1", "2"}) {
		t.Fatalf("with an exact name: got %v, %v", rows, err)
	}
}

func TestPathsShareOneExtractor(t *testing.T) {
	l := newLane(map[string]int{})
	text := must(Cast(value, column.Type{Kind: column.Text}, false))
	a, b := l.bind(pathOf(value, "a")).(*pathEval), l.bind(pathOf(text, "b")).(*pathEval)
	if a.from != b.from || len(a.from.paths) != 2 {
		t.Fatalf("two paths into one column have extractors of their own")
	}
}

func TestPathsAndCastsAllocateNothing(t *testing.T) {
	l := newLane(map[string]int{})
	in := records()
	for i := range 500 {
		in.AppendBytes(fmt.Appendf(nil, `{"n":%d,"f":%d.5,"s":"x\ty","t":"2024-01-02 03:04:05"}`, i, i))
	}
	b := batchOf(in)
	var evals []evaluator
	for _, e := range []Expr{
		must(Cast(pathOf(value, "n"), column.Type{Kind: column.Int64}, false)),
		must(Cast(pathOf(value, "f"), column.Type{Kind: column.Decimal, Precision: 10, Scale: 2}, false)),
		must(Cast(pathOf(value, "s"), column.Type{Kind: column.Int64}, true)),
		must(Cast(pathOf(value, "t"), column.Type{Kind: column.Timestamp, Scale: 6}, false)),
	} {
		evals = append(evals, l.bind(e))
	}
	batch := func() {
		l.batch++
		for _, e := range evals {
			if _, err := e.eval(b, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	batch()
	if n := testing.AllocsPerRun(10, batch); n != 0 {
		t.Fatalf("%v allocations a batch", n)
	}
}

// TestPathsOfManyEqualPathsOfOne: whatever is selected beside it, and whichever way a batch takes, a path reads the same.
func TestPathsOfManyEqualPathsOfOne(t *testing.T) {
	value := func(t *rapid.T) string {
		return rapid.SampledFrom([]string{`1`, `"x"`, `"x\n"`, `null`, `{"a":2}`, `[1,{"a":3}]`, "\"\xfe\"", `"é"`, `true`}).Draw(t, "value")
	}
	paths := []string{"a", "b", "a.a", "b[1].a", "b[*].a", "['a']"}
	rapid.Check(t, func(t *rapid.T) {
		var recs []string
		for range rapid.IntRange(1, 70).Draw(t, "rows") {
			rec := rapid.SampledFrom([]string{"NULL", "{", ""}).Draw(t, "bad")
			if rapid.IntRange(0, 5).Draw(t, "kind") > 0 {
				rec = fmt.Sprintf(`{"a":%s,"b":%s}`, value(t), value(t))
			}
			recs = append(recs, rec)
		}
		in := records(recs...)
		var sel []int32
		for i := range recs {
			if rapid.Bool().Draw(t, "selected") {
				sel = append(sel, int32(i))
			}
		}
		if sel == nil {
			sel = []int32{}
		}
		l := newLane(map[string]int{})
		l.batch = 1
		var evals []evaluator
		for _, p := range paths {
			evals = append(evals, l.bind(pathOf(Column(0, bytesField), p)))
		}
		for k, p := range paths {
			got, err := evals[k].eval(batchOf(in), sel)
			if err != nil {
				t.Fatal(err)
			}
			x := json.Compile([]json.Path{must(json.ParsePath(p))}).NewExtractor()
			for _, i := range sel {
				want := "NULL"
				if recs[i] != "NULL" {
					var out [1]json.Value
					if rec, err := x.ExtractText([]byte(recs[i]), out[:]); err == nil {
						if text, null, _ := x.Text(rec, 0, out[0]); !null {
							want = string(text)
						}
					}
				}
				if got := cell(got, int(i)); got != want {
					t.Fatalf("%s of %s is %s, want %s", p, recs[i], got, want)
				}
			}
		}
	})
}
