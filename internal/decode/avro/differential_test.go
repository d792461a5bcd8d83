package avro

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Random records of every test schema, and mutations of them, must be good or bad as the library says and show the values that it finds.
func TestAgreesWithTheLibraryOnMutatedRecords(t *testing.T) {
	const records = 500 // of each schema, with 29 mutations each
	good, bad := 0, 0
	for name, text := range testSchemas {
		t.Run(name, func(t *testing.T) {
			s := newSubject(t, text)
			rng := rand.New(rand.NewPCG(1, uint64(len(name))))
			w := writer{rng: rng}
			for range records {
				record := w.value(nil, s.schema.root)
				if !s.check(t, record) {
					_, err := row(t, s.plan, s.schema.Fields(), s.all, record)
					t.Fatalf("a good record is bad: %v: %x", err, record)
				}
				for range 29 {
					if s.check(t, mutate(rng, record)) {
						good++
					} else {
						bad++
					}
				}
			}
		})
	}
	t.Logf("%d mutated records, %d of them good", good+bad, good)
	if good+bad < 100_000 || good < 1000 || bad < 1000 {
		t.Errorf("%d good and %d bad records say too little", good, bad)
	}
}

// schemas generates the text of a type.
type schemas struct {
	t     *rapid.T
	names int
	// records are names that may be referred to.
	records []string
}

func (g *schemas) name(prefix string) string {
	g.names++
	return fmt.Sprintf("%s%d", prefix, g.names)
}

func (g *schemas) scalar() string {
	logical := []string{`{"type":"int","logicalType":"date"}`, `{"type":"int","logicalType":"time-millis"}`, `{"type":"long","logicalType":"time-micros"}`,
		`{"type":"long","logicalType":"timestamp-millis"}`, `{"type":"long","logicalType":"timestamp-micros"}`, `{"type":"long","logicalType":"local-timestamp-micros"}`,
		`{"type":"bytes","logicalType":"decimal","precision":12,"scale":3}`, `{"type":"string","logicalType":"uuid"}`}
	all := append(logical, `"boolean"`, `"int"`, `"long"`, `"float"`, `"double"`, `"string"`, `"bytes"`)
	switch i := rapid.IntRange(0, len(all)+1).Draw(g.t, "scalar"); i {
	case len(all):
		return fmt.Sprintf(`{"type":"fixed","name":"%s","size":%d}`, g.name("F"), rapid.IntRange(0, 20).Draw(g.t, "size"))
	case len(all) + 1:
		return fmt.Sprintf(`{"type":"enum","name":"%s","symbols":["A","B","C"]}`, g.name("E"))
	default:
		return all[i]
	}
}

func (g *schemas) any(depth int) string {
	if depth == 0 {
		return g.scalar()
	}
	switch rapid.IntRange(0, 7).Draw(g.t, "type") {
	case 0:
		return fmt.Sprintf(`{"type":"array","items":%s}`, g.any(depth-1))
	case 1:
		return fmt.Sprintf(`{"type":"map","values":%s}`, g.any(depth-1))
	case 2:
		return g.record(depth - 1)
	case 3:
		if len(g.records) > 0 { // also the record that this is inside of
			return fmt.Sprintf(`["null","%s"]`, rapid.SampledFrom(g.records).Draw(g.t, "reference"))
		}
		return `"null"`
	case 4:
		pair := []string{`"null"`, g.scalar()}
		if rapid.Bool().Draw(g.t, "null last") {
			slices.Reverse(pair)
		}
		return "[" + strings.Join(pair, ",") + "]"
	case 5:
		branches := rapid.Permutation([]string{`"null"`, `"string"`, `"long"`, `"boolean"`, `"double"`, `{"type":"array","items":"int"}`}).Draw(g.t, "branches")
		return "[" + strings.Join(branches[:rapid.IntRange(1, len(branches)).Draw(g.t, "number of branches")], ",") + "]"
	default:
		return g.scalar()
	}
}

func (g *schemas) record(depth int) string {
	name := g.name("R")
	g.records = append(g.records, name)
	var fields []string
	for i := range rapid.IntRange(0, 6).Draw(g.t, "fields") {
		fields = append(fields, fmt.Sprintf(`{"name":"f%d","type":%s}`, i, g.any(depth)))
	}
	return fmt.Sprintf(`{"type":"record","name":"%s","fields":[%s]}`, name, strings.Join(fields, ","))
}

func TestAgreesWithTheLibraryOnGeneratedSchemas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := schemas{t: t}
		text := g.record(3)
		s := newSubject(asTB{TB: nil, t: t}, text)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		w := writer{rng: rng}
		for range 5 {
			record := w.value(nil, s.schema.root)
			if !s.check(asTB{t: t}, record) {
				t.Fatalf("a good record is bad: %x\n%s", record, text)
			}
			for range 5 {
				s.check(asTB{t: t}, mutate(rng, record))
			}
		}
	})
}

// asTB lets rapid's T stand where a testing.TB is wanted.
type asTB struct {
	testing.TB
	t *rapid.T
}

func (a asTB) Helper()                   {}
func (a asTB) Fatal(v ...any)            { a.t.Fatal(v...) }
func (a asTB) Fatalf(f string, v ...any) { a.t.Fatalf(f, v...) }

func FuzzDecode(f *testing.F) {
	names := []string{"every", "envelope", "order", "flat", "list", "optional", "text"}
	rng := rand.New(rand.NewPCG(5, 5))
	for i, name := range names {
		s, err := Parse(testSchemas[name])
		if err != nil {
			f.Fatal(err)
		}
		w := writer{rng: rng}
		f.Add(byte(i), w.value(nil, s.root))
	}
	f.Add(byte(0), []byte{})
	f.Add(byte(4), []byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x02"))
	subjects := make([]*subject, len(names))
	for i, name := range names {
		subjects[i] = newSubject(f, testSchemas[name])
	}
	f.Fuzz(func(t *testing.T, which byte, record []byte) {
		subjects[int(which)%len(subjects)].check(t, record)
	})
}

// FuzzSchema wants no schema to bring Parse down, and every schema that is taken to decode something or say why not.
func FuzzSchema(f *testing.F) {
	for _, text := range testSchemas {
		f.Add(text, []byte("\x02\x04ab"))
	}
	f.Add(`{"type":"record","name":"A","fields":[{"name":"a","type":"A"}]}`, []byte{1})
	f.Add(`{"type":"record","name":"A","fields":[{"name":"a","default":[1],"type":{"type":"array","items":"int"}}]}`, []byte{1, 2})
	f.Fuzz(func(t *testing.T, text string, record []byte) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		wanted := make([]int, len(s.Fields()))
		for i := range wanted {
			wanted[i] = i
		}
		p, err := s.Compile(wanted)
		if err != nil {
			t.Fatalf("own records: %v", err)
		}
		if _, err := row(t, p, s.Fields(), wanted, record); err != nil && err.Error() == "" {
			t.Fatal("an error without text")
		}
	})
}
