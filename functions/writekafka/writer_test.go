package writekafka

import (
	"testing"

	"millrace/internal/memory"
	"millrace/internal/sqlerr"
)

// A producer makes do with the memory that there is, down to a megabyte; one whose size the call names takes that or nothing.
func TestRowsThatWaitTakeMemory(t *testing.T) {
	for name, test := range map[string]struct {
		there, asked, want int64
		named              bool
	}{
		"enough":             {64 << 20, 32 << 20, 32 << 20, false},
		"less":               {5 << 20, 32 << 20, 4 << 20, false},
		"too little":         {1 << 19, 32 << 20, 0, false},
		"a number":           {64 << 20, 32 << 20, 32 << 20, true},
		"a number too large": {5 << 20, 32 << 20, 0, true},
		"a small one":        {1 << 20, 1 << 16, 1 << 16, true},
	} {
		t.Run(name, func(t *testing.T) {
			budget := memory.New(test.there)
			w := &Writer{plan: &Plan{args: &Args{buffered: test.named}}}
			got, err := w.take(budget.Child(0), test.asked)
			if got != test.want || budget.Used() != test.want || (err != nil) != (test.want == 0) {
				t.Errorf("took %d, %v; used %d", got, err, budget.Used())
			}
			if err != nil && !sqlerr.HasKind(err, sqlerr.ScanMemory) {
				t.Error(err)
			}
			w.held.Close()
			if budget.Used() != 0 {
				t.Errorf("%d not given back", budget.Used())
			}
		})
	}
}
