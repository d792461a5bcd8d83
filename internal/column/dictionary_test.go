package column

import (
	"testing"
)

// TestWindowsKeepCodes: with views and without, and with NULLs at the same places.
func TestWindowsKeepCodes(t *testing.T) {
	v := Vector{Type: Type{Kind: Text}, Data: []byte("abbccc"), Dict: &Dictionary{Beg: []uint32{0, 1, 3}, End: []uint32{1, 3, 6}}}
	for i := range 200 {
		v.Codes = append(v.Codes, uint16(i%3))
	}
	v.SetNull(130, 200)
	for range 2 { // the second time with views
		w := v.Window(128, 10)
		if w.Len() != 10 || w.Coded() != v.Coded() || !w.IsNull(2) || w.NullCount(10) != 1 {
			t.Fatalf("a window of %d rows, coded %t, with %d NULLs", w.Len(), w.Coded(), w.NullCount(10))
		}
		if got := string(w.Decoded(0)); got != "ccc" {
			t.Errorf("row 128 is %q", got)
		}
		w.Expand()
		if got := string(w.View(1)); got != "a" {
			t.Errorf("row 129 is %q", got)
		}
		v.Expand()
		if v.Len() != 200 || v.Coded() {
			t.Fatalf("%d views, coded %t", v.Len(), v.Coded())
		}
	}
}
