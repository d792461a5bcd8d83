package json

import (
	"bytes"
	stdjson "encoding/json"
	"math/rand"
	"os"
	"testing"
	"unicode/utf8"
)

// The oracle: encoding/json into a tree of map[string]any, and a walk along the path. It shares nothing with the Extractor.

// parseOracle returns the tree of rec; ok is false when rec is not JSON.
func parseOracle(rec []byte) (tree any, ok bool) {
	if !stdjson.Valid(rec) || !utf8.Valid(rec) {
		return nil, false
	}
	if depthOf(rec) > MaxDepth {
		return nil, false
	}
	d := stdjson.NewDecoder(bytes.NewReader(rec))
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		return nil, false
	}
	return tree, true
}

// depthOf is the depth of a valid record.
func depthOf(rec []byte) (deepest int) {
	depth, inString := 0, false
	for i := 0; i < len(rec); i++ {
		switch c := rec[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

// walkOracle follows a path of exact names and indexes.
func walkOracle(tree any, path Path) (any, bool) {
	for _, s := range path {
		switch s.Kind {
		case Name:
			object, _ := tree.(map[string]any)
			v, ok := object[s.Name]
			if !ok {
				return nil, false
			}
			tree = v
		case Index:
			array, _ := tree.([]any)
			if s.Index >= len(array) {
				return nil, false
			}
			tree = array[s.Index]
		}
	}
	return tree, true
}

// sameValue compares a Value with what the oracle found. Containers are compared as trees.
func sameValue(t *testing.T, rec []byte, v Value, want any, found bool) bool {
	t.Helper()
	if !found {
		return v.Type == Missing
	}
	switch want := want.(type) {
	case nil:
		return v.Type == Null
	case bool:
		return want && v.Type == True || !want && v.Type == False
	case string:
		text, _ := v.Text(rec, nil)
		return v.Type == String && string(text) == want
	case stdjson.Number:
		return v.Type == Number && string(v.Raw(rec)) == want.String()
	}
	if v.Type != Object && v.Type != Array {
		return false
	}
	tree, ok := parseOracle(v.Raw(rec))
	if !ok {
		return false
	}
	got, err1 := stdjson.Marshal(tree)
	expected, err2 := stdjson.Marshal(want)
	return err1 == nil && err2 == nil && bytes.Equal(got, expected)
}

func mustPath(t testing.TB, text string) Path {
	t.Helper()
	parse := ParsePath
	if text != "" && text[0] == '$' {
		parse = ParseJSONPath
	}
	p, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func checkAgainstOracle(t *testing.T, x *Extractor, paths []Path, out []Value, rec []byte) (valid bool) {
	t.Helper()
	tree, valid := parseOracle(rec)
	err := x.Extract(rec, out)
	if valid != (err == nil) {
		t.Fatalf("valid is %v, Extract says %v, record %q", valid, err, rec)
	}
	if !valid {
		return false
	}
	for i, p := range paths {
		want, found := walkOracle(tree, p)
		if !sameValue(t, rec, out[i], want, found) {
			t.Fatalf("%v: want %v (%v), got %+v in %q", p, want, found, out[i], rec)
		}
	}
	return true
}

func TestMutatedRecordsGiveWhatEncodingJSONGives(t *testing.T) {
	rounds := 5
	if os.Getenv("CI") == "true" {
		rounds = 60
	}
	r := rand.New(rand.NewSource(42))
	total, valid := 0, 0
	for _, s := range shapes(1024) {
		var paths []Path
		for _, p := range append(s.paths, "$", "$.items", "$.after", "$.items[1]", "$.a", "$.customer") {
			paths = append(paths, mustPath(t, p))
		}
		x, out := Compile(paths).NewExtractor(), make([]Value, len(paths))
		for range rounds {
			for _, rec := range s.records {
				total++
				if checkAgainstOracle(t, x, paths, out, mutate(r, rec)) {
					valid++
				}
			}
		}
	}
	if valid < total/10 {
		t.Fatalf("only %d of %d mutated records are valid: the test has lost its grip", valid, total)
	}
	t.Logf("%d records, %d valid", total, valid)
}

func FuzzExtract(f *testing.F) {
	for _, c := range correctnessCases() {
		f.Add([]byte(c.record))
	}
	for _, s := range shapes(2) {
		for _, rec := range s.records {
			f.Add(rec)
		}
	}
	var paths []Path
	for _, p := range []string{"$", "$.a", "$.a.a", "$.a[0]", "$.a.b", "$.b", "$[0]", "$[1].a", "$['']"} {
		paths = append(paths, mustPath(f, p))
	}
	x, out := Compile(paths).NewExtractor(), make([]Value, len(paths))
	// The same with folded names and [*], where only the absence of panics and the agreement on validity are checked.
	var folded []Path
	for _, p := range []string{"a", "A.b", "['a']", "[*]", "a[*].b", "[*][*]", "`é`"} {
		folded = append(folded, mustPath(f, p))
	}
	y, loose := Compile(folded).NewExtractor(), make([]Value, len(folded))
	f.Fuzz(func(t *testing.T, rec []byte) {
		valid := checkAgainstOracle(t, x, paths, out, rec)
		if err := y.Extract(rec, loose); valid != (err == nil) {
			t.Fatalf("folded paths: valid is %v, Extract says %v", valid, err)
		}
		text, err := y.ExtractText(rec, loose)
		if clean := bytes.ToValidUTF8(rec, []byte("\uFFFD")); (err == nil) != (stdjson.Valid(clean) && depthOf(clean) <= MaxDepth) {
			t.Fatalf("ExtractText says %v", err)
		}
		if err != nil {
			return
		}
		for i, v := range loose {
			if got, null, _ := y.Text(text, i, v); !null && !utf8.Valid(got) {
				t.Fatalf("%v gives %q", folded[i], got)
			}
			if got, null, _ := y.JSON(text, i, v); !null && !stdjson.Valid(got) {
				t.Fatalf("%v gives JSON %q", folded[i], got)
			}
		}
	})
}
