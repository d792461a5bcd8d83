package json

import (
	stdjson "encoding/json"
	"slices"
	"testing"
)

func TestMembers(t *testing.T) {
	for object, want := range map[string][]string{
		`{}`: nil, ` { } `: nil, `[1]`: nil, `"x"`: nil, ``: nil,
		`{"a":1}`: {"a", "1"}, ` { "a" : [1, {"b":2}] , "b" : "}," } `: {"a", `[1, {"b":2}]`, "b", `"},"`},
		`{"\u0061":null,"a":true,"":{}}`: {`\u0061`, "null", "a", "true", "", "{}"},
	} {
		var got []string
		for key, value := range Members([]byte(object)) {
			got = append(got, string(key), string(value))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q", object, got)
		}
	}
	for range Members([]byte(`{"a":1,"b":2}`)) {
		break
	}
}

func FuzzMembers(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":{"b":[1,"x"]},"c":null}`, `[{"a":1}]`, `{"a`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		n := 0
		for key, value := range Members(text) {
			n++
			if stdjson.Valid(text) && (!stdjson.Valid(value) || !stdjson.Valid([]byte(`"`+string(key)+`"`))) {
				t.Fatalf("%q has %q: %q", text, key, value)
			}
		}
		for range Elements(text) {
			n++
		}
		if n > len(text) {
			t.Fatalf("%q has %d parts", text, n)
		}
	})
}
