package csv

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"millrace/internal/column"
	"millrace/internal/convert"
	"millrace/internal/decode"
)

// TestRecords runs testdata/records/*:
//
//	options delimiter=; quote=' …   the dialect from here on
//	columns                         the columns from here on, a line each: a name and a type
//	row                             a record; \n, \r and \t in it stand for what they do in Go
//	infer                           the columns of a record
func TestRecords(t *testing.T) {
	datadriven.Walk(t, "testdata/records", func(t *testing.T, path string) {
		o := Defaults()
		var fields []Field
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			record := []byte(strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t", `\xff`, "\xff").Replace(strings.TrimSuffix(d.Input, "\n")))
			switch d.Cmd {
			case "options":
				o = Defaults()
				for _, a := range d.CmdArgs {
					value := ""
					if len(a.Vals) > 0 {
						value = strings.NewReplacer("tab", "\t", "comma", ",", "backslash", `\`, "double", `"`).Replace(a.Vals[0])
					}
					switch a.Key {
					case "delimiter":
						o.Delimiter = value
					case "quote":
						o.Quote = value
					case "escape":
						o.Escape = value
					case "comment":
						o.Comment = value
					case "null":
						o.Null = value
					case "header":
						o.Header = true
					case "trim":
						o.TrimLeading, o.TrimTrailing = true, true
					default:
						t.Fatalf("no option %s", a.Key)
					}
				}
				if _, err := NewSchema(nil, o); err != nil {
					return "error: " + err.Error() + "\n"
				}
				return ""
			case "columns":
				fields = nil
				for line := range strings.Lines(d.Input) {
					name, typ, _ := strings.Cut(strings.TrimSpace(line), " ")
					fields = append(fields, Field{Field: fieldOf(t, name, typ)})
				}
				return ""
			case "infer":
				found, err := Infer(record, o)
				if err != nil {
					return "error: " + err.Error() + "\n"
				}
				names := []string{}
				for _, f := range found {
					names = append(names, f.Name)
				}
				return strings.Join(names, " ") + "\n"
			}
			return show(t, fields, o, record)
		})
	})
}

func fieldOf(t *testing.T, name, typ string) column.Field {
	f := column.Field{Name: name, Nullable: true}
	kinds := map[string]column.Kind{"bool": column.Bool, "int": column.Int32, "bigint": column.Int64, "ubigint": column.Uint64, "double": column.Float64, "text": column.Text,
		"bytes": column.Bytes, "json": column.JSON, "date": column.Date, "time": column.Time, "timestamp": column.Timestamp}
	switch typ {
	case "decimal":
		f.Type = column.Type{Kind: column.Decimal, Precision: 6, Scale: 2}
	case "varchar":
		f.Type.Kind, f.Width = column.Text, 3
	default:
		kind, ok := kinds[typ]
		if !ok {
			t.Fatalf("no type %q", typ)
		}
		f.Type.Kind = kind
	}
	return f
}

func show(t *testing.T, fields []Field, o Options, record []byte) string {
	t.Helper()
	s, err := NewSchema(fields, o)
	if err != nil {
		t.Fatal(err)
	}
	var every []int
	for i := range fields {
		every = append(every, i)
	}
	plan, err := s.Compile(every)
	if err != nil {
		t.Fatal(err)
	}
	d, slots := plan.NewDecoder(t.Context()), make([]decode.Slot, len(every))
	if err := d.Locate(record, slots); err != nil {
		return "record error: " + err.Error() + "\n"
	}
	var b strings.Builder
	for i, f := range fields {
		s := slots[i]
		var scratch []byte
		if s.Kind == decode.Lazy {
			if s, scratch, err = d.Settle(record, i, s, nil); err != nil {
				fmt.Fprintf(&b, "error: %v\n", err)
				continue
			}
		}
		switch s.Kind {
		case decode.Null:
			fmt.Fprintf(&b, "%s NULL\n", f.Name)
		case decode.Int:
			fmt.Fprintf(&b, "%s %d\n", f.Name, s.Int)
		case decode.Float:
			fmt.Fprintf(&b, "%s %v\n", f.Name, math.Float64frombits(uint64(s.Int)))
		case decode.View:
			fmt.Fprintf(&b, "%s %s\n", f.Name, convert.Quote(record[s.Beg:s.End]))
		case decode.Made:
			fmt.Fprintf(&b, "%s %s\n", f.Name, convert.Quote(scratch[s.Beg:s.End]))
		}
	}
	return b.String()
}

func TestWantedColumnsAreFoundByPlaceOrName(t *testing.T) {
	fields := []Field{{Field: fieldOf(t, "a", "text")}, {Field: fieldOf(t, "b", "text")}, {Field: fieldOf(t, "c", "text")}}
	for _, header := range []bool{false, true} {
		o, record := Defaults(), "x,y,z"
		if o.Header = header; header {
			record = "C,other,A\nz,y,x"
		}
		s, err := NewSchema(fields, o)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := s.Compile([]int{0, 2})
		if err != nil {
			t.Fatal(err)
		}
		d, slots := plan.NewDecoder(t.Context()), make([]decode.Slot, 2)
		for range 2 { // the second time the header is known
			if err := d.Locate([]byte(record), slots); err != nil {
				t.Fatal(err)
			}
			if a, c := record[slots[0].Beg:slots[0].End], record[slots[1].Beg:slots[1].End]; a != "x" || c != "z" {
				t.Errorf("header %v: %q %q", header, a, c)
			}
		}
	}
}

func TestDecodingDoesNotAllocate(t *testing.T) {
	fields := []Field{{Field: fieldOf(t, "a", "bigint")}, {Field: fieldOf(t, "b", "text")}, {Field: fieldOf(t, "c", "decimal")}, {Field: fieldOf(t, "d", "json")}}
	o := Defaults()
	o.Header = true
	s, err := NewSchema(fields, o)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := s.Compile([]int{0, 1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	record := []byte("a,b,c,d\n" + `17,"with ""quotes""",1.5,"[1,""x""]"`)
	d, slots, scratch := plan.NewDecoder(t.Context()), make([]decode.Slot, 4), make([]byte, 0, 1000)
	each := func() {
		if err := d.Locate(record, slots); err != nil {
			t.Fatal(err)
		}
		scratch = scratch[:0]
		for i, s := range slots {
			if s.Kind == decode.Lazy {
				if _, scratch, err = d.Settle(record, i, s, scratch); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if n := testing.AllocsPerRun(100, each); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
