package ops

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"millrace/internal/column"
	"millrace/internal/sketch"

	"pgregory.net/rapid"
)

// naive aggregates boxed values of one group.
func naive(a Aggregate, values []any) any {
	var valid []any
	distinct := map[string]bool{}
	for _, v := range values {
		if v != nil {
			valid = append(valid, v)
			distinct[keyText(v)] = true
		}
	}
	switch a.Func {
	case CountIf:
		n := int64(0)
		for _, v := range valid {
			n += v.(int64)
		}
		return n
	case MinBy, MaxBy:
		return naiveBy(a, values)
	case CollectList:
		elements := []string{}
		for _, v := range valid {
			elements = append(elements, naiveJSON(a.Arg.Type(), v))
		}
		slices.Sort(elements)
		return elements
	case PercentileApprox:
		if len(valid) == 0 {
			return nil
		}
		slices.SortFunc(valid, func(a, b any) int { c, _ := compareBoxed(a, b); return c })
		return valid[max(int(math.Ceil(a.Fraction*float64(len(valid)))), 1)-1]
	}
	switch {
	case a.Func == Count && a.Arg == nil:
		return int64(len(values))
	case a.Func == Count:
		return int64(len(valid))
	case a.Func == CountDistinct, a.Func == ApproxCountDistinct:
		return int64(len(distinct))
	case len(valid) == 0:
		return nil
	case a.Func == Min || a.Func == Max:
		best := valid[0]
		for _, v := range valid {
			if c, _ := compareBoxed(v, best); c < 0 && a.Func == Min || c > 0 && a.Func == Max {
				best = v
			}
		}
		return best
	case a.Arg.Type().Kind == column.Float64:
		sum := 0.0
		for _, v := range valid {
			sum += v.(float64)
		}
		if a.Func == Avg {
			sum /= float64(len(valid))
		}
		return sum
	}
	sum := new(big.Rat)
	for _, v := range valid {
		sum.Add(sum, toRat(v))
	}
	n := new(big.Rat).SetInt64(int64(len(valid)))
	switch a.Func {
	case Avg:
		sum.Quo(sum, n)
	case VarPop, VarSamp, StdDevPop, StdDevSamp:
		if a.Func == VarSamp || a.Func == StdDevSamp {
			if n.Sub(n, big.NewRat(1, 1)); n.Sign() == 0 {
				return nil
			}
		}
		mean, variance := sum.Quo(sum, big.NewRat(int64(len(valid)), 1)), new(big.Rat)
		for _, v := range valid {
			d := new(big.Rat).Sub(toRat(v), mean)
			variance.Add(variance, d.Mul(d, d))
		}
		f, _ := variance.Quo(variance, n).Float64()
		if a.Func == StdDevPop || a.Func == StdDevSamp {
			f = math.Sqrt(f)
		}
		return f
	}
	t, _ := a.resultType()
	r, _ := new(big.Rat).SetString(sum.FloatString(int(t.Scale)))
	return r
}

// pairOf is both arguments of a row.
type pairOf struct{ v, by any }

// naiveBy is MIN_BY or MAX_BY of pairs.
func naiveBy(a Aggregate, values []any) any {
	below := func(a, b any) int {
		c, ok := compareBoxed(a, b)
		switch {
		case ok:
			return c
		case a == nil && b == nil:
			return 0
		case a == nil:
			return -1
		default:
			return 1
		}
	}
	var best *pairOf
	for _, v := range values {
		p := v.(pairOf)
		if p.by == nil {
			continue
		}
		c := 1
		if best != nil {
			if c = below(p.by, best.by); a.Func == MinBy {
				c = -c
			}
			if c == 0 {
				c = below(p.v, best.v)
			}
		}
		if c > 0 {
			best = &p
		}
	}
	if best == nil {
		return nil
	}
	return best.v
}

func naiveJSON(t column.Type, v any) string {
	switch t.Kind {
	case column.Bool:
		return fmt.Sprint(v.(int64) != 0)
	case column.Text, column.Bytes:
		return string(must(json.Marshal(v)))
	case column.Decimal:
		return v.(*big.Rat).FloatString(int(t.Scale))
	case column.Timestamp:
		return time.UnixMicro(v.(int64)).UTC().Format(`"2006-01-02 15:04:05.999999"`)
	case column.Date:
		return time.Unix(v.(int64)*86400, 0).UTC().Format(`"2006-01-02"`)
	case column.Float64:
		if f := v.(float64); math.IsNaN(f) {
			return `"NaN"`
		} else if math.IsInf(f, 0) {
			return `"Infinity"`
		} else if f == 0 && math.Signbit(f) {
			return "-0"
		}
		return string(must(json.Marshal(v)))
	default:
		return fmt.Sprint(v)
	}
}

