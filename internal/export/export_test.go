package export

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"millrace/internal/column"
	"millrace/internal/option"
	"millrace/internal/sqlerr"
)

// sampleFields and sample are one row of each kind, then NULLs, then what is awkward.
var sampleFields = []column.Field{
	{Name: "i", Type: column.Type{Kind: column.Int32}, Width: 8},
	{Name: "u", Type: column.Type{Kind: column.Uint64}},
	{Name: "f", Type: column.Type{Kind: column.Float64}},
	{Name: "r", Type: column.Type{Kind: column.Float64}, Width: 32},
	{Name: "d", Type: column.Type{Kind: column.Decimal, Precision: 10, Scale: 2}},
	{Name: "b", Type: column.Type{Kind: column.Bytes}},
	{Name: "s;t", Type: column.Type{Kind: column.Text}},
	{Name: "j", Type: column.Type{Kind: column.JSON}},
	{Name: "day", Type: column.Type{Kind: column.Date}},
	{Name: "tm", Type: column.Type{Kind: column.Time, Scale: 3}},
	{Name: "at", Type: column.Type{Kind: column.Timestamp, Scale: 6}},
}

func sample() *column.Batch {
	b := new(column.Batch)
	b.Reset(sampleFields)
	add := func(i int64, u uint64, f, r float64, d, bin, s, j string, day, tm, at int64) {
		for k, v := range []any{i, int64(u), f, r, d, bin, s, j, day, tm, at} {
			switch v := v.(type) {
			case int64:
				b.Cols[k].AppendInt(v)
			case float64:
				b.Cols[k].AppendFloat(v)
			case string:
				b.Cols[k].AppendBytes([]byte(v))
			}
		}
		b.N++
	}
	add(-7, 1<<64-1, 1.5, 0.1, "-12.50", "\x00\xff", "plain", `{"a":1}`, 20000, 3661_500_000, 1_700_000_000_123_456)
	for k := range b.Cols {
		b.Cols[k].AppendNull()
	}
	b.N++
	add(0, 0, 1e300, -1e-20, "0.00", "", "", "[1,\n \"x\\n\"]", -1, -3_600_000_000, -1)
	add(1, 1, 1e15, 3e38, "1.00", "a,b", "say \"hi\"; a\\b\nline, two", "null", 0, 838*3600_000_000, 0)
	add(2, 2, 2, 2, "2.00", "left out", "left out", "2", 2, 2, 2)
	b.Sel = []int32{0, 1, 2, 3}
	return b
}

// TestFormats runs the scripts of testdata: write FORMAT, an option=value a line, the file.
func TestFormats(t *testing.T) {
	datadriven.RunTest(t, "testdata/formats", func(t *testing.T, d *datadriven.TestData) string {
		var pairs []option.Pair
		for line := range strings.Lines(d.Input) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			pairs = append(pairs, option.Pair{Name: name, Value: strings.NewReplacer("CR", "\r", "LF", "\n").Replace(value)})
		}
		fields, batch := sampleFields, sample()
		if d.HasArg("columns") {
			var name string
			d.ScanArgs(t, "columns", &name)
			k := slices.IndexFunc(fields, func(f column.Field) bool { return f.Name == name })
			fields, batch.Cols = fields[k:k+1], batch.Cols[k:k+1]
		}
		text, err := write(d.CmdArgs[0].Key, pairs, fields, batch)
		if err != nil {
			return err.Error()
		}
		return strings.NewReplacer("\r", "␍", "\xff", `\xff`, "\x00", `\x00`).Replace(text)
	})
}

func write(format string, pairs []option.Pair, fields []column.Field, batches ...*column.Batch) (string, error) {
	format, err := Format(format)
	if err != nil {
		return "", err
	}
	p, err := NewPlan(format, pairs, "test")
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	w, err := p.Open(&out, fields)
	if err != nil {
		return "", err
	}
	for _, b := range batches {
		if err := w.Write(b); err != nil {
			return "", err
		}
	}
	err = w.Close()
	return out.String(), err
}

