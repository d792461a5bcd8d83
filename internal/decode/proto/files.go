package proto

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/reporter"
	googleproto "google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"millrace/internal/sqlerr"
)

// bundled are files that schemas import and that neither the schema's references nor the compiler supply.
//
//go:embed bundled
var bundled embed.FS

// rootName is the file name of a schema given as text. No import of a sane schema is called so.
const rootName = "schema.proto"

// Files is a schema with all that it imports. It is immutable to its users and shared.
type Files struct {
	all *protoregistry.Files
	// roots are the files whose messages can be records, in order: the text's, or all of a descriptor set.
	roots []protoreflect.FileDescriptor

	// mu guards compiled, the messages that plans have asked for so far.
	mu       sync.RWMutex
	compiled map[protoreflect.FullName]*message
}

// ParseText compiles proto text: proto2, proto3 or edition 2023. references are the files that it imports, directly or not, by the name they are
// imported with. google/protobuf, google/type and confluent need not be among them. Instead of text each may be a FileDescriptorProto in
// base64. Errors are sqlerr errors that give the place in the text.
func ParseText(text string, references map[string]string) (*Files, error) {
	if err := checkText(text, references); err != nil {
		return nil, err
	}
	root := rootName
	for {
		if _, taken := references[root]; !taken {
			break
		}
		root = "_" + root
	}
	sources := maps.Clone(references)
	if sources == nil {
		sources = map[string]string{}
	}
	sources[root] = text
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(sourceResolver(sources)), MaxParallelism: 1}
	compiled, err := compiler.Compile(context.Background(), root)
	if err != nil {
		return nil, textError(err)
	}
	// The compiler's descriptors are turned into those of the Protobuf library, the same that a descriptor set gives.
	set := &descriptorpb.FileDescriptorSet{}
	collect(compiled[0], set, map[string]bool{})
	all, err := protodesc.NewFiles(set)
	if err != nil {
		return nil, sqlerr.New(sqlerr.OptionInvalid, "the Protobuf schema is not valid: %s", cleaned(err))
	}
	fd, err := all.FindFileByPath(root)
	if err != nil {
		return nil, sqlerr.New(sqlerr.Unexpected, "the compiled Protobuf schema lacks its root").WithCause(err)
	}
	return newFiles(all, []protoreflect.FileDescriptor{fd}), nil
}

// ParseDescriptorSet reads a FileDescriptorSet as protoc --include_imports --descriptor_set_out and buf build write it. Well-known files may be
// missing in it. Errors are sqlerr errors.
func ParseDescriptorSet(data []byte) (*Files, error) {
	if len(data) > MaxSchema {
		return nil, sqlerr.New(sqlerr.OptionInvalid, "the Protobuf descriptor set has %d bytes: %d are allowed", len(data), MaxSchema)
	}
	set := &descriptorpb.FileDescriptorSet{}
	if err := googleproto.Unmarshal(data, set); err != nil || len(set.File) == 0 {
		return nil, sqlerr.New(sqlerr.OptionInvalid, "the bytes are not a Protobuf descriptor set").
			WithHint("write one with protoc --include_imports --descriptor_set_out=FILE, or with buf build -o FILE")
	}
	names := make([]string, len(set.File))
	for i, f := range set.File {
		names[i] = f.GetName()
	}
	if err := complete(set); err != nil {
		return nil, err
	}
	all, err := protodesc.NewFiles(set)
	if err != nil {
		return nil, sqlerr.New(sqlerr.OptionInvalid, "the Protobuf descriptor set is not valid: %s", cleaned(err))
	}
	roots := make([]protoreflect.FileDescriptor, 0, len(names))
	for _, n := range names {
		if fd, err := all.FindFileByPath(n); err == nil {
			roots = append(roots, fd)
		}
	}
	return newFiles(all, roots), nil
}

func newFiles(all *protoregistry.Files, roots []protoreflect.FileDescriptor) *Files {
	return &Files{all: all, roots: roots, compiled: map[protoreflect.FullName]*message{}}
}

// Message finds a message by its full name, or by its last part where that names one message only. The empty name stands for the only message of
// the schema.
func (f *Files) Message(name string) (*Message, error) {
	full := protoreflect.FullName(strings.TrimPrefix(name, "."))
	if d, err := f.all.FindDescriptorByName(full); err == nil && name != "" {
		if md, ok := d.(protoreflect.MessageDescriptor); ok {
			return newMessage(f, md), nil
		}
	}
	var found []protoreflect.MessageDescriptor
	var names []string
	for _, root := range f.roots {
		if name == "" && wellKnown(root.Path()) {
			continue
		}
		eachMessage(root.Messages(), name != "", func(md protoreflect.MessageDescriptor) {
			names = append(names, string(md.FullName()))
			if name == "" || md.Name() == protoreflect.Name(name) {
				found = append(found, md)
			}
		})
	}
	switch {
	case len(found) == 1:
		return newMessage(f, found[0]), nil
	case name == "" && len(found) == 0:
		return nil, sqlerr.New(sqlerr.OptionInvalid, "the Protobuf schema has no message")
	case name == "":
		return nil, sqlerr.New(sqlerr.OptionMissing, "the Protobuf schema has %d messages: say which with 'messageName'", len(found)).WithHint("%s", oneOf(names))
	case len(found) > 1:
		names = names[:0]
		for _, md := range found {
			names = append(names, string(md.FullName()))
		}
		return nil, sqlerr.New(sqlerr.OptionInvalid, "the message name %q is ambiguous in the Protobuf schema", name).WithHint("%s", oneOf(names))
	}
	return nil, sqlerr.New(sqlerr.OptionInvalid, "the Protobuf schema has no message %q", name).WithHint("%s", oneOf(names))
}

