package proto

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	googleproto "google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	"millrace/internal/column"
	"millrace/internal/decode"
)

// TestScripts runs testdata/*: a command with a schema, and what comes of it.
//
//	columns message=NAME     the columns of a message of the proto text
//	reference name=FILE      a file that the following texts import
//	forget                   forgets the references
//	index path=(1,0,…)       the message at an index
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/schema", func(t *testing.T, path string) {
		references := map[string]string{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "reference":
				var name string
				d.ScanArgs(t, "name", &name)
				references[name] = d.Input
				return "ok\n"
			case "forget":
				clear(references)
				return "ok\n"
			}
			files, err := ParseText(d.Input, references)
			if err != nil {
				return "error: " + err.Error() + "\n"
			}
			if d.Cmd == "index" {
				var index []int
				for _, a := range d.CmdArgs {
					if a.Key == "path" {
						for i := range a.Vals {
							var n int
							a.Scan(t, i, &n)
							index = append(index, n)
						}
					}
				}
				m, err := files.MessageByIndex(index)
				if err != nil {
					return "error: " + err.Error() + "\n"
				}
				return m.Name() + "\n"
			}
			var name string
			d.MaybeScanArgs(t, "message", &name)
			m, err := files.Message(name)
			if err != nil {
				return "error: " + err.Error() + "\n"
			}
			return describe(m)
		})
	})
}

func describe(m *Message) string {
	var b strings.Builder
	for _, f := range m.Fields() {
		b.WriteString(f.Name + " " + f.Type.String())
		if f.Width != 0 {
			b.WriteString(" of " + map[uint32]string{32: "32 bits"}[f.Width])
		}
		b.WriteString("\n")
	}
	return b.String()
}

// descriptorSet is text as protoc writes it, with the files that it imports or without.
func descriptorSet(t *testing.T, text string, imports bool) []byte {
	t.Helper()
	files, err := ParseText(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	set := &descriptorpb.FileDescriptorSet{}
	if imports {
		collect(files.roots[0], set, map[string]bool{})
	} else {
		set.File = append(set.File, protodesc.ToFileDescriptorProto(files.roots[0]))
	}
	data, err := googleproto.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestDescriptorSetsGiveTheColumnsOfTheText(t *testing.T) {
	for _, text := range []string{proto3Text, proto2Text, editionText} {
		name := map[string]string{proto3Text: "All", proto2Text: "Old", editionText: "New"}[text]
		want := describe(mustMessage(t, text, name))
		for _, imports := range []bool{true, false} {
			files, err := ParseDescriptorSet(descriptorSet(t, text, imports))
			if err != nil {
				t.Fatalf("imports %v: %v", imports, err)
			}
			m, err := files.Message(name)
			if err != nil {
				t.Fatal(err)
			}
			if got := describe(m); got != want {
				t.Errorf("%s, imports %v:\n%s\nwant\n%s", name, imports, got, want)
			}
		}
	}
}

func TestBadDescriptorSetsSayWhatToDo(t *testing.T) {
	set := &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{{
		Name: googleproto.String("a.proto"), Dependency: []string{"shop/item.proto"}, MessageType: []*descriptorpb.DescriptorProto{{Name: googleproto.String("A")}},
	}}}
	lacking, err := googleproto.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":          {nil, "not a Protobuf descriptor set"},
		"not a set":      {[]byte("syntax = \"proto3\";"), "protoc --include_imports"},
		"lacks a file":   {lacking, `lacks "shop/item.proto", which "a.proto" imports`},
		"broken message": {append(slices.Clone(lacking), 0xff), "not a Protobuf descriptor set"},
	} {
		if _, err := ParseDescriptorSet(c.data); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestEveryBundledFileCompiles(t *testing.T) {
	err := filepath.WalkDir("bundled", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		_, err = ParseText(`syntax = "proto3"; import "`+strings.TrimPrefix(path, "bundled/")+`"; message M { int32 x = 1; }`, nil)
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestDecimalParametersAreReadFromDescriptorSetsToo(t *testing.T) {
	files, err := ParseDescriptorSet(descriptorSet(t, proto3Text, true))
	if err != nil {
		t.Fatal(err)
	}
	m, err := files.Message("test.All")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(m.Fields(), func(f column.Field) bool { return f.Name == "amount" })
	if got := m.Fields()[i].Type; got != (column.Type{Kind: column.Decimal, Precision: 12, Scale: 2}) {
		t.Errorf("amount is %s", got)
	}
}

func TestMessageIndexes(t *testing.T) {
	for name, c := range map[string]struct {
		record string
		path   []int
		rest   string
		reason decode.Reason
	}{
		"short form":           {"\x00body", []int{0}, "body", 0},
		"long form of zero":    {"\x02\x00body", []int{0}, "body", 0},
		"second message":       {"\x02\x02", []int{1}, "", 0},
		"nested":               {"\x04\x02\x00x", []int{1, 0}, "x", 0},
		"big number":           {"\x02\x80\x02x", []int{128}, "x", 0},
		"empty":                {"", nil, "", decode.Truncated},
		"cut":                  {"\x04\x02", nil, "", decode.Truncated},
		"cut in a number":      {"\x02\x80", nil, "", decode.Truncated},
		"negative count":       {"\x01", nil, "", decode.Malformed},
		"negative number":      {"\x02\x01", nil, "", decode.Malformed},
		"hostile count":        {"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", nil, "", decode.Malformed},
		"endless number":       {"\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", nil, "", decode.Malformed},
		"count beyond nesting": {"\xd2\x0f", nil, "", decode.Malformed},
	} {
		path, rest, err := MessageIndex([]byte(c.record))
		if c.path == nil {
			if bad, ok := err.(*decode.Error); !ok || bad.Reason != c.reason {
				t.Errorf("%s: %v, want %v", name, err, c.reason)
			}
			continue
		}
		if err != nil || !slices.Equal(path, c.path) || string(rest) != c.rest {
			t.Errorf("%s: %v %q %v", name, path, rest, err)
		}
	}
	record := []byte("\x00body")
	if n := testing.AllocsPerRun(100, func() { _, _, _ = MessageIndex(record) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestHostileSchemasAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"nested messages": {"syntax = \"proto3\";" + strings.Repeat("message A {", 100_000), "nested deeper"},
		"nested literals": {"syntax = \"proto3\"; option (x) = {" + strings.Repeat("a <", 100_000), "nested deeper"},
		"too long":        {"syntax = \"proto3\"; //" + strings.Repeat("x", MaxSchema), "bytes"},
	} {
		if _, err := ParseText(c.text, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %.200v", name, err)
		}
		if _, err := ParseText("syntax = \"proto3\"; message M { int32 x = 1; }", map[string]string{"other.proto": c.text}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, as a reference: %.200v", name, err)
		}
	}
	brackets := strings.Repeat("{", 1000)
	if _, err := ParseText("syntax = \"proto3\"; // "+brackets+"\n/* "+brackets+" */ message M { string x = 1 [deprecated = true]; }\n/", nil); err == nil || strings.Contains(err.Error(), "nested") {
		t.Error(err)
	}
	var chain strings.Builder
	chain.WriteString("syntax = \"proto3\";")
	for i := range 30_000 {
		fmt.Fprintf(&chain, "message M%d { M%d x = 1; }\n", i, i+1)
	}
	chain.WriteString("message M30000 { int32 x = 1; }")
	files, err := ParseText(chain.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := files.Message("M0"); err != nil {
		t.Error(err)
	}
}
