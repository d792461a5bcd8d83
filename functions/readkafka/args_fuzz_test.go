package readkafka

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzOffsets wants what parses to be JSON, to mean the same when written again, and to hold only offsets that a broker can be asked for.
func FuzzOffsets(f *testing.F) {
	for _, s := range []string{
		`{"t":{"0":23,"1":-1}}`, `{"t":{"0":"-2"},"u":{"7":9223372036854775807}}`, `{"t":{}}`, `{}`, `{"t":{"0":1},"t":{"1":1}}`, `{"t":{"0":1e3}}`,
		`{"t":[1]}`, `[`, `{"t":{"0":null}}`, `{"\u0074":{"0":1}} `, `{"t":{"+1":1}}`, "\xff",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		offsets, err := parseOffsets(text)
		if err != nil {
			return
		}
		if !json.Valid([]byte(text)) {
			t.Errorf("%q is not JSON", text)
		}
		written, err := json.Marshal(offsets)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseOffsets(string(written))
		if diff := cmp.Diff(offsets, again); err != nil || diff != "" {
			t.Errorf("%q becomes %q: %v %s", text, written, err, diff)
		}
		for _, p := range partitionsOf(offsets) {
			if p.number < 0 || offsets[p.topic][p.number] < -2 || CheckTopic(p.topic) != nil {
				t.Errorf("%q holds %v", text, p)
			}
		}
	})
}

// FuzzAssign wants what parses to mean the same when written again.
func FuzzAssign(f *testing.F) {
	for _, s := range []string{`{"t":[0,1]}`, `{"t":["7"],"u":[2147483647]}`, `{"t":[]}`, `{"t":[0,0]}`, `{"t":[[0]]}`, `{"t":[1.0]}`, `{"t":[2147483648]}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		assigned, err := parseAssign(text)
		if err != nil {
			return
		}
		written, err := json.Marshal(assigned)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseAssign(string(written))
		if diff := cmp.Diff(assigned, again); err != nil || diff != "" {
			t.Errorf("%q becomes %q: %v %s", text, written, err, diff)
		}
	})
}

// FuzzPattern compares a full match with the longest match of the expression as it was written.
func FuzzPattern(f *testing.F) {
	for _, s := range []string{`orders-.*`, `a|b`, `(?i)A`, `\Qa.b`, `[]a]`, `[^]a]`, `a{2}`, `a{2}?`, `[[:alpha:]]+`, `(?<n>a)`, `^a$`, `a\z`, `x*?`, `\.`, `[a&]`, `\Q[\E`} {
		f.Add(s, "ab.c")
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		full, err := compilePattern(pattern)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: the error has several lines: %v", pattern, err)
			}
			return
		}
		plain, err := regexp.Compile(pattern)
		if err != nil {
			t.Fatalf("%q compiles only with anchors: %v", pattern, err)
		}
		plain.Longest()
		at := plain.FindStringIndex(name)
		if want := at != nil && at[0] == 0 && at[1] == len(name); full.MatchString(name) != want {
			t.Errorf("%q matches the whole of %q: %v, want %v", pattern, name, !want, want)
		}
	})
}

func TestJavaOnlyConstructsAreNamed(t *testing.T) {
	for pattern, want := range map[string]string{
		`a(?=b)`: "look-ahead", `a(?!b)`: "look-ahead", `(?<=a)b`: "look-behind", `(?<!a)b`: "look-behind", `(?>a)`: "atomic group",
		`a++`: "possessive", `a?+`: "possessive", `a{1,2}+`: "possessive", `(a)\1`: "back-reference", `(?<n>a)\k<n>`: "back-reference",
		`[a&&b]`: "intersection", `[a[b]]`: "class in another", `[^[b]]`: "class in another", `a\Z`: `escape \Z`, `\u0061`: `escape \u`, `\ha`: `escape \h`,
		`\p{IsAlphabetic}`: `class \p{IsAlphabetic}`, `\P{Lower}`: `class \P{Lower}`, `(?x)a b`: "inline flag", `(?iu:a)`: "inline flag",
	} {
		if _, err := compilePattern(pattern); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", pattern, err)
		}
	}
	for _, pattern := range []string{`a+?`, `a{2,}?`, `\+\+`, `[+*]+`, `\Qa++(?=\E`, `[\[&]&`, `(?i)a`, `(?:a)+`, `(?<n>a)`, `\p{L}`, `[[:alpha:]&]`, `a{x}+`, `[]&]`, `\\1`} {
		if _, err := compilePattern(pattern); err != nil {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}
