package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"millrace/internal/column"
	"millrace/streaming/store"
)

func same(a, b store.Value) bool {
	return a == b // doubles are compared by their bits
}

// values draws a column whose values are of one of the shapes that encodings are made for.
func values(t *rapid.T, k column.Kind, n int) *column.Vector {
	v := &column.Vector{Type: column.Type{Kind: k}}
	seed := rapid.Uint64().Draw(t, "seed")
	r := rand.New(rand.NewPCG(seed, 1))
	shape := rapid.IntRange(0, 4).Draw(t, "shape")
	nulls := rapid.SampledFrom([]int{0, 0, 3, 1}).Draw(t, "nulls")
	step := int64(1) << rapid.IntRange(0, 62).Draw(t, "step")
	at := r.Int64() - r.Int64()
	for range n {
		if nulls > 0 && r.IntN(nulls) == 0 {
			v.AppendNull()
			continue
		}
		switch {
		case k.IsView():
			text := fmt.Sprint(r.IntN([]int{1, 3, 500, 1 << 30, 1 << 30}[shape]))
			if k == column.Decimal {
				text = []string{"", "-"}[r.IntN(2)] + text + ".50"
			} else if shape == 4 {
				text = strings.Repeat("\xff\x00", r.IntN(40)) + text
			}
			v.AppendBytes([]byte(text))
		case k == column.Float64:
			x := []float64{1.5, float64(r.IntN(100)) / 100, r.NormFloat64(), math.NaN(), math.Inf(-1)}[r.IntN(shape+1)]
			if shape == 2 && r.IntN(40) > 0 { // decimals, of which some are none
				x = float64(r.IntN(20_000)-10_000) / 1000
			} else if shape == 2 {
				x = []float64{math.Copysign(0, -1), math.NaN(), math.Inf(1), 1.0 / 3, 1e300, 5e-324}[r.IntN(6)]
			}
			v.AppendFloat(x)
		default:
			switch shape {
			case 0:
				at = 7
			case 1:
				at += step
			case 2:
				at += r.Int64N(step)
			case 3:
				at = r.Int64N(step)
			default:
				at = int64(r.Uint64())
			}
			v.AppendInt(at)
		}
	}
	return v
}

var kinds = []column.Kind{column.Bool, column.Int32, column.Int64, column.Uint64, column.Float64, column.Decimal, column.Bytes, column.Text, column.JSON,
	column.Date, column.Time, column.Timestamp}

func TestColumnsSurviveTheirEncoding(t *testing.T) {
	var e Encoder
	var c Column
	var s Scratch
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.SampledFrom(kinds).Draw(t, "kind")
		n := rapid.SampledFrom([]int{1, 2, 63, 64, 65, 1000, 1024, 1025, 5000}).Draw(t, "rows")
		v := values(t, k, n)
		rows := Rows{N: n}
		switch rapid.IntRange(0, 2).Draw(t, "which") {
		case 1:
			rows.From = rapid.IntRange(0, n-1).Draw(t, "from")
			rows.N = n - rows.From
		case 2:
			rows = Rows{Sel: []int32{}}
			for range rapid.IntRange(1, n).Draw(t, "selected") {
				rows.Sel = append(rows.Sel, int32(rapid.IntRange(0, n-1).Draw(t, "row")))
			}
		}
		o := Options{Level: Level(rapid.IntRange(0, 1).Draw(t, "level")), Filter: true}
		blob, info := e.Encode(nil, v, rows, o)
		if err := c.Decode(blob, v.Type, rows.Len(), &s); err != nil {
			t.Fatal(err)
		}
		if c.Vector.Len() != rows.Len() {
			t.Fatalf("%d rows before the views, want %d", c.Vector.Len(), rows.Len())
		}
		c.Vector.Expand()
		if c.Vector.Len() != rows.Len() {
			t.Fatalf("%d rows, want %d", c.Vector.Len(), rows.Len())
		}
		if info.Filter != nil {
			if err := CheckFilter(info.Filter); err != nil {
				t.Fatal(err)
			}
		}
		nulls := int64(0)
		for i := range rows.Len() {
			want, got := store.At(v, rows.at(i)), store.At(&c.Vector, i)
			if !same(want, got) {
				t.Fatalf("row %d is %v, want %v", i, got, want)
			}
			cond := store.Condition{Null: want.IsNull()}
			if !want.IsNull() {
				cond.Ranges = []store.Range{store.Point(want)}
			} else {
				nulls++
			}
			if !cond.May(k, &info.Stats, int64(rows.Len())) {
				t.Fatalf("%v is pruned by %+v", want, info.Stats)
			}
			if info.Filter != nil && !want.IsNull() && !MayContain(info.Filter, Hash(want, k)) {
				t.Fatalf("%v is not in its filter", want)
			}
		}
		if nulls != info.Stats.Nulls {
			t.Fatalf("%d NULLs counted, there are %d", info.Stats.Nulls, nulls)
		}
	})
}

// Small payloads that zstd packs best were written and then refused as corrupt, because their frames do not say how large they are.
func TestPayloadsOfEverySizeSurviveZstd(t *testing.T) {
	var e Encoder
	for n := 1; n < 400; n++ {
		v := &column.Vector{Type: column.Type{Kind: column.Text}}
		for i := range n {
			v.AppendBytes(fmt.Appendf(nil, "%d000000000.50", i))
		}
		for _, level := range []Level{Fast, Dense} {
			blob, _ := e.Encode(nil, v, Rows{N: n}, Options{Level: level})
			var c Column
			if err := c.Decode(blob, v.Type, n, &Scratch{}); err != nil {
				t.Fatalf("%d rows: %v", n, err)
			}
			c.Vector.Expand()
			if got := store.At(&c.Vector, n-1); got != store.At(v, n-1) {
				t.Errorf("%d rows: the last is %v", n, got)
			}
		}
	}
}

