package ops

import (
	"testing"

	"millrace/internal/column"

	"pgregory.net/rapid"
)

// TestStatesSurviveEncoding: groups that were written out and read into another accumulator give what they would have given at home.
func TestStatesSurviveEncoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const groups = 3
		for _, a := range aggregatesOf(t) {
			typ := must(a.resultType())
			home, back := a.accumulator(), a.accumulator()
			home.grow(groups)
			back.grow(groups)
			var states []byte
			for range 2 {
				away := a.accumulator()
				away.grow(groups)
				b, _ := batchOfRows(t, rapid.SampledFrom(batchSizes[:3]).Draw(t, "rows"))
				var in [2]*column.Vector
				for i, e := range [2]Expr{a.Arg, a.By} {
					if e != nil {
						in[i] = &b.Cols[e.(*columnRef).index]
					}
				}
				numbers := make([]int32, b.Live())
				for k := range numbers {
					numbers[k] = int32(k % (groups - 1)) // the last one stays empty
				}
				home.add(in[0], in[1], b.N, b.Sel, numbers)
				away.add(in[0], in[1], b.N, b.Sel, numbers)
				for g := range groups {
					states = away.encode(states, g)
				}
			}
			for n := 0; len(states) > 0; n++ {
				var err error
				if states, err = back.decode(n%groups, states); err != nil {
					t.Fatalf("%v: %v", a, err)
				}
			}
			want, got := column.Vector{Type: typ}, column.Vector{Type: typ}
			for g := range groups {
				home.emit(g, &want)
				back.emit(g, &got)
				if cell(&got, g) != cell(&want, g) {
					t.Fatalf("%v of group %d is %s after encoding, want %s", a, g, cell(&got, g), cell(&want, g))
				}
			}
		}
	})
}

// FuzzStates: bytes that are no state are an error, and cost no more memory than they are long.
func FuzzStates(f *testing.F) {
	f.Add(byte(0), []byte{2})
	f.Add(byte(9), []byte{1, 3, 'a', 'b', 'c'})
	f.Add(byte(5), []byte{0xff, 0xff, 0xff, 0xff, 0x0f})
	var all []Aggregate
	for i, c := range rowFields {
		for fn := Count; fn < functions; fn++ {
			if a := (Aggregate{Func: fn, Arg: Column(i, c), By: Column(i, c), Precision: 4, Accuracy: 10}); accepted(a) {
				all = append(all, a)
			}
		}
	}
	f.Fuzz(func(t *testing.T, which byte, state []byte) {
		a := all[int(which)%len(all)]
		acc := a.accumulator()
		acc.grow(1)
		rest, err := acc.decode(0, state)
		if err != nil {
			return
		}
		if len(rest) > len(state) {
			t.Fatalf("%v: %d bytes left of %d", a, len(rest), len(state))
		}
		acc.encode(nil, 0)
	})
}

func accepted(a Aggregate) bool {
	_, err := a.resultType()
	return err == nil
}
