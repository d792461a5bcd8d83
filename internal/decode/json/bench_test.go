package json

import (
	"fmt"
	"testing"

	"github.com/tidwall/gjson"
)

// BenchmarkExtract finds 1, 3 and 10 fields in records of three shapes, by exact names and by folded ones as value:name has them; gjson does the same with its own validation first, as a hand-written
// consumer would.
func BenchmarkExtract(b *testing.B) {
	for _, s := range shapes(1024) {
		size := 0
		for _, rec := range s.records {
			size += len(rec)
		}
		for _, n := range []int{0, 1, 3, 10} {
			var paths, folded []Path
			var gpaths []string
			for _, p := range s.paths[:n] {
				paths = append(paths, mustPath(b, p))
				folded = append(folded, mustPath(b, p[2:]))
				gpaths = append(gpaths, gjsonPath(p))
			}
			for name, paths := range map[string][]Path{"own": paths, "folded": folded} {
				b.Run(fmt.Sprintf("%s/%d/%s", s.name, n, name), func(b *testing.B) {
					x, out := Compile(paths).NewExtractor(), make([]Value, n)
					b.ReportAllocs()
					b.SetBytes(int64(size / len(s.records)))
					for i := 0; b.Loop(); i++ {
						if err := x.Extract(s.records[i&1023], out); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
			b.Run(fmt.Sprintf("%s/%d/gjson", s.name, n), func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(size / len(s.records)))
				for i := 0; b.Loop(); i++ {
					rec := s.records[i&1023]
					if !gjson.ValidBytes(rec) {
						b.Fatal("not valid")
					}
					gjson.GetManyBytes(rec, gpaths...)
				}
			})
		}
	}
}

// gjsonPath spells a path of the benchmarks as gjson does.
func gjsonPath(p string) string {
	out := make([]byte, 0, len(p))
	for _, c := range []byte(p[2:]) {
		switch c {
		case '[':
			out = append(out, '.')
		case ']':
		default:
			out = append(out, c)
		}
	}
	return string(out)
}
