package proto

import (
	"math/rand/v2"
	"testing"

	googleproto "google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
)

// FuzzLocate compares columns with the oracle's; the first byte chooses the schema.
func FuzzLocate(f *testing.F) {
	var checkers []*checker
	for i, m := range schemas(f) {
		c := newChecker(f, m)
		checkers = append(checkers, c)
		r := random{rand.New(rand.NewPCG(1, uint64(i)))}
		for range 3 {
			f.Add(append([]byte{byte(i)}, r.record(f, c.md)...))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 {
			return
		}
		checkers[int(b[0])%len(checkers)].check(t, b[1:])
	})
}

// FuzzMessageIndex wants what was split off to be read back as a path of numbers that are not negative.
func FuzzMessageIndex(f *testing.F) {
	for _, s := range []string{"", "\x00", "\x02\x00x", "\x04\x02\x00", "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x01"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		path, rest, err := MessageIndex(b)
		if err != nil {
			return
		}
		if len(path) == 0 || len(rest) >= len(b) {
			t.Fatalf("%x gives %v and %x", b, path, rest)
		}
		for _, i := range path {
			if i < 0 {
				t.Fatalf("%x gives %v", b, path)
			}
		}
	})
}

// FuzzParseDescriptorSet wants an error or columns, and no panic.
func FuzzParseDescriptorSet(f *testing.F) {
	for _, text := range []string{
		`syntax = "proto3"; message A { int32 x = 1; map<string, A> m = 2; oneof o { string s = 3; A a = 4; } enum E { Z = 0; } E e = 5; }`,
		`syntax = "proto2"; message A { optional group G = 1 { optional int32 x = 1 [default = 5]; } extensions 100 to max; }`,
		editionText,
	} {
		files, err := ParseText(text, nil)
		if err != nil {
			f.Fatal(err)
		}
		data, err := googleproto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{protodesc.ToFileDescriptorProto(files.roots[0])}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		files, err := ParseDescriptorSet(data)
		if err != nil {
			return
		}
		m, err := files.MessageByIndex([]int{0})
		if err != nil {
			return
		}
		if _, err := m.Compile([]int{0}); err != nil {
			t.Fatal(err)
		}
	})
}
