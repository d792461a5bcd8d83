package proto

import (
	"encoding/base64"
	"strings"

	googleproto "google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

// encodedFile decodes a source that is no text but an encoded descriptor: Confluent's clients for Python and .NET register a schema as the base64 of
// its FileDescriptorProto, and registries other than Confluent's own hand it out as it came. It is nil when source is text: no text that declares
// anything is base64, for it has braces.
func encodedFile(source string) *descriptorpb.FileDescriptorProto {
	encoded, err := base64.StdEncoding.DecodeString(strings.TrimSpace(source))
	if err != nil || len(encoded) == 0 {
		return nil
	}
	file := &descriptorpb.FileDescriptorProto{}
	if err := googleproto.Unmarshal(encoded, file); err != nil || file.GetName() == "" {
		return nil
	}
	nameFields(file.Extension)
	nameMessages(file.MessageType)
	return file
}

// nameMessages gives the fields of messages the JSON names that they have by default: compilers leave them out of the descriptors that they embed in
// code, and ours takes two fields without one for two of the same name.
func nameMessages(messages []*descriptorpb.DescriptorProto) {
	for _, m := range messages {
		nameFields(m.Field)
		nameFields(m.Extension)
		nameMessages(m.NestedType)
	}
}

func nameFields(fields []*descriptorpb.FieldDescriptorProto) {
	for _, f := range fields {
		if f.JsonName == nil {
			name := lowerCamel(f.GetName())
			f.JsonName = &name
		}
	}
}

// lowerCamel leaves out underscores and makes the letter behind each upper case.
func lowerCamel(name string) string {
	made, upper := make([]byte, 0, len(name)), false
	for i := range len(name) {
		c := name[i]
		switch {
		case c == '_':
			upper = true
			continue
		case upper && c >= 'a' && c <= 'z':
			c -= 'a' - 'A'
		}
		upper = false
		made = append(made, c)
	}
	return string(made)
}