// elementsOf are the elements of an array in the order of their text. No value of the tests has a comma.
func elementsOf(array string) []string {
	if array = strings.Trim(array, "[]"); array == "" {
		return []string{}
	}
	list := strings.Split(array, ",")
	slices.Sort(list)
	return list
}

// keyText is equal for values that group together.
func keyText(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case float64:
		if v == 0 {
			return "0"
		}
		return fmt.Sprint(v)
	case *big.Rat:
		return v.RatString()
	default:
		return fmt.Sprintf("%q", fmt.Sprint(v))
	}
}

func aggregatesOf(t *rapid.T) []Aggregate {
	list := []Aggregate{{Func: Count}}
	for i, f := range rowFields {
		arg := Column(i, f)
		for fn := Count; fn < functions; fn++ {
			a := Aggregate{Func: fn, Arg: arg, Precision: sketch.DefaultPrecision, Accuracy: sketch.DefaultAccuracy}
			switch fn {
			case MinBy, MaxBy:
				by := rapid.IntRange(0, len(rowFields)-1).Draw(t, "by")
				a.By = Column(by, rowFields[by])
			case PercentileApprox:
				a.Fraction = rapid.SampledFrom([]float64{0, 0.25, 0.5, 0.9, 1}).Draw(t, "fraction")
			}
			// Sums of doubles depend on the order.
			if accepted(a) && (f.Type.Kind != column.Float64 || fn < Sum || fn == Min || fn == Max || fn >= CountIf) {
				list = append(list, a)
			}
		}
	}
	return list
}

func TestAggregatesEqualTheOracle(t *testing.T) {
	little, less := newTight(t, 64<<10), newTight(t, 32<<10)
	rapid.Check(t, func(t *rapid.T) {
		aggregates, o := aggregatesOf(t), *drawTight(t, little, less)
		if o.Temp != nil {
			// The state of a single group must fit.
			aggregates = slices.DeleteFunc(aggregates, func(a Aggregate) bool { return a.Func == CollectList || a.Func == PercentileApprox })
		}
		var by []Expr
		var byColumns []int
		for range rapid.IntRange(0, 3).Draw(t, "keys") {
			c := rapid.IntRange(0, len(rowFields)-1).Draw(t, "key")
			byColumns = append(byColumns, c)
			by = append(by, Column(c, rowFields[c]))
		}
		filter := conditionOf(t, 0)
		p := Pipeline{Input: rowFields, GroupBy: by, Aggregates: aggregates, Limit: -1, Filter: []Expr{filter.expr}}
		src := &memorySource{}
		groups := map[string][][]any{}
		failed := false
		for range rapid.IntRange(1, 3).Draw(t, "lanes") {
			var lane []*column.Batch
			for range rapid.IntRange(0, 3).Draw(t, "batches") {
				b, rows := batchOfRows(t, rapid.SampledFrom(batchSizes).Draw(t, "rows"))
				lane = append(lane, b)
				for _, i := range liveRows(b) {
					pass, err := filter.eval(rows[i])
					failed = failed || err != nil
					if pass != true {
						continue
					}
					var key []string
					for _, c := range byColumns {
						key = append(key, keyText(rows[i][c]))
					}
					k := strings.Join(key, "|")
					groups[k] = append(groups[k], rows[i])
				}
			}
			src.lanes = append(src.lanes, lane)
		}
		o.MaxBatchRows = 3
		r := Run(t.Context(), src, must(p.Compile()), o.RunOptions)
		defer r.Close()
		if failed {
			return
		}
		if len(by) == 0 && len(groups) == 0 {
			groups[""] = nil
		}
		seen := 0
		for {
			b, err := r.Next(t.Context())
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for i := range b.N {
				seen++
				var key []string
				for c := range byColumns {
					key = append(key, cellKey(&b.Cols[c], i))
				}
				rows, ok := groups[strings.Join(key, "|")]
				if !ok && len(by) > 0 {
					t.Fatalf("group %v should not exist", key)
				}
				of := rows // that may be the one of which all Any are
				for k, a := range aggregates {
					if a.Func == Any {
						if of = slices.DeleteFunc(slices.Clone(of), func(row []any) bool {
							return !sameCell(&b.Cols[len(by)+k], i, row[a.Arg.(*columnRef).index])
						}); len(of) == 0 && len(rows) > 0 {
							t.Fatalf("%v of group %v is %s, of no row that has the others", a, key, cell(&b.Cols[len(by)+k], i))
						}
						continue
					}
					var values []any
					for _, row := range rows {
						switch {
						case a.Arg == nil:
							values = append(values, int64(1))
						case a.By != nil:
							values = append(values, pairOf{row[a.Arg.(*columnRef).index], row[a.By.(*columnRef).index]})
						default:
							values = append(values, row[a.Arg.(*columnRef).index])
						}
					}
					v := &b.Cols[len(by)+k]
					want := naive(a, values)
					if elements, ok := want.([]string); ok {
						if got := elementsOf(cell(v, i)); !slices.Equal(got, elements) {
							t.Fatalf("%v of group %v is %s, want %v", a, key, cell(v, i), want)
						}
						continue
					}
					if !sameCell(v, i, want) {
						t.Fatalf("%v of group %v is %s, want %v", a, key, cell(v, i), want)
					}
				}
			}
		}
		if seen != len(groups) {
			t.Fatalf("got %d groups, want %d", seen, len(groups))
		}
	})
}