func TestEncodingsSuitTheirValues(t *testing.T) {
	const n = 10000
	ints := func(f func(i int) int64) *column.Vector {
		v := &column.Vector{Type: column.Type{Kind: column.Int64}}
		for i := range n {
			v.AppendInt(f(i))
		}
		return v
	}
	doubles := func(f func(i int) float64) *column.Vector {
		v := &column.Vector{Type: column.Type{Kind: column.Float64}}
		for i := range n {
			v.AppendFloat(f(i))
		}
		return v
	}
	texts := func(f func(i int) string) *column.Vector {
		v := &column.Vector{Type: column.Type{Kind: column.Text}}
		for i := range n {
			v.AppendBytes([]byte(f(i)))
		}
		return v
	}
	r := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		name string
		v    *column.Vector
		most float64 // bytes a row
	}{
		{"offsets", ints(func(i int) int64 { return 1e12 + int64(i) }), 0.02},
		{"one partition", ints(func(int) int64 { return 3 }), 0.02},
		{"times 0-15 ms apart", ints(func(i int) int64 { return 1.7e15 + int64(i)*16000 + r.Int64N(16)*1000 }), 2.2},
		{"numbers to 1000", ints(func(int) int64 { return r.Int64N(1000) }), 1.3},
		{"prices", doubles(func(int) float64 { return float64(r.IntN(10_000)) / 100 }), 1.8},
		{"prices, of which some are unknown", doubles(func(i int) float64 {
			if i%100 == 0 {
				return math.NaN()
			}
			return float64(r.IntN(10_000)) / 100
		}), 1.9},
		{"measured values", doubles(func(int) float64 { return r.NormFloat64() }), 8.1},
		{"8 types", texts(func(int) string { return fmt.Sprintf("type-%d", r.IntN(8)) }), 0.41},
		{"distinct ids", texts(func(i int) string { return fmt.Sprintf("order-%08d", i) }), 6},
	} {
		var e Encoder
		blob, _ := e.Encode(nil, c.v, Rows{N: n}, Options{})
		if got := float64(len(blob)) / n; got > c.most {
			t.Errorf("%s take %.3f bytes a row, want at most %.3f", c.name, got, c.most)
		}
	}
}

func TestFiltersLetFewOthersPass(t *testing.T) {
	v := &column.Vector{Type: column.Type{Kind: column.Int64}}
	for i := range 100000 {
		v.AppendInt(int64(i) * 1000003)
	}
	var e Encoder
	_, info := e.Encode(nil, v, Rows{N: v.Len()}, Options{Filter: true})
	passed := 0
	for i := range 100000 {
		if MayContain(info.Filter, Hash(store.Int(int64(i)*1000003+1), column.Int64)) {
			passed++
		}
	}
	if passed > 2500 {
		t.Errorf("%d of 100,000 others pass", passed)
	}
}

func TestEveryFlippedBitIsFound(t *testing.T) {
	v := &column.Vector{Type: column.Type{Kind: column.Text}}
	for i := range 100 {
		v.AppendBytes(fmt.Append(nil, i%10))
	}
	var e Encoder
	blob, _ := e.Encode(nil, v, Rows{N: 100}, Options{})
	for i := range blob {
		bad := slices.Clone(blob)
		bad[i] ^= 1 << (i % 8)
		if err := new(Column).Decode(bad, v.Type, 100, &Scratch{}); !errors.Is(err, ErrCorrupt) {
			t.Errorf("byte %d: %v", i, err)
		}
		if err := new(Column).Decode(blob[:i], v.Type, 100, &Scratch{}); !errors.Is(err, ErrCorrupt) {
			t.Errorf("cut at %d: %v", i, err)
		}
	}
	if err := new(Column).Decode(blob, v.Type, 99, &Scratch{}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("another number of rows: %v", err)
	}
	if err := new(Column).Decode(blob, column.Type{Kind: column.Int64}, 100, &Scratch{}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("another kind: %v", err)
	}
}

// FuzzDecode gives blobs with a right checksum to the decoder, which must refuse or give vectors that can be read.
func FuzzDecode(f *testing.F) {
	var e Encoder
	for _, k := range kinds {
		v := &column.Vector{Type: column.Type{Kind: k}}
		for i := range 70 {
			switch {
			case i%9 == 4:
				v.AppendNull()
			case k.IsView():
				v.AppendBytes(fmt.Append(nil, i%(5+int(k)*5)))
			case k == column.Float64:
				v.AppendFloat(float64(i))
			default:
				v.AppendInt(int64(i * i))
			}
		}
		blob, _ := e.Encode(nil, v, Rows{N: 70}, Options{Level: Level(k % 2)})
		f.Add(byte(k), blob[:len(blob)-sumBytes])
	}
	f.Fuzz(func(t *testing.T, kind byte, body []byte) {
		if len(body) >= headerBytes && binary.LittleEndian.Uint32(body[8:]) > 1<<20 {
			return // what a blob may hold is bounded by who wrote it
		}
		blob := binary.LittleEndian.AppendUint32(slices.Clone(body), crc32.Checksum(body, castagnoli))
		typ := column.Type{Kind: column.Kind(kind%12) + 1}
		var c Column
		if err := c.Decode(blob, typ, 70, &Scratch{}); err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("%v is not ErrCorrupt", err)
			}
			return
		}
		c.Vector.Expand()
		for i := range 70 {
			store.At(&c.Vector, i)
		}
	})
}
