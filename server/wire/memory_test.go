package wire

import (
	"io"
	"runtime"
	"testing"
)

// A result is as large as it likes, and its reader as slow: the server holds one buffer of it.
func TestLargeResultsTakeLittleMemory(t *testing.T) {
	s := start(t, nil)
	r := login(t, s, 0)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	r.command(comQuery, "endless")
	for range 10 {
		if _, err := io.CopyN(io.Discard, r.nc, 20<<20); err != nil {
			t.Fatal(err)
		}
		if now := heap(); now > before+32<<20 {
			t.Fatalf("heap grew from %d to %d bytes", before, now)
		}
	}
	_ = r.nc.Close()
	if cause := <-s.fake.causes; cause != ErrClientGone {
		t.Error(cause)
	}
}