// cellKey is keyText of an output cell.
func cellKey(v *column.Vector, i int) string {
	switch {
	case v.IsNull(i):
		return "NULL"
	case v.Type.Kind == column.Float64:
		return keyText(v.Float[i])
	case v.Type.Kind == column.Decimal:
		return keyText(boxed(cell(v, i), column.Decimal))
	default:
		return keyText(cell(v, i))
	}
}

// What is merged of parts, in lanes and groups, is what there is of all rows.
func TestPartialResultsMerge(t *testing.T) {
	decimal := column.Type{Kind: column.Decimal, Precision: 65, Scale: 2}
	average := column.Type{Kind: column.Decimal, Precision: 65, Scale: 6}
	fields := []column.Field{
		{Name: "k", Type: column.Type{Kind: column.Int64}, Nullable: true}, {Name: "n", Type: column.Type{Kind: column.Int64}}, {Name: "s", Type: decimal, Nullable: true}, {Name: "m", Type: column.Type{Kind: column.Text}, Nullable: true},
	}
	wide := strings.Repeat("9", 63) + ".99"
	parts := func(keys, counts []int64, sums, most []string) *column.Batch {
		b := &column.Batch{N: len(keys)}
		b.Reset(fields)
		for i := range keys {
			if keys[i] < 0 {
				b.Cols[0].AppendNull()
			} else {
				b.Cols[0].AppendInt(keys[i])
			}
			b.Cols[1].AppendInt(counts[i])
			for c, v := range []string{sums[i], most[i]} {
				if v == "" {
					b.Cols[2+c].AppendNull()
				} else {
					b.Cols[2+c].AppendBytes([]byte(v))
				}
			}
		}
		b.N = len(keys)
		return b
	}
	src := &memorySource{lanes: [][]*column.Batch{
		{parts([]int64{1, -1, 2}, []int64{3, 2, 0}, []string{"1.50", wide, ""}, []string{"b", "x", ""}), parts([]int64{1}, []int64{1}, []string{"-0.25"}, []string{"a"})},
		{parts([]int64{2, 1, -1}, []int64{0, 2, 1}, []string{"", "10.00", wide}, []string{"", "c", "y"})},
	}}
	of := func(i int) Expr { return Column(i, fields[i]) }
	aggregates := []Aggregate{
		{Func: Count, Arg: of(1), Merge: true}, {Func: Sum, Arg: of(2), Merge: true}, {Func: Avg, Arg: of(2), By: of(1), Merge: true, As: average}, {Func: Min, Arg: of(3), Merge: true}, {Func: Max, Arg: of(3), Merge: true},
	}
	got, err := run(t, src, Pipeline{Input: fields, GroupBy: []Expr{of(0)}, Aggregates: aggregates, Limit: -1}, RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	twice := "1" + strings.Repeat("9", 63) + ".98"
	third := strings.Repeat("6", 63) + ".660000"
	want := []string{"1|6|11.25|1.875000|a|c", "2|0|NULL|NULL|NULL|NULL", "NULL|3|" + twice + "|" + third + "|x|y"}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got, err := run(t, &memorySource{lanes: [][]*column.Batch{{}}}, Pipeline{Input: fields, Aggregates: aggregates, Limit: -1}, RunOptions{}); err != nil || !slices.Equal(got, []string{"0|NULL|NULL|NULL|NULL"}) {
		t.Errorf("of nothing: %q, %v", got, err)
	}
	for _, a := range []Aggregate{{Func: Sum, Arg: of(1), Merge: true}, {Func: VarPop, Arg: of(2), Merge: true}, {Func: Avg, Arg: of(2), Merge: true, As: average}, {Func: Count, Merge: true}} {
		if _, err := a.Result(); err == nil {
			t.Errorf("%v is taken", a.Func)
		}
	}
}

func TestSumsAreExactBeyond64Bits(t *testing.T) {
	v := ints(math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MinInt64)
	src := &memorySource{lanes: [][]*column.Batch{{batchOf(v)}, {batchOf(ints(math.MinInt64, math.MinInt64, math.MinInt64))}}}
	p := Pipeline{Input: []column.Field{int64Field}, Limit: -1, Aggregates: []Aggregate{{Func: Sum, Arg: number}, {Func: Avg, Arg: number}}}
	rows, err := run(t, src, p, RunOptions{})
	if want := []string{"-9223372036854775811|-1317624576693539401.5714"}; err != nil || !slices.Equal(rows, want) {
		t.Fatalf("got %v, %v, want %v", rows, err, want)
	}
}

func TestDecimalSumsBeyond18Digits(t *testing.T) {
	typ := column.Type{Kind: column.Decimal, Precision: 40, Scale: 3}
	v := column.Vector{Type: typ}
	for _, d := range []string{"1234567890123456789012345678901234567.125", "-0.125", "5.000"} {
		v.AppendBytes([]byte(d))
	}
	f := column.Field{Name: "d", Type: typ}
	src := &memorySource{lanes: [][]*column.Batch{{batchOf(v)}, {batchOf(v)}}}
	p := Pipeline{Input: []column.Field{f}, Limit: -1, Aggregates: []Aggregate{{Func: Sum, Arg: Column(0, f)}, {Func: Max, Arg: Column(0, f)}}}
	rows, err := run(t, src, p, RunOptions{})
	want := []string{"2469135780246913578024691357802469144.000|1234567890123456789012345678901234567.125"}
	if err != nil || !slices.Equal(rows, want) {
		t.Fatalf("got %v, %v, want %v", rows, err, want)
	}
}

func TestAveragesRoundHalvesAwayFromZero(t *testing.T) {
	for want, xs := range map[string][]int64{
		"0.3333": {0, 0, 1}, "0.6667": {1, 1, 0}, "-0.6667": {-1, -1, 0}, "0.0001": {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
	} {
		if want == "0.0001" { // 1/20000 is exactly half of the last digit
			xs = make([]int64, 20000)
			xs[0] = 1
		}
		src := &memorySource{lanes: [][]*column.Batch{{batchOf(ints(xs...))}}}
		p := Pipeline{Input: []column.Field{int64Field}, Limit: -1, Aggregates: []Aggregate{{Func: Avg, Arg: number}}}
		if rows, err := run(t, src, p, RunOptions{}); err != nil || !slices.Equal(rows, []string{want}) {
			t.Errorf("got %v, %v, want %s", rows, err, want)
		}
	}
}

func TestGroupsOfColumnsDoNotRunTogether(t *testing.T) {
	src := &memorySource{lanes: [][]*column.Batch{{batchOf(texts("a", "ab", "", "abc"), texts("bc", "c", "abc", ""))}}}
	p := Pipeline{Input: []column.Field{textField, textField}, Limit: -1, GroupBy: []Expr{Column(0, textField), Column(1, textField)}, Aggregates: []Aggregate{{Func: Count}}}
	rows, err := run(t, src, p, RunOptions{})
	if err != nil || len(rows) != 4 {
		t.Fatalf("got %v, %v", rows, err)
	}
}

func TestSumsOfFloats(t *testing.T) {
	f := column.Field{Name: "f", Type: column.Type{Kind: column.Float64}, Nullable: true}
	x := Column(0, f)
	whole, holes := column.Vector{Type: f.Type}, column.Vector{Type: f.Type}
	for i := range 100 {
		whole.AppendFloat(float64(i) / 4)
		if i%2 == 0 {
			holes.AppendNull()
		} else {
			holes.AppendFloat(1)
		}
	}
	filtered := batchOf(whole)
	filtered.Sel = []int32{4, 8}
	src := &memorySource{lanes: [][]*column.Batch{{batchOf(whole), filtered}, {batchOf(holes)}}}
	p := Pipeline{Input: []column.Field{f}, Limit: -1, Aggregates: []Aggregate{{Func: Sum, Arg: x}, {Func: Avg, Arg: x}, {Func: Count, Arg: x}}}
	rows, err := run(t, src, p, RunOptions{})
	if want := []string{fmt.Sprintf("%v|%v|152", 1290.5, 1290.5/152)}; err != nil || !slices.Equal(rows, want) {
		t.Fatalf("got %v, %v, want %v", rows, err, want)
	}
	p.GroupBy = []Expr{IsNull(x)}
	if rows, err = run(t, src, p, RunOptions{}); err != nil || !slices.Equal(rows, []string{fmt.Sprintf("0|1290.5|%v|152", 1290.5/152), "1|NULL|NULL|0"}) {
		t.Fatalf("grouped: got %v, %v", rows, err)
	}
}

// TestSumsEqualBigNumbers: all forms of selection and NULLs, numbers of all sizes.
func TestSumsEqualBigNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := ints(rapid.SliceOfN(rapid.Int64(), 1, 200).Draw(t, "numbers")...)
		n := v.Len()
		if rapid.Bool().Draw(t, "NULLs") {
			from, step := rapid.IntRange(0, n-1).Draw(t, "first NULL"), rapid.IntRange(1, 70).Draw(t, "step")
			for i := from; i < n; i += step {
				v.SetNull(i, n)
			}
		}
		var sel []int32
		if rapid.Bool().Draw(t, "selection") {
			sel = []int32{}
			for i := 0; i < n; i += 3 {
				sel = append(sel, int32(i))
			}
		}
		b := batchOf(v)
		b.Sel = sel
		want, count := new(big.Int), int64(0)
		for _, i := range liveRows(b) {
			if !v.IsNull(int(i)) {
				want.Add(want, big.NewInt(v.Int[i]))
				count++
			}
		}
		s := &exactSum{arg: v.Type, out: column.Type{Kind: column.Decimal}}
		s.grow(1)
		s.add(&v, nil, n, sel, nil)
		if got := s.sums[0].big(new(big.Int)); got.Cmp(want) != 0 || s.counts[0] != count {
			t.Fatalf("got %v of %d, want %v of %d", got, s.counts[0], want, count)
		}
	})
}

