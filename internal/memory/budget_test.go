package memory

import (
	"sync"
	"testing"
)

func TestWhatIsTakenIsTakenFromAllAbove(t *testing.T) {
	process := New(100)
	a, b := process.Child(80), process.Child(0)
	x, y := a.Account(), b.Account()
	for _, step := range []struct {
		name string
		ok   bool
		want bool
		used [3]int64
	}{
		{"within", x.Set(60), true, [3]int64{60, 60, 0}},
		{"beyond its own", x.Set(81), false, [3]int64{60, 60, 0}},
		{"beyond the process", y.Set(41), false, [3]int64{60, 60, 0}},
		{"the rest", y.Set(40), true, [3]int64{100, 60, 40}},
		{"less", x.Set(10), true, [3]int64{50, 10, 40}},
		{"more again", y.Set(90), true, [3]int64{100, 10, 90}},
	} {
		if step.ok != step.want {
			t.Errorf("%s: granted %t", step.name, step.ok)
		}
	}
	if got := [3]int64{process.Used(), a.Used(), b.Used()}; got != [3]int64{100, 10, 90} {
		t.Errorf("used %v", got)
	}
	x.Force(500)
	if process.Used() != 590 || process.Peak() != 590 || a.Peak() != 500 {
		t.Errorf("forced: used %d, peaks %d and %d", process.Used(), process.Peak(), a.Peak())
	}
	x.Close()
	y.Close()
	if process.Used() != 0 || a.Used() != 0 || b.Used() != 0 {
		t.Errorf("closed: %d, %d, %d are left", process.Used(), a.Used(), b.Used())
	}
	if got := [3]int64{process.Limit(), a.Limit(), b.Limit()}; got != [3]int64{100, 80, 100} {
		t.Errorf("limits %v", got)
	}
}

func TestNoBudgetGrantsEverything(t *testing.T) {
	var b *Budget
	a := b.Account()
	if !a.Set(1<<60) || a.Held() != 0 || b.Used() != 0 || b.Peak() != 0 || b.Limit() != 0 {
		t.Error("a nil budget counts")
	}
	a.Force(1)
	a.Close()
	if c := b.Child(10).Account(); c.Set(11) || !c.Set(10) {
		t.Error("a child of none has no limit")
	}
}

func TestManyOwnersNeverExceedTheLimit(t *testing.T) {
	process := New(1000)
	var owners sync.WaitGroup
	for range 8 {
		owners.Go(func() {
			a := process.Child(300).Account()
			defer a.Close()
			for i := range int64(2000) {
				a.Set(i % 400)
			}
		})
	}
	owners.Wait()
	if process.Used() != 0 || process.Peak() > 1000+8*400 { // a refused request counts for a moment
		t.Errorf("used %d, peak %d", process.Used(), process.Peak())
	}
}
