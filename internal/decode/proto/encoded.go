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
	return file
}
