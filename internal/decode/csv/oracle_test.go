package csv

import (
	"bytes"
	stdcsv "encoding/csv"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// oracle cuts a record with encoding/csv. bare: it was refused only for a quote in the middle of a field, which is a character to us.
func oracle(record []byte, o Options) (fields []string, ok, bare bool) {
	if !utf8.Valid(record) {
		return nil, false, false
	}
	r := stdcsv.NewReader(bytes.NewReader(record))
	r.Comma = rune(o.Delimiter[0])
	if o.Comment != "" {
		r.Comment = rune(o.Comment[0])
	}
	fields, err := r.Read()
	if err != nil {
		return nil, false, errors.Is(err, stdcsv.ErrBareQuote)
	}
	if _, err := r.Read(); !errors.Is(err, io.EOF) {
		// Whatever follows is a second row, and bad.
		return nil, false, false
	}
	return fields, true, false
}

// same compares the splitter with the oracle, which makes \n of every \r\n.
func same(t *testing.T, record []byte, o Options) (valid bool) {
	t.Helper()
	d, err := o.dialect()
	if err != nil {
		t.Fatal(err)
	}
	s := splitter{dialect: d}
	want, ok, bare := oracle(record, o)
	if got := s.split(record, nil); got != ok && !bare {
		t.Fatalf("%q: encoding/csv says %v, split says %v (%v)", record, ok, got, &s.err)
	}
	if !ok {
		return false
	}
	var got []string
	for _, f := range s.spans {
		got = append(got, strings.ReplaceAll(string(s.appendText(nil, record[f.beg:f.end])), "\r\n", "\n"))
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%q: got %q, want %q", record, got, want)
	}
	return true
}

// dialects are those that encoding/csv can do: its escape is the quote.
func dialects() []Options {
	rfc := Options{Delimiter: ",", Quote: `"`, Escape: `"`}
	tabs, comments := rfc, rfc
	tabs.Delimiter, comments.Delimiter, comments.Comment = "\t", ";", "#"
	return []Options{rfc, tabs, comments}
}

func TestRandomRecordsGiveWhatEncodingCSVGives(t *testing.T) {
	rounds := 40_000
	if os.Getenv("CI") == "true" {
		rounds = 400_000
	}
	parts := []string{",", ";", "\t", `"`, `""`, "\n", "\r\n", "\r", "#", " ", "a", "field", `"quoted"`, `"a,b"`, "é", "\xff", "\\", `"x""y"`, "1.5", "\"two\nlines\""}
	r := rand.New(rand.NewPCG(1, 2))
	valid := 0
	for range rounds {
		var record []byte
		for range r.IntN(12) {
			record = append(record, parts[r.IntN(len(parts))]...)
		}
		for _, o := range dialects() {
			if same(t, record, o) {
				valid++
			}
		}
	}
	t.Logf("%d of %d valid", valid, 3*rounds)
	if valid < rounds/3 {
		t.Fatalf("only %d of %d records are valid: the test has lost its grip", valid, 3*rounds)
	}
}

func FuzzSplit(f *testing.F) {
	for _, s := range []string{"", "a,b", `"a","b""c"`, "a\r\n", "# c\nx;y", "\"two\nlines\"\n", "a\"b", `"a" b`, "\r", `"\"",\`, "a\n\n\nb"} {
		f.Add([]byte(s))
	}
	spark, err := Defaults().dialect()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, record []byte) {
		for _, o := range dialects() {
			same(t, record, o)
		}
		s := splitter{dialect: spark}
		if s.split(record, nil) {
			for _, f := range s.spans {
				if text := s.appendText(nil, record[f.beg:f.end]); !utf8.Valid(text) {
					t.Fatalf("%q gives %q", record, text)
				}
			}
		}
	})
}
