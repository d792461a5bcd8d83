package proto

import (
	"encoding/base64"
	"testing"

	googleproto "google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
)

// A schema as Confluent's Python client registers it, with a reference that is text and one that is not.
func TestEncodedDescriptors(t *testing.T) {
	encode := func(text, name string, references map[string]string) string {
		f, err := ParseText(text, references)
		if err != nil {
			t.Fatal(err)
		}
		d := protodesc.ToFileDescriptorProto(f.roots[0])
		d.Name = &name
		for _, m := range d.MessageType {
			for _, f := range m.Field {
				f.JsonName = nil // as compilers embed them in code
			}
		}
		b, err := googleproto.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		return base64.StdEncoding.EncodeToString(b)
	}
	city := `syntax = "proto3"; package geo; message City { string name = 1; }`
	country := `syntax = "proto3"; package geo; import "city.proto"; message Country { City capital = 1; }`
	user := `syntax = "proto3"; package app; import "country.proto"; import "google/protobuf/timestamp.proto";
	  message User { geo.Country home = 1; google.protobuf.Timestamp at = 2; enum Kind { A = 0; B = 1; } Kind kind = 3; }`
	texts := map[string]string{"city.proto": city, "country.proto": country}
	references := map[string]string{"city.proto": city, "country.proto": encode(country, "country.proto", texts)}
	f, err := ParseText(encode(user, "user.proto", texts), references)
	if err != nil {
		t.Fatal(err)
	}
	m, err := f.Message("app.User")
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, field := range m.Fields() {
		got += field.Name + " " + field.Type.String() + ", "
	}
	if want := "home json, at timestamp(6), kind text, "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, text := range []string{"", "message", "QUJD", "syntax"} {
		if encodedFile(text) != nil {
			t.Errorf("%q counts as a descriptor", text)
		}
	}
}
