package proto

import (
	"encoding/base64"
	"strings"

	"github.com/bufbuild/protocompile"
	googleproto "google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// encodedFiles finds among sources those that are no text but an encoded descriptor: Confluent's clients for Python and .NET register a schema as the base64 of
// its FileDescriptorProto, and registries other than Confluent's own hand it out as it came.
func encodedFiles(sources map[string]string) func(path string) (protocompile.SearchResult, error) {
	return func(path string) (protocompile.SearchResult, error) {
		if file := encodedFile(sources[path]); file != nil {
			file.Name = &path
			return protocompile.SearchResult{Proto: file}, nil
		}
		return protocompile.SearchResult{}, protoregistry.NotFound
	}
}

// encodedFile decodes one; nil when source is text. No text that declares anything is base64: it has braces.
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
