package convert

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAppendUTF8ReplacesEachBadSequenceOnce(t *testing.T) {
	// The examples of the Unicode standard, §3.9, tables 3-8 to 3-11, and simple ones. ? stands for U+FFFD.
	for _, c := range []struct{ in, want string }{
		{"plain é 😀", "plain é 😀"},
		{"\xff", "?"}, {"a\xffb", "a?b"}, {"\xff\xfe", "??"},
		{"\xe2\x82", "?"}, {"\xe2\x82a", "?a"}, {"\xe2\x82\xe2\x82\xac", "?€"}, {"\xf0\x9f\x98", "?"}, {"\xc3", "?"},
		{"\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41", "????????A"},
		{"\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41", "????????A"},
		{"\xf4\x91\x92\x93\xff\x41\x80\xbf\x42", "?????A??B"},
		{"\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", "????A"},
		{"", ""},
	} {
		want := strings.ReplaceAll(c.want, "?", "\uFFFD")
		if got := AppendUTF8([]byte("x"), []byte(c.in)); string(got) != "x"+want {
			t.Errorf("%q: got %q, want %q", c.in, got[1:], want)
		}
	}
}

func FuzzAppendUTF8(f *testing.F) {
	for _, s := range []string{"a", "\xff", "\xe2\x82", "\xf0\x9f\x98\x80", "\xed\xa0\x80", "é\xc3"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got := AppendUTF8(nil, b)
		if !utf8.Valid(got) {
			t.Fatalf("%q became %q", b, got)
		}
		if utf8.Valid(b) && !bytes.Equal(got, b) {
			t.Fatalf("%q changed to %q", b, got)
		}
		// The same runs of bad bytes, in each at least one U+FFFD and at most one a byte.
		if run := bytes.ToValidUTF8(b, []byte("\uFFFD")); utf8.RuneCount(run) > utf8.RuneCount(got) || utf8.RuneCount(got) > utf8.RuneCount(b) {
			t.Fatalf("%q became %q", b, got)
		}
	})
}

func TestQuoteShowsValuesOnOneLine(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"abc", "'abc'"}, {"it's", `'it\'s'`}, {"a\nb\x00", `'a\nb\x00'`}, {"\xff", `'\xff'`}, {"é", "'é'"}, {"\u200b", `'\u200b'`},
		{strings.Repeat("x", 65), "'" + strings.Repeat("x", 64) + "…'"}, {strings.Repeat("x", 63) + "é", "'" + strings.Repeat("x", 63) + "…'"},
	} {
		if got := Quote([]byte(c.in)); got != c.want {
			t.Errorf("%q: got %s, want %s", c.in, got, c.want)
		}
	}
}

func TestConversionsAllocateNothing(t *testing.T) {
	buffer := make([]byte, 0, 128)
	number, bad, when := []byte(" 12345678901234567890.5 "), []byte("12x"), []byte("2026-03-01T12:34:56.789+02:00")
	if n := testing.AllocsPerRun(100, func() {
		for _, b := range [][]byte{number, bad, when} {
			Int64(b)
			Uint64(b)
			Float64(b)
			Bool(b)
			Date(b)
			AppendDecimal(buffer, b, 40, 2)
			AppendUTF8(buffer, b)
		}
		Timestamp(when)
		CompareDecimal(number, number)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
