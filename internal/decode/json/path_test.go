package json

import (
	"reflect"
	"strings"
	"testing"
)

func TestParsePath(t *testing.T) {
	for _, c := range []struct{ text, want string }{ // want "" = the text itself
		{"a", ""},
		{"a.b[0]", ""},
		{"a.b[0][12].c", ""},
		{"`a b`.c", ""},
		{"`a``b`", ""},
		{"`a`", "a"},
		{"_x$1.é", ""},
		{"['x']", ""},
		{"['it''s']", ""},
		{`["x"]`, "['x']"},
		{`['"']`, ""},
		{"[0]", ""},
		{"[*]", ""},
		{"a[*].b", ""},
		{"[ 0 ][ 'x' ]", "[0]['x']"},
		{"a['']", ""},
		{"123", ""},
	} {
		p, err := ParsePath(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		want := c.want
		if want == "" {
			want = c.text
		}
		if got := p.String(); got != want {
			t.Errorf("%s became %s", c.text, got)
		}
	}
}

func TestParsePathErrorsShowThePlace(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "path '': a name or '[' is missing at position 1"},
		{".a", "path '.a': a name is missing at position 1"},
		{"a.", "path 'a.': a name is missing at position 3"},
		{"a..b", "path 'a..b': a name is missing at position 3"},
		{"a b", "path 'a b': '.' or '[' is expected at position 2"},
		{"a[", "path 'a[': ']' is missing at position 3"},
		{"a[]", "path 'a[]': an index, '*' or a name in quotes is expected at position 3"},
		{"a[-1]", "path 'a[-1]': an index, '*' or a name in quotes is expected at position 3"},
		{"a[1", "path 'a[1': ']' is missing at position 4"},
		{"a[b]", "path 'a[b]': an index, '*' or a name in quotes is expected at position 3"},
		{"a['b]", "path 'a['b]': the closing quote is missing at position 3"},
		{"`a", "path '`a': the closing quote is missing at position 1"},
		{"a[2147483648]", "path 'a[2147483648]': the index is too large at position 3"},
		{"a\xff", "path 'a\xff': not valid UTF-8 at position 1"},
		{strings.Repeat("[0]", 1001), "path '" + strings.Repeat("[0]", 1001) + "': more than 1000 steps at position 3001"},
	} {
		if _, err := ParsePath(c.text); err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", c.text, err, c.want)
		}
	}
}

func TestParseJSONPath(t *testing.T) {
	name := func(s string) Step { return Step{Name: s} }
	for _, c := range []struct {
		text string
		want Path
	}{
		{"$", nil},
		{"$.a.b[0]", Path{name("a"), name("b"), {Kind: Index}}},
		{"$['a b']", Path{name("a b")}},
		{"$.a b.c-d", Path{name("a b"), name("c-d")}},
		{"$.`a.b`", Path{name("a.b")}},
		{"$[*].x", Path{{Kind: Each}, name("x")}},
	} {
		if p, err := ParseJSONPath(c.text); err != nil || !reflect.DeepEqual(p, c.want) {
			t.Errorf("%s: got %v, %v", c.text, p, err)
		}
	}
	for _, bad := range []string{"", "a", "$a", "$.", "$..a", "$[", "$.a["} {
		if p, err := ParseJSONPath(bad); err == nil {
			t.Errorf("%s became %v", bad, p)
		}
	}
}

func TestExactPathsDoNotFold(t *testing.T) {
	if got := mustPath(t, "a.`b c`[0]['d'][*]").Exact().String(); got != "['a']['b c'][0]['d'][*]" {
		t.Error(got)
	}
}

func FuzzParsePath(f *testing.F) {
	for _, s := range []string{"a", "a.b[0]", "`a b`.c", "['x']", "a[*].b", "$.a", "[\"x\"]", "a[", "``", "['it''s']"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, parse := range []func(string) (Path, error){ParsePath, ParseJSONPath} {
			p, err := parse(text)
			if err != nil {
				if e := err.(*PathError); e.Offset < 0 || e.Offset > len(text) {
					t.Fatalf("offset %d", e.Offset)
				}
				continue
			}
			if len(p) == 0 {
				continue
			}
			again, err := ParsePath(p.String())
			if err != nil || !reflect.DeepEqual(p, again) {
				t.Fatalf("%q became %v, then %v, %v", text, p, again, err)
			}
			Compile([]Path{p})
		}
	})
}