// TestSpreadOfFloats: within rounding of the definition, however the rows are spread over lanes.
func TestSpreadOfFloats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := column.Field{Name: "f", Type: column.Type{Kind: column.Float64}}
		src := &memorySource{}
		var all []float64
		for range rapid.IntRange(1, 4).Draw(t, "lanes") {
			v := column.Vector{Type: f.Type}
			for _, x := range rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), 0, 20).Draw(t, "values") {
				v.AppendFloat(x)
				all = append(all, x)
			}
			src.lanes = append(src.lanes, []*column.Batch{batchOf(v)})
		}
		var aggregates []Aggregate
		for fn := VarPop; fn <= StdDevSamp; fn++ {
			aggregates = append(aggregates, Aggregate{Func: fn, Arg: Column(0, f)})
		}
		r := Run(t.Context(), src, must((&Pipeline{Input: []column.Field{f}, Limit: -1, Aggregates: aggregates}).Compile()), RunOptions{})
		defer r.Close()
		b := must(r.Next(t.Context()))
		mean, squares := 0.0, 0.0
		for _, x := range all {
			mean += x / float64(len(all))
		}
		for _, x := range all {
			squares += (x - mean) * (x - mean)
		}
		for i, a := range aggregates {
			n := len(all)
			if spreadOf(a.Func).sample {
				n--
			}
			if n <= 0 {
				if !b.Cols[i].IsNull(0) {
					t.Fatalf("%v of %v is not NULL", a, all)
				}
				continue
			}
			want := squares / float64(n)
			if spreadOf(a.Func).root {
				want = math.Sqrt(want)
			}
			if got := b.Cols[i].Float[0]; math.Abs(got-want) > 1e-9*(1+want) {
				t.Fatalf("%v of %v is %v, want %v", a, all, got, want)
			}
		}
	})
}
