package jsonschema

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"millrace/internal/column"
	"millrace/internal/convert"
	"millrace/internal/decode"
	"millrace/internal/decode/json"
)

// TestColumns runs testdata/columns/*:
//
//	columns                the columns of a schema
//	reference name=NAME    a schema that the following ones may refer to
//	forget                 forgets the references
//	record                 what the columns of the last schema show of a JSON record
func TestColumns(t *testing.T) {
	datadriven.Walk(t, "testdata/columns", func(t *testing.T, path string) {
		references := map[string]string{}
		var fields []json.Field
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "reference":
				var name string
				d.ScanArgs(t, "name", &name)
				references[name] = d.Input
				return ""
			case "forget":
				clear(references)
				return ""
			case "record":
				return show(t, fields, []byte(strings.TrimSpace(d.Input)))
			}
			var err error
			if fields, err = Parse(d.Input, references); err != nil {
				return "error: " + err.Error() + "\n"
			}
			return describe(fields)
		})
	})
}

func describe(fields []json.Field) string {
	var b strings.Builder
	for _, f := range fields {
		fmt.Fprintf(&b, "%s %s", f.Name, convert.TypeName(f.Field))
		if f.Width > 0 && f.Type.Kind == column.Text {
			fmt.Fprintf(&b, "(%d)", f.Width)
		}
		if f.Fixed {
			b.WriteString(" fixed")
		}
		if f.Unit != json.Seconds {
			b.WriteString(" of " + [...]string{json.Days: "days", json.Millis: "millis", json.Micros: "micros", json.Nanos: "nanos"}[f.Unit])
		}
		if f.KeepNull {
			b.WriteString(" with null")
		}
		if f.Path != nil {
			b.WriteString(", the whole record")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func show(t *testing.T, fields []json.Field, record []byte) string {
	t.Helper()
	var wanted []int
	for i := range fields {
		wanted = append(wanted, i)
	}
	plan, err := json.NewSchema(fields).Compile(wanted)
	if err != nil {
		t.Fatal(err)
	}
	d, slots := plan.NewDecoder(t.Context()), make([]decode.Slot, len(fields))
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
		case decode.Int, decode.Float:
			fmt.Fprintf(&b, "%s %d\n", f.Name, s.Int)
		case decode.View:
			fmt.Fprintf(&b, "%s %s\n", f.Name, convert.Quote(record[s.Beg:s.End]))
		case decode.Made:
			fmt.Fprintf(&b, "%s %s\n", f.Name, convert.Quote(scratch[s.Beg:s.End]))
		}
	}
	return b.String()
}

func TestSchemasThatUseTheirPartsManyTimesAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{"x":{"$ref":"#/$defs/d0"}},"$defs":{`)
	for i := range 60 {
		fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	b.WriteString(`"d60":{"type":"string"}}}`)
	if _, err := Parse(b.String(), nil); err == nil || !strings.Contains(err.Error(), "too many parts") {
		t.Error(err)
	}
	deep := strings.Repeat(`{"items":`, 100_000) + "{}" + strings.Repeat("}", 100_000)
	if _, err := Parse(deep, nil); err == nil || !strings.Contains(err.Error(), "nested too deep") {
		t.Errorf("%.200v", err)
	}
}

func FuzzParse(f *testing.F) {
	err := filepath.WalkDir("testdata/columns", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		for script := range strings.SplitSeq(string(text), "\n\n") {
			if _, schema, ok := strings.Cut(script, "columns\n"); ok {
				schema, _, _ = strings.Cut(schema, "\n----")
				f.Add(schema)
			}
		}
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	other := map[string]string{"other.json": `{"$id":"http://example.com/other.json","type":"object","properties":{"a":{"$ref":"#/definitions/b"}},"definitions":{"b":{"type":"integer"}}}`}
	f.Fuzz(func(t *testing.T, text string) {
		fields, err := Parse(text, other)
		if err != nil {
			return
		}
		if len(fields) == 0 {
			t.Fatal("no columns and no error")
		}
		for _, f := range fields {
			if f.Name == "" || f.Type.Kind == column.Invalid || f.Type.Kind == column.Decimal && (f.Type.Precision < 1 || f.Type.Precision > convert.MaxPrecision || f.Type.Scale > f.Type.Precision) {
				t.Fatalf("%+v", f)
			}
		}
	})
}

// A user who gave the text of an Avro schema, or misspelt a type, got one column of JSON and no word about it.
func TestTextsThatAreNoJSONSchema(t *testing.T) {
	for text, want := range map[string]string{
		`{"type":"record","name":"Order","fields":[{"name":"id","type":"long"}]}`: "found an Avro schema",
		`{"type":"struct","fields":[{"field":"id","type":"int64"}]}`:              "found a schema of Kafka Connect",
		`{"id":"BIGINT","name":"STRING"}`:                                         "found an object with 'id'",
		`{"order_id":"BIGINT"}`:                                                   "found an object with 'order_id'",
		`{"type":"object","properties":{"id":{"type":"integr"}}}`:                 "'integr' is not a type of JSON Schema; allowed are null, boolean, integer,",
		`{"type":"object","properties":{"id":{"type":["null","long"]}}}`:          "'long' is not a type",
		`{"type":"object","properties":{"id":{"type":["null","integer"]}}}`:       "",
		`{}`:                   "",
		`{"type":"null"}`:      "",
		`{"title":"anything"}`: "",
	} {
		_, err := Parse(text, nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
