package ops

import (
	"math/rand/v2"
	"testing"

	"millrace/internal/column"
)

// TestTextsHaveOneGroupHoweverTheyAreRead finds texts of up to ten bytes, with zeros among them, in the midst of a buffer, at its end, and by themselves.
func TestTextsHaveOneGroupHoweverTheyAreRead(t *testing.T) {
	table := newKeys([]column.Type{{Kind: column.Text}})
	want := map[string]int32{}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		text := make([]byte, rng.IntN(11))
		for i := range text {
			text[i] = "\x00ab\xff"[rng.IntN(4)]
		}
		g, known := want[string(text)]
		if !known {
			g = int32(len(want))
			want[string(text)] = g
		}
		before := rng.IntN(3)
		data := append(make([]byte, before), text...)
		data = append(data, "more bytes"[:rng.IntN(11)]...)
		if got := table.findView(data, before, before+len(text)); got != g {
			t.Fatalf("%q in %q is of group %d, not %d", text, data, got, g)
		}
		if got := table.find(text); got != g {
			t.Fatalf("%q is of group %d, not %d", text, got, g)
		}
		if got := string(table.key(g)); got != string(text) {
			t.Fatalf("group %d is %q, not %q", g, got, text)
		}
	}
}