// MessageByIndex finds a message as a record of a schema registry names it: the place among the messages of the text, then among those nested in
// that one, and so on. A path that leads nowhere is an error of the data, not of the user.
func (f *Files) MessageByIndex(path []int) (*Message, error) {
	if len(f.roots) == 0 || len(path) == 0 {
		return nil, errNoSuchIndex
	}
	messages := f.roots[0].Messages()
	var md protoreflect.MessageDescriptor
	for _, i := range path {
		if md = messageAt(messages, i); md == nil {
			return nil, errNoSuchIndex
		}
		messages = md.Messages()
	}
	return newMessage(f, md), nil
}

// messageAt is message number i. Serializers disagree on whether the entries of maps, which are messages in a descriptor but not in a text, count: not
// for the Java one, whose way this is, but for those of other languages. The number tells where it is too high for Java's.
func messageAt(messages protoreflect.MessageDescriptors, i int) protoreflect.MessageDescriptor {
	if i < 0 || i >= messages.Len() {
		return nil
	}
	written := 0
	for k := range messages.Len() {
		md := messages.Get(k)
		if md.IsMapEntry() {
			continue
		}
		if written == i {
			return md
		}
		written++
	}
	if md := messages.Get(i); !md.IsMapEntry() {
		return md
	}
	return nil
}

var errNoSuchIndex = errors.New("the Protobuf schema has no message at the record's message index")

// eachMessage calls do for every message, the nested ones too when nested is set.
func eachMessage(messages protoreflect.MessageDescriptors, nested bool, do func(protoreflect.MessageDescriptor)) {
	for i := range messages.Len() {
		md := messages.Get(i)
		if md.IsMapEntry() {
			continue
		}
		do(md)
		if nested {
			eachMessage(md.Messages(), true, do)
		}
	}
}

// oneOf lists names in a hint, not too many.
func oneOf(names []string) string {
	if len(names) == 0 {
		return "the schema has no messages"
	}
	const most = 10
	slices.Sort(names)
	if len(names) > most {
		return "its messages are " + strings.Join(names[:most], ", ") + ", …"
	}
	return "its messages are " + strings.Join(names, ", ")
}

// collect appends file to set, behind all that it imports.
func collect(file protoreflect.FileDescriptor, set *descriptorpb.FileDescriptorSet, done map[string]bool) {
	if done[file.Path()] {
		return
	}
	done[file.Path()] = true
	imports := file.Imports()
	for i := range imports.Len() {
		collect(imports.Get(i).FileDescriptor, set, done)
	}
	set.File = append(set.File, protodesc.ToFileDescriptorProto(file))
}

// complete adds the well-known and bundled files that set imports but does not hold.
func complete(set *descriptorpb.FileDescriptorSet) error {
	have := map[string]bool{}
	for _, f := range set.File {
		have[f.GetName()] = true
	}
	for i := 0; i < len(set.File); i++ {
		for _, name := range set.File[i].Dependency {
			if have[name] {
				continue
			}
			have[name] = true
			compiled, err := (&protocompile.Compiler{Resolver: protocompile.WithStandardImports(sourceResolver(nil)), MaxParallelism: 1}).Compile(context.Background(), name)
			if err != nil {
				return sqlerr.New(sqlerr.OptionInvalid, "the Protobuf descriptor set lacks %q, which %q imports", name, set.File[i].GetName()).
					WithHint("run protoc with --include_imports")
			}
			set.File = append(set.File, protodesc.ToFileDescriptorProto(compiled[0]))
		}
	}
	return nil
}

// errNoFile is what an import finds that nobody supplies.
var errNoFile = errors.New("it is neither among the references nor known here")

// sourceResolver finds files in sources, which are text or encoded, and among those that are bundled.
func sourceResolver(sources map[string]string) protocompile.Resolver {
	return protocompile.ResolverFunc(func(path string) (protocompile.SearchResult, error) {
		if source, ok := sources[path]; ok {
			if file := encodedFile(source); file != nil {
				file.Name = &path
				return protocompile.SearchResult{Proto: file}, nil
			}
			return protocompile.SearchResult{Source: strings.NewReader(source)}, nil
		}
		if fs.ValidPath(path) {
			if file, err := bundled.Open("bundled/" + path); err == nil {
				return protocompile.SearchResult{Source: file}, nil
			}
		}
		return protocompile.SearchResult{}, errNoFile
	})
}

// wellKnown reports whether a file is one that others bring along rather than a schema of records.
func wellKnown(path string) bool {
	if strings.HasPrefix(path, "google/protobuf/") {
		return true
	}
	_, err := fs.Stat(bundled, "bundled/"+path)
	return err == nil
}

// textError turns an error of the compiler, "schema.proto:3:5: …", into one of ours.
func textError(err error) error {
	var at reporter.ErrorWithPos
	if errors.As(err, &at) {
		place, what := at.GetPosition(), cleaned(at.Unwrap())
		if strings.TrimLeft(place.Filename, "_") == rootName {
			return sqlerr.New(sqlerr.OptionInvalid, "the Protobuf schema is not valid: line %d, column %d: %s", place.Line, place.Col, what)
		}
		return sqlerr.New(sqlerr.OptionInvalid, "the Protobuf schema is not valid: %s: line %d, column %d: %s", place.Filename, place.Line, place.Col, what)
	}
	return sqlerr.New(sqlerr.OptionInvalid, "the Protobuf schema is not valid: %s", cleaned(err))
}

// cleaned is the text of err on one line. The Protobuf library separates words with no-break spaces at random, so that nobody relies on its texts.
func cleaned(err error) string {
	return strings.NewReplacer("\u00a0", " ", "\n", " ").Replace(err.Error())
}
