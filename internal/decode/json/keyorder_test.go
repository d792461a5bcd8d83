package json

import (
	"math/rand"
	"slices"
	"testing"
)

// TestWhatWasLearnedChangesNothing compares an extractor that has learned the order of keys from thousands of records, most alike and some different in
// keys, their spelling, blanks and types, with one that sees its first record.
func TestWhatWasLearnedChangesNothing(t *testing.T) {
	var paths []Path
	for _, p := range []string{"type", "user.name", "['type']", "['a key of more than sixteen bytes']", "qty", "user", "$.n", "tags[0].id"} {
		paths = append(paths, mustPath(t, p))
	}
	plan := Compile(paths)
	used := plan.NewExtractor()
	got, want := make([]Value, len(paths)), make([]Value, len(paths))
	r := rand.New(rand.NewSource(7))
	valid := 0
	for range 20_000 {
		rec := looseRecord(r)
		fresh := plan.NewExtractor()
		gotErr, wantErr := used.Extract(rec, got), fresh.Extract(rec, want)
		if (gotErr == nil) != (wantErr == nil) || used.err != fresh.err && gotErr != nil {
			t.Fatalf("after other records: %v, alone: %v, in %q", gotErr, wantErr, rec)
		}
		if gotErr != nil {
			continue
		}
		if valid++; !slices.Equal(got, want) {
			t.Fatalf("after other records:\n%v\nalone:\n%v\nin %q", got, want, rec)
		}
	}
	if valid < 10_000 {
		t.Fatalf("only %d records are valid: the test has lost its grip", valid)
	}
}

// looseRecord makes a record with the same members in the same order, but for what one in some records has otherwise.
func looseRecord(r *rand.Rand) []byte {
	rare := func() bool { return r.Intn(40) == 0 }
	pick := func(usual string, others ...string) string {
		if rare() {
			return others[r.Intn(len(others))]
		}
		return usual
	}
	blank := func() string { return pick("", " ", "\n\t ", "  ") }
	value := func(usual string) string {
		return pick(usual, "null", "true", "12", "-0.5e3", `"x"`, `"\n"`, `"é"`, "[]", `{"type":1}`, `{"name":"n","NAME":2}`, "nul", "01", `"`)
	}
	var rec []byte
	add := func(texts ...string) {
		for _, s := range texts {
			rec = append(rec, s...)
		}
	}
	add(blank(), "{", blank())
	for i, m := range [][2]string{
		{"type", `"view"`}, {"qty", "7"}, {"other", `"long enough for two words"`}, {"a key of more than sixteen bytes", "false"}, {"user", `{"name":"u","id":3}`}, {"n", "1.25"},
		{"an unwanted key, which is long", "[1,2]"}, {"tags", `[{"id":"t"},{"id":5}]`},
	} {
		if rare() {
			continue
		}
		if i > 0 && len(rec) > 3 {
			add(blank(), pick(",", "", ",,", ";"), blank())
		}
		key := pick(m[0], "type", "TYPE", "Type", "qty", "User", `t\u0079pe`, "n", "")
		add(`"`, key, `"`, blank(), pick(":", "", "::"), blank(), value(m[1]))
	}
	add(blank(), pick("}", "", "]", ",}"), blank())
	if rare() {
		rec = rec[:r.Intn(len(rec)+1)]
	}
	return rec
}
