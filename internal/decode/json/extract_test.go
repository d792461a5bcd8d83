package json

import (
	"strings"
	"testing"
)

type correctnessCase struct{ name, record, path, want string }

func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

// correctnessCases are the cases by which JSON readers were compared (most of them get several wrong). want is error, missing, null, a text in
// quotes for a string, else the text as written.
func correctnessCases() []correctnessCase {
	return []correctnessCase{
		{"2^53+1", `{"a":9007199254740993}`, "$.a", "9007199254740993"},
		{"uint64 max", `{"a":18446744073709551615}`, "$.a", "18446744073709551615"},
		{"int64 min", `{"a":-9223372036854775808}`, "$.a", "-9223372036854775808"},
		{"30 digits", `{"a":123456789012345678901234567890}`, "$.a", "123456789012345678901234567890"},
		{"exponent", `{"a":1e3}`, "$.a", "1e3"},
		{"huge exponent", `{"a":1E400}`, "$.a", "1E400"},
		{"minus zero", `{"a":-0}`, "$.a", "-0"},
		{"trailing zeros stay", `{"a":1.50}`, "$.a", "1.50"},
		{"leading zero", `{"a":01}`, "$.a", "error"},
		{"plus sign", `{"a":+1}`, "$.a", "error"},
		{"no digit after the point", `{"a":1.}`, "$.a", "error"},
		{"NaN", `{"a":NaN}`, "$.a", "error"},
		{"bad elsewhere", `{"a":1,"b":nope}`, "$.a", "error"},
		{"duplicate keys", `{"a":1,"a":2}`, "$.a", "2"},
		{"escaped key", `{"\u0061":1}`, "$.a", "1"},
		{"escaped value", `{"a":"x\n\u00e9\"\\\/"}`, "$.a", "\"x\né\"\\/\""},
		{"surrogate pair", `{"a":"\ud83d\ude00"}`, "$.a", `"😀"`},
		{"lone surrogate", `{"a":"\ud83dx"}`, "$.a", "\"\uFFFDx\""},
		{"lone surrogate, then an escape", `{"a":"\ud83d\u0041"}`, "$.a", "\"\uFFFDA\""},
		{"lone surrogate at the end", `{"a":"\ud83d"}`, "$.a", "\"\uFFFD\""},
		{"escaped NUL", `{"a":"\u0000"}`, "$.a", "\"\x00\""},
		{"invalid UTF-8", "{\"a\":\"\xff\xfe\"}", "$.a", "error"},
		{"invalid UTF-8 elsewhere", "{\"a\":1,\"b\":\"\xff\"}", "$.a", "error"},
		{"raw control character", "{\"a\":\"x\ny\"}", "$.a", "error"},
		{"bad escape", `{"a":"\q"}`, "$.a", "error"},
		{"trailing garbage", `{"a":1}xx`, "$.a", "error"},
		{"two documents", `{"a":1}{"a":2}`, "$.a", "error"},
		{"truncated after", `{"a":1,"b":"c`, "$.a", "error"},
		{"truncated in", `{"a":"b`, "$.a", "error"},
		{"missing comma", `{"a":1 "b":2}`, "$.a", "error"},
		{"trailing comma", `{"a":1,}`, "$.a", "error"},
		{"unquoted key", `{a:1}`, "$.a", "error"},
		{"single quotes", `{'a':1}`, "$.a", "error"},
		{"comment", `{/*c*/"a":1}`, "$.a", "error"},
		{"empty", ``, "$.a", "error"},
		{"only blanks", "  \n", "$.a", "error"},
		{"array at the top", `[{"a":1}]`, "$.a", "missing"},
		{"scalar at the top", `42`, "$.a", "missing"},
		{"scalar at the top, root path", `42`, "$", "42"},
		{"byte order mark", "\xef\xbb\xbf{\"a\":1}", "$.a", "error"},
		{"mixed blanks", " \t\r\n{ \"a\" :\n1 } ", "$.a", "1"},
		{"vertical tab", "{\v\"a\":1}", "$.a", "error"},
		{"missing", `{"b":1}`, "$.a", "missing"},
		{"null", `{"a":null}`, "$.a", "null"},
		{"key with a dot", `{"x.y":1}`, "$['x.y']", "1"},
		{"1000 deep", `{"b":` + nested(999) + `,"a":1}`, "$.a", "1"},
		{"1001 deep", `{"b":` + nested(1000) + `,"a":1}`, "$.a", "error"},
		{"100000 deep", `{"b":` + nested(100000) + `,"a":1}`, "$.a", "error"},
		{"100000 deep on the path", nested(100000), "$[0]", "error"},
		{"mismatched brackets", `{"b":[1},"a":1]`, "$.a", "error"},
		{"nested hides", `{"b":{"a":9},"a":1}`, "$.a", "1"},
		{"in a string", `{"b":"\"a\":9","a":1}`, "$.a", "1"},
		{"empty key", `{"":1,"a":2}`, "$['']", "1"},

		{"later parent resets", `{"a":{"b":1},"a":{"c":2}}`, "$.a.b", "missing"},
		{"later scalar parent resets", `{"a":{"b":1},"a":3}`, "$.a.b", "missing"},
		{"later parent counts", `{"a":{"b":1},"a":{"b":{"c":1},"b":2}}`, "$.a.b", "2"},
		{"later array resets elements", `{"a":[1,2],"a":[3]}`, "$.a[1]", "missing"},
		{"index", `{"a":[1,[2,"x"]]}`, "$.a[1][1]", `"x"`},
		{"index of an object", `{"a":{"0":1}}`, "$.a[0]", "missing"},
		{"name of an array", `[1]`, "$.a", "missing"},
		{"container as written", `{"a":{ "b" : 1.50 }}`, "$.a", `{ "b" : 1.50 }`},
	}
}

