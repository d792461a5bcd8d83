package convert

import (
	"math"
	"strconv"
	"strings"
	"testing"
)

func TestFloat64(t *testing.T) {
	for _, c := range []struct {
		text  string
		want  float64
		fault Fault
	}{
		{"1.5", 1.5, OK}, {" -2e3 ", -2000, OK}, {".5", .5, OK}, {"5.", 5, OK}, {"1e-400", 0, OK}, {"0.1", 0.1, OK}, {"1.7976931348623157e308", math.MaxFloat64, OK},
		{"1E400", 0, Overflow}, {"-1E400", 0, Overflow}, {"NaN", 0, Syntax}, {"inf", 0, Syntax}, {"Infinity", 0, Syntax}, {"0x1p4", 0, Syntax}, {"1_0", 0, Syntax},
		{"", 0, Syntax}, {".", 0, Syntax}, {"1e", 0, Syntax}, {"1,5", 0, Syntax},
	} {
		if got, fault := Float64([]byte(c.text)); got != c.want || fault != c.fault {
			t.Errorf("%q: got %v, %v; want %v, %v", c.text, got, fault, c.want, c.fault)
		}
	}
	if _, fault := Float32([]byte("1e39")); fault != Overflow {
		t.Error("1e39 is no float32")
	}
	if f, fault := Float32([]byte("1.1")); f != 1.1 || fault != OK {
		t.Error(f, fault)
	}
}

func checkFloat(t *testing.T, text string) {
	t.Helper()
	got, fault := Float64([]byte(text))
	if fault == Overflow {
		if f, err := strconv.ParseFloat(strings.TrimFunc(text, func(r rune) bool { return r <= ' ' }), 64); err == nil || !math.IsInf(f, 0) {
			t.Fatalf("%q is said to overflow", text)
		}
	}
	if fault != OK {
		return
	}
	if math.IsInf(got, 0) || math.IsNaN(got) {
		t.Fatalf("%q became %v", text, got)
	}
	if again, fault := Float64(strconv.AppendFloat(nil, got, 'g', -1, 64)); fault != OK || again != got {
		t.Fatalf("%v became %v, %v", got, again, fault)
	}
	// Whatever is a number as DOUBLE is one as DECIMAL.
	if _, fault := AppendDecimal(nil, []byte(text), MaxPrecision, 0); fault == Syntax {
		t.Fatalf("%q is a DOUBLE and no DECIMAL", text)
	}
}

func TestBool(t *testing.T) {
	for text, want := range map[string]bool{"true": true, "T": true, " Yes ": true, "y": true, "1": true, "FALSE": false, "f": false, "no": false, "N": false, "0": false} {
		if got, fault := Bool([]byte(text)); got != want || fault != OK {
			t.Errorf("%q: %v, %v", text, got, fault)
		}
	}
	for _, text := range []string{"", "on", "2", "-1", "truex", "tru", "01", "nul\x00"} {
		if got, fault := Bool([]byte(text)); fault != Syntax {
			t.Errorf("%q became %v", text, got)
		}
	}
}