// FuzzCSV wants any text to come back from a reader of RFC 4180.
func FuzzCSV(f *testing.F) {
	for _, s := range []string{"", "a", "a,b", "\"", "a\"b", "\n", "a\nb", " x ", "\\", ";", "\t", "NULL", "ü", "\x00", "'"} {
		f.Add(s, "b", byte(','))
	}
	fields := []column.Field{{Name: "x", Type: column.Type{Kind: column.Text}}, {Name: "y", Type: column.Type{Kind: column.Text}}}
	f.Fuzz(func(t *testing.T, x, y string, sep byte) {
		if sep < ' ' && sep != '\t' || sep >= 0x80 || sep == '"' || strings.Contains(x+y, "\r") { // readers of Go make \n of \r\n
			return
		}
		var b column.Batch
		b.Reset(fields)
		b.Cols[0].AppendBytes([]byte(x))
		b.Cols[1].AppendBytes([]byte(y))
		b.N = 1
		text, err := write("csv", []option.Pair{{Name: "sep", Value: string(rune(sep))}}, fields, &b)
		if err != nil {
			t.Fatal(err)
		}
		r := csv.NewReader(strings.NewReader(text))
		r.Comma = rune(sep)
		records, err := r.ReadAll()
		if err != nil || len(records) != 1 || len(records[0]) != 2 || records[0][0] != x || records[0][1] != y {
			t.Errorf("%q gives %q, %v", text, records, err)
		}
	})
}

func TestAFileAppearsWhenItIsWhole(t *testing.T) {
	dir := Dir{t.TempDir()}
	names := func() string {
		entries, err := os.ReadDir(dir.Path)
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, e := range entries {
			list = append(list, e.Name())
		}
		return strings.Join(list, " ")
	}
	create := func(overwrite bool, text string) *File {
		t.Helper()
		f, err := dir.Create("a.csv", overwrite)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		return f
	}
	first, second := create(false, "first"), create(false, "second")
	if got := names(); strings.Count(got, Partial) != 2 || strings.Contains(" "+got, " a.csv") {
		t.Errorf("the folder holds %s", got)
	}
	if err := first.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := second.Commit(); !sqlerr.HasKind(err, sqlerr.FileExists) {
		t.Errorf("a second file of that name: %v", err)
	}
	gone := create(true, "gone")
	if err := gone.Abort(); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir.Path, "a.csv")); string(text) != "first" || err != nil {
		t.Errorf("the file has %q, %v", text, err)
	}
	third := create(true, "third")
	if err := third.Commit(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir.Path, "a.csv")); string(text) != "third" || err != nil || third.Bytes != 5 {
		t.Errorf("the file has %q, %v", text, err)
	}
	if got := names(); got != "a.csv" {
		t.Errorf("the folder holds %s", got)
	}
}

func TestLocalPaths(t *testing.T) {
	base := t.TempDir()
	for path, want := range map[string]string{
		"a": "a", "a/b.csv": "a/b.csv", "a/../b": "b", "./a": "a", filepath.Join(base, "x", "y"): "x/y",
		"": "", ".": "", "..": "", "../a": "", "a/../../b": "", "/etc/passwd": "", base: "", base + "x/y": "", filepath.Join(base, "..", "z"): "",
	} {
		got, err := Dir{base}.Local(path)
		if (err != nil) != (want == "") || got != filepath.FromSlash(want) {
			t.Errorf("%q is %q, %v, want %q", path, got, err, want)
		}
	}
	if _, err := (Dir{}).Local("a"); !sqlerr.HasKind(err, sqlerr.FilesRefused) {
		t.Errorf("without a folder: %v", err)
	}
}

// A failing disk is told with the name that the user gave, not with that of the partial file.
func TestFailuresNameTheFile(t *testing.T) {
	dir := Dir{t.TempDir()}
	f, err := dir.Create("out.csv", false)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.file.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("x")); err == nil || !strings.Contains(err.Error(), "writing file 'out.csv' failed") || strings.Contains(err.Error(), Partial) || !errors.Is(err, fs.ErrClosed) {
		t.Errorf("a write that fails: %v", err)
	}
}

func BenchmarkWrite(b *testing.B) {
	fields := []column.Field{{Name: "id", Type: column.Type{Kind: column.Int64}}, {Name: "name", Type: column.Type{Kind: column.Text}}, {Name: "price", Type: column.Type{Kind: column.Float64}}, {Name: "at", Type: column.Type{Kind: column.Timestamp, Scale: 3}}}
	var rows column.Batch
	rows.Reset(fields)
	for i := range 4096 {
		rows.Cols[0].AppendInt(int64(i) * 1000)
		rows.Cols[1].AppendBytes(fmt.Appendf(nil, "customer %d", i%100))
		rows.Cols[2].AppendFloat(float64(i) / 4)
		rows.Cols[3].AppendInt(1_700_000_000_000_000 + int64(i)*1000)
		rows.N++
	}
	for _, format := range Formats[:3] {
		b.Run(format, func(b *testing.B) {
			p, err := NewPlan(format, nil, "")
			if err != nil {
				b.Fatal(err)
			}
			w, err := p.Open(discard{}, fields)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := w.Write(&rows); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows.N), "ns/row")
		})
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
