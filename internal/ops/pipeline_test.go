package ops

import (
	"strings"
	"testing"

	"millrace/internal/column"
	"millrace/internal/sqlerr"
)

func TestPlansReadAsText(t *testing.T) {
	offset := Column(0, column.Field{Name: "offset", Type: column.Type{Kind: column.Int64}})
	topic := Column(1, column.Field{Name: "topic", Type: column.Type{Kind: column.Text}})
	text := func(s string) Expr { return Const(column.Type{Kind: column.Text}, s) }
	input := []column.Field{{Name: "offset", Type: offset.Type()}, {Name: "topic", Type: topic.Type()}}
	for _, c := range []struct {
		name, want string
		p          Pipeline
	}{
		{"ranges of one column are one pass", "project `topic`\nfilter ((`offset` >= 5) AND (`offset` < 10)), (`topic` = 'it''s')\n", Pipeline{
			Filter: []Expr{must(And(must(Compare(Ge, offset, int64Const(5))), must(Compare(Lt, offset, int64Const(10))), must(Compare(Eq, topic, text("it's")))))},
			Limit:  -1, Project: []Expr{topic},
		}},
		{"limit and order", "limit 10 offset 3\nsort `offset` DESC, `topic`\nproject length(`topic`), (`offset` + 1)\n", Pipeline{
			Project: []Expr{must(Length(topic)), must(Arith(Add, offset, int64Const(1)))}, OrderBy: []Order{{offset, true}, {topic, false}}, Limit: 10, Offset: 3,
		}},
		{"groups", "aggregate count(*), sum(`offset`), count(distinct `topic`)\n  by `topic`\n", Pipeline{
			Aggregates: []Aggregate{{Func: Count}, {Func: Sum, Arg: offset}, {Func: CountDistinct, Arg: topic}}, GroupBy: []Expr{topic}, Limit: -1,
		}},
		{"conditions", "project \nfilter ((`topic` IN ('a', 'b')) OR (NOT (`offset` IS NULL))), (`offset` BETWEEN 1 AND 2), (`topic` <=> 'x')\n", Pipeline{
			Filter: []Expr{
				must(Or(must(In(topic, []Expr{text("a"), text("b")})), must(Not(IsNull(offset))))), must(Between(offset, int64Const(1), int64Const(2))),
				must(Compare(NullSafeEq, topic, text("x"))),
			},
			Limit: -1,
		}},
	} {
		c.p.Input = input
		plan, err := c.p.Compile()
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if got := plan.String(); got != c.want {
			t.Errorf("%s:\ngot  %q\nwant %q", c.name, got, c.want)
		}
	}
}

func TestRangesThatExcludeEachOtherFindNothing(t *testing.T) {
	for _, filter := range [][]Expr{
		{must(Compare(Lt, number, int64Const(5))), must(Compare(Gt, number, int64Const(7)))},
		{must(Compare(Eq, number, int64Const(5))), must(Compare(Ne, number, int64Const(5)))},
	} {
		src := &memorySource{lanes: [][]*column.Batch{{batchOf(numbers(0, 20))}}}
		rows, err := run(t, src, Pipeline{Input: []column.Field{int64Field}, Filter: filter, Project: []Expr{number}, Limit: -1}, RunOptions{})
		if err != nil || len(rows) != 0 {
			t.Errorf("%v: got %v, %v", filter, rows, err)
		}
	}
}

func TestWhatHasNoKernelIsRefused(t *testing.T) {
	col := func(k column.Kind) Expr { return Column(0, column.Field{Name: "x", Type: column.Type{Kind: k}}) }
	refused := func(name string, err error) {
		if !sqlerr.HasKind(err, sqlerr.NotSupported) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	_, err := Compare(Eq, col(column.Text), col(column.Int64))
	refused("text = int", err)
	_, err = Compare(Lt, col(column.JSON), col(column.JSON))
	refused("json < json", err)
	_, err = Arith(Add, col(column.Text), col(column.Int64))
	refused("text + int", err)
	wide := Column(0, column.Field{Name: "x", Type: column.Type{Kind: column.Decimal, Precision: 40, Scale: 20}})
	_, err = Arith(Mul, wide, wide)
	refused("a product of 40 fractional digits", err)
	_, err = Length(col(column.Int64))
	refused("length(int)", err)
	_, err = And(col(column.Text))
	refused("text as condition", err)
	for _, a := range []Aggregate{{Func: Sum, Arg: col(column.Text)}, {Func: Min, Arg: col(column.JSON)}, {Func: CountDistinct, Arg: col(column.JSON)}} {
		_, err = (&Pipeline{Input: []column.Field{{}}, Aggregates: []Aggregate{a}, Limit: -1}).Compile()
		refused(a.String(), err)
	}
	_, err = (&Pipeline{GroupBy: []Expr{col(column.JSON)}, Limit: -1}).Compile()
	refused("group by json", err)
}

func TestReferencesMustFitTheInput(t *testing.T) {
	for want, input := range map[string][]column.Field{
		"is column 0 of an input of 0":          {},
		"but column 0 of the input is text":     {textField},
		"but column 0 of the input is nullable": {int64Field},
	} {
		x := Column(0, column.Field{Name: "n", Type: column.Type{Kind: column.Int64}})
		_, err := (&Pipeline{Input: input, Project: []Expr{must(Arith(Add, x, x))}, Limit: -1}).Compile()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestConstantsOfTheWrongTypePanic(t *testing.T) {
	for _, f := range []func(){
		func() { Const(column.Type{Kind: column.Int64}, "1") }, func() { Const(column.Type{Kind: column.Text}, 1) }, func() { Const(boolType, struct{}{}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		}()
	}
}

func TestStatsCountRows(t *testing.T) {
	src := &memorySource{lanes: [][]*column.Batch{{batchOf(numbers(0, 10))}, {batchOf(numbers(0, 10))}}}
	p := Pipeline{Input: []column.Field{int64Field}, Filter: []Expr{must(Compare(Lt, number, int64Const(3)))}, Project: []Expr{number}, Limit: -1}
	r := Run(t.Context(), src, must(p.Compile()), RunOptions{})
	defer r.Close()
	if _, err := drain(t, r); err != nil {
		t.Fatal(err)
	}
	stats := r.Stats()
	if len(stats) != 2 || stats[0].Name != "filter" || stats[0].RowsIn != 20 || stats[0].RowsOut != 6 || stats[1].RowsOut != 6 {
		t.Fatalf("got %+v", stats)
	}
}