func show(rec []byte, v Value, err error) string {
	switch {
	case err != nil:
		return "error"
	case v.Type == Missing:
		return "missing"
	case v.Type == String:
		return `"` + string(v.AppendText(nil, rec)) + `"`
	}
	return string(v.Raw(rec))
}

func TestExtractIsStrictAndExact(t *testing.T) {
	for _, c := range correctnessCases() {
		t.Run(c.name, func(t *testing.T) {
			x, out := Compile([]Path{mustPath(t, c.path)}).NewExtractor(), make([]Value, 1)
			err := x.Extract([]byte(c.record), out)
			if got := show([]byte(c.record), out[0], err); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestErrorsSayWhyAndWhere(t *testing.T) {
	for _, c := range []struct{ record, want string }{
		{`{"a":nope}`, "not valid JSON at byte 5"},
		{`{"a":1`, "not valid JSON at byte 6"},
		{`{"a":1}}`, "not valid JSON at byte 7"},
		{"{\"a\":\"é\xff\"}", "not valid UTF-8 at byte 8"},
		{"\xff", "not valid UTF-8 at byte 0"},
		{nested(1001), "nested deeper than 1000 at byte 1000"},
		{`[{"a":` + nested(1001) + `}]`, "nested deeper than 1000 at byte 1004"},
	} {
		for _, path := range []string{"$.a", "$", "$[0].a", "$[0].a[0]"} {
			x := Compile([]Path{mustPath(t, path)}).NewExtractor()
			if err := x.Extract([]byte(c.record), make([]Value, 1)); err == nil || err.Error() != c.want {
				t.Errorf("%.20q: got %v, want %s", c.record, err, c.want)
			}
		}
	}
}

func TestFoldedNames(t *testing.T) {
	for _, c := range []struct{ name, record, path, want string }{
		{"other case", `{"User_ID":1}`, "user_id", "1"},
		{"upper case in the path", `{"user_id":1}`, "USER_ID", "1"},
		{"exact name does not fold", `{"A":1}`, "['a']", "missing"},
		{"back-ticks fold", `{"A B":1}`, "`a b`", "1"},
		{"two spellings", `{"a":1,"A":2}`, "a", "ambiguous"},
		{"two spellings, exact name", `{"a":1,"A":2}`, "['A']", "2"},
		{"one spelling twice", `{"A":1,"A":2}`, "a", "2"},
		{"one spelling twice, once escaped", `{"A":1,"\u0041":2}`, "a", "2"},
		{"two spellings, both escaped", `{"\u0061":1,"\u0041":2}`, "a", "ambiguous"},
		{"two spellings of a parent", `{"a":{"b":1},"A":{"c":2}}`, "a.b", "ambiguous"},
		{"a later parent ends it", `{"p":{"a":1,"A":2},"p":{"a":3}}`, "p.a", "3"},
		{"three keys", `{"a":1,"A":2,"a":3}`, "a", "ambiguous"},
		{"elsewhere does not matter", `{"b":{"A":1},"a":2}`, "a", "2"},
		{"beyond ASCII", `{"ÄPFEL":1}`, "äpfel", "1"},
		{"escaped, beyond ASCII", `{"\u00c4PFEL":1}`, "äpfel", "1"},
		{"kelvin sign in the record", "{\"\u212a\":1}", "k", "1"},
		{"kelvin sign in the path", `{"k":1}`, "`\u212a`", "1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x, out := Compile([]Path{mustPath(t, c.path)}).NewExtractor(), make([]Value, 1)
			err := x.Extract([]byte(c.record), out)
			got := show([]byte(c.record), out[0], err)
			if out[0].Flags&Ambiguous != 0 {
				got = "ambiguous"
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestEachGathersAnArray(t *testing.T) {
	for _, c := range []struct{ name, record, path, want string }{
		{"all", `{"a":[1, "x",null]}`, "a[*]", `[1,"x",null]`},
		{"field of each", `{"a":[{"b":6.12},{"c":1},{"b":9.240}]}`, "a[*].b", "[6.12,9.240]"},
		{"null is nothing", `{"a":[{"b":null},{"b":1}]}`, "a[*].b", "[1]"},
		{"nothing found", `{"a":[{"c":1}]}`, "a[*].b", "NULL"},
		{"empty", `{"a":[ ]}`, "a[*]", "NULL"},
		{"not an array", `{"a":{"b":1}}`, "a[*]", "NULL"},
		{"missing", `{}`, "a[*]", "NULL"},
		{"twice", `[[1,2],[],[3]]`, "[*][*]", "[1,2,3]"},
		{"twice with names", `{"a":[{"b":[{"c":1},{"c":2}]},{"b":[{"c":3}]},{"b":4}]}`, "a[*].b[*].c", "[1,2,3]"},
		{"index of each", `[[1,2],[3]]`, "[*][1]", "[2]"},
		{"ambiguous within", `[{"b":1,"B":2}]`, "[*].b", "ambiguous"},
		{"ambiguous before", `{"a":[1],"A":[2]}`, "a[*]", "ambiguous"},
		{"last duplicate", `{"a":[1],"a":[2]}`, "a[*]", "[2]"},
		{"strings stay quoted", `{"a":[{"b":"x\"y"}]}`, "a[*].b", `["x\"y"]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			// The same path twice and its prefix: they share a slot.
			path := mustPath(t, c.path)
			x, out := Compile([]Path{mustPath(t, "a"), path, path}).NewExtractor(), make([]Value, 3)
			if err := x.Extract([]byte(c.record), out); err != nil {
				t.Fatal(err)
			}
			for i := 1; i < 3; i++ {
				text, null, ambiguous := x.Text([]byte(c.record), i, out[i])
				got := string(text)
				if ambiguous {
					got = "ambiguous"
				} else if null {
					got = "NULL"
				}
				if got != c.want {
					t.Errorf("got %s, want %s", got, c.want)
				}
			}
		})
	}
}

func TestPathsMayOverlap(t *testing.T) {
	record := `{"x":0,"a":{"B":{"c":[10,{"d":"e"}]}},"\u0061b":1}`
	paths := []string{"$.a", "a.b", "$.a.B", "A.b.c[1]", "$.a.B.c[1].d", "$", "$.a", "ab", "$.ab", "$.a.b"}
	want := []string{`{"B":{"c":[10,{"d":"e"}]}}`, `{"c":[10,{"d":"e"}]}`, `{"c":[10,{"d":"e"}]}`, `{"d":"e"}`, `"e"`, record, `{"B":{"c":[10,{"d":"e"}]}}`, "1", "1", "missing"}
	var compiled []Path
	for _, p := range paths {
		compiled = append(compiled, mustPath(t, p))
	}
	x, out := Compile(compiled).NewExtractor(), make([]Value, len(paths))
	if err := x.Extract([]byte(record), out); err != nil {
		t.Fatal(err)
	}
	for i := range paths {
		if got := show([]byte(record), out[i], nil); got != want[i] {
			t.Errorf("%s: got %s, want %s", paths[i], got, want[i])
		}
	}
}

func TestExtractTextReadsReplacementCharacters(t *testing.T) {
	x, out := Compile([]Path{mustPath(t, "a"), mustPath(t, "`k\uFFFD`")}).NewExtractor(), make([]Value, 2)
	text, err := x.ExtractText([]byte("{\"a\":\"x\xe2\x82\xffy\",\"K\xff\":1}"), out)
	if err != nil {
		t.Fatal(err)
	}
	if got := show(text, out[0], nil); got != "\"x\uFFFD\uFFFDy\"" {
		t.Errorf("a is %q", got)
	}
	if got := show(text, out[1], nil); got != "1" {
		t.Errorf("k is %q", got)
	}
	if _, err := x.ExtractText([]byte("\xff"), out); err == nil {
		t.Error("a stray byte is no JSON")
	}
	rec := []byte(`{"a":1}`)
	if text, err := x.ExtractText(rec, out); err != nil || &text[0] != &rec[0] {
		t.Error("valid text must not be copied")
	}
}

func TestExtractAllocatesNothing(t *testing.T) {
	record := []byte(`{"A":"x\ty","b":[{"c":"d\u00e9"},{"c":2}],"k\u0061":{"x":"é"},"l":[1,2,{"m":[[]]}]}`)
	var paths []Path
	for _, p := range []string{"a", "b[*].c", "ka.x", "b[1]"} {
		paths = append(paths, mustPath(t, p))
	}
	x, out := Compile(paths).NewExtractor(), make([]Value, len(paths))
	if n := testing.AllocsPerRun(100, func() {
		if err := x.Extract(record, out); err != nil {
			t.Fatal(err)
		}
		for i, v := range out {
			x.Text(record, i, v)
		}
		if err := x.Extract(record[:40], out); err == nil {
			t.Fatal("half a record is no record")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
