package proto

import (
	"math"
	"math/rand/v2"
	"testing"

	googleproto "google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// proto3Text has everything that proto3 has.
const proto3Text = `
syntax = "proto3";
package test;
import "google/protobuf/any.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
import "google/type/date.proto";
import "google/type/timeofday.proto";
import "google/type/money.proto";
import "confluent/meta.proto";
import "confluent/type/decimal.proto";

message All {
  bool b = 1; int32 i32 = 2; sint32 s32 = 3; sfixed32 sf32 = 4; uint32 u32 = 5; fixed32 f32 = 6;
  int64 i64 = 7; sint64 s64 = 8; sfixed64 sf64 = 9; uint64 u64 = 10; fixed64 f64 = 11;
  float fl = 12; double d = 13; string s = 14; bytes raw = 15; Color color = 16;
  optional int64 maybe = 17; optional string maybe_text = 18; optional Color maybe_color = 200;
  oneof choice { int64 one = 20; string two = 21; Inner three = 22; Color four = 23; google.protobuf.Timestamp five = 2001; }
  Inner inner = 24; All self = 25;
  repeated int32 ints = 26; repeated sint64 zigs = 27 [packed = false]; repeated fixed32 fixeds = 28; repeated double doubles = 29;
  repeated string texts = 30; repeated bytes blobs = 31; repeated Color colors = 32; repeated Inner inners = 33; repeated bool bools = 34;
  map<string, int64> by_text = 35; map<int32, Inner> by_number = 36; map<bool, string> by_bool = 37; map<uint64, Color> by_unsigned = 38;
  google.protobuf.Timestamp at = 40; google.protobuf.Duration took = 41; google.protobuf.Struct st = 42; google.protobuf.Value va = 43;
  google.protobuf.ListValue li = 44; google.protobuf.Any any = 45; repeated google.protobuf.Timestamp ats = 46;
  google.protobuf.BoolValue wb = 50; google.protobuf.Int32Value wi = 51; google.protobuf.UInt64Value wu = 52; google.protobuf.DoubleValue wd = 53;
  google.protobuf.StringValue ws = 54; google.protobuf.BytesValue wy = 55; google.protobuf.FloatValue wf = 56; google.protobuf.UInt32Value wu32 = 57;
  google.type.Date day = 60; google.type.TimeOfDay clock = 61; google.type.Money price = 62;
  confluent.type.Decimal amount = 63 [(confluent.field_meta).params = {key: "precision", value: "12"}, (confluent.field_meta).params = {key: "scale", value: "2"}];
  confluent.type.Decimal exact = 64;
  google.protobuf.NullValue nothing = 65;
}
message Inner {
  int64 id = 1; string name = 2; Inner next = 3; repeated Inner all = 4; optional uint64 big = 5; bytes raw = 6; float ratio = 7;
  oneof kind { int32 a = 8; string b = 9; Inner c = 10; }
  repeated sint32 deltas = 11; google.protobuf.Any any = 12; google.protobuf.DoubleValue wrapped = 13; confluent.type.Decimal amount = 14;
  map<string, Inner> by_name = 15;
}
enum Color { NONE = 0; RED = 1; BLUE = 200; NEGATIVE = -1; }
`

// proto2Text has what proto2 has besides: groups, defaults, closed enums, unchecked strings, required fields.
const proto2Text = `
syntax = "proto2";
package test;
message Old {
  required int64 id = 1;
  optional string name = 2 [default = "nobody"];
  optional int32 count = 3 [default = -7];
  optional Level level = 4 [default = HIGH];
  optional Level other = 5;
  optional double ratio = 6 [default = inf];
  optional bytes raw = 7 [default = "\x00\xff"];
  optional group Part = 8 { optional string text = 1; optional int32 n = 2; repeated group Sub = 3 { optional Level level = 4; } }
  repeated group Many = 9 { optional uint64 x = 1 [default = 5]; }
  repeated int32 unpacked = 10; repeated sfixed64 packed = 11 [packed = true];
  oneof choice { string left = 12; group Right = 13 { optional int32 y = 1; } }
  optional Old old = 14;
  map<string, Zeroed> levels = 15;
  repeated string texts = 16;
  extensions 100 to 200;
}
enum Level { LOW = 1; HIGH = 2; }
enum Zeroed { ZERO = 0; TEN = 10; }
extend Old { optional int32 extra = 100; }
`

// editionText has features of editions.
const editionText = `
edition = "2023";
package test;
message New {
  int32 explicit = 1;
  int32 implicit = 2 [features.field_presence = IMPLICIT];
  string checked = 3;
  string loose = 4 [features.utf8_validation = NONE];
  Sub delimited = 5 [features.message_encoding = DELIMITED];
  repeated int32 expanded = 6 [features.repeated_field_encoding = EXPANDED];
  repeated Sub subs = 7 [features.message_encoding = DELIMITED];
  Closed closed = 8;
  message Sub { string text = 1; New back = 2; int32 n = 3 [default = 9]; }
  enum Closed { option features.enum_type = CLOSED; A = 3; B = 4; }
}
`

func mustMessage(t testing.TB, text, name string) *Message {
	t.Helper()
	files, err := ParseText(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := files.Message(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// schemas are the messages that random records are made of.
func schemas(t testing.TB) []*Message {
	return []*Message{mustMessage(t, proto3Text, "test.All"), mustMessage(t, proto2Text, "test.Old"), mustMessage(t, editionText, "test.New")}
}

// random fills a message.
type random struct{ *rand.Rand }

func (r random) record(t testing.TB, md protoreflect.MessageDescriptor) []byte {
	b, err := googleproto.MarshalOptions{AllowPartial: true}.Marshal(r.message(md, 0).Interface())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (r random) message(md protoreflect.MessageDescriptor, depth int) protoreflect.Message {
	m := dynamicpb.NewMessage(md)
	if md.FullName() == "google.protobuf.Any" {
		if r.IntN(2) == 0 {
			names := []string{"test.Inner", "google.protobuf.Timestamp", "test.Nothing", "google.protobuf.StringValue", "google.type.Date"}
			m.Set(md.Fields().ByNumber(1), protoreflect.ValueOfString("type.googleapis.com/"+names[r.IntN(len(names))]))
			m.Set(md.Fields().ByNumber(2), protoreflect.ValueOfBytes([]byte{0x08, 5}))
			return m
		}
	}
	if md.FullName() == "confluent.type.Decimal" && r.IntN(4) > 0 {
		b := make([]byte, r.IntN(12))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		m.Set(md.Fields().ByNumber(1), protoreflect.ValueOfBytes(b))
		m.Set(md.Fields().ByNumber(3), protoreflect.ValueOfInt32(int32(r.IntN(12))))
		return m
	}
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		if r.IntN(3) == 0 || fd.Message() != nil && (depth > 2 || depth > 0 && r.IntN(3) > 0) {
			continue
		}
		switch {
		case fd.IsMap():
			for range r.IntN(3) {
				m.Mutable(fd).Map().Set(r.value(fd.MapKey(), depth).MapKey(), r.value(fd.MapValue(), depth))
			}
		case fd.IsList():
			for range r.IntN(4) {
				m.Mutable(fd).List().Append(r.value(fd, depth))
			}
		default:
			m.Set(fd, r.value(fd, depth))
		}
	}
	return m
}

func (r random) value(fd protoreflect.FieldDescriptor, depth int) protoreflect.Value {
	n := r.number()
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(n&1 == 1)
	case protoreflect.EnumKind:
		if values := fd.Enum().Values(); r.IntN(4) > 0 {
			return protoreflect.ValueOfEnum(values.Get(r.IntN(values.Len())).Number())
		}
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(n))
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(n))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(n)
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(uint32(n))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(uint64(n))
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(float32(r.float()))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(r.float())
	case protoreflect.StringKind:
		return protoreflect.ValueOfString([]string{"", "x", "longer text with \"quotes\"\n", "日本 🎉", "\u2028\u0001"}[r.IntN(5)])
	case protoreflect.BytesKind:
		b := make([]byte, r.IntN(12))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return protoreflect.ValueOfBytes(b)
	default:
		return protoreflect.ValueOfMessage(r.message(fd.Message(), depth+1))
	}
}

func (r random) number() int64 {
	switch r.IntN(4) {
	case 0:
		return r.Int64N(10)
	case 1:
		return []int64{math.MaxInt64, math.MinInt64, math.MaxInt32, math.MinInt32, -1, 1 << 53, 1<<53 + 1}[r.IntN(7)]
	case 2:
		return r.Int64N(4000) - 2000
	default:
		return int64(r.Uint64() >> r.IntN(64))
	}
}

func (r random) float() float64 {
	switch r.IntN(5) {
	case 0:
		return []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 1e300, 5e-324, 0.1}[r.IntN(8)]
	case 1:
		return math.Float64frombits(r.Uint64())
	default:
		return float64(r.IntN(2000)) / 8
	}
}

// mutate damages a record or rearranges it: flipped, cut, doubled, inserted and spliced bytes.
func (r random) mutate(record, other []byte) []byte {
	b := append([]byte(nil), record...)
	for range 1 + r.IntN(3) {
		if len(b) == 0 {
			return append(b, other...)
		}
		at := r.IntN(len(b))
		switch r.IntN(7) {
		case 0:
			b[at] ^= 1 << r.IntN(8)
		case 1:
			b[at] = byte(r.Uint32())
		case 2:
			b = b[:at]
		case 3:
			b = append(b[:at], b[min(len(b), at+1+r.IntN(4)):]...)
		case 4:
			b = append(b[:at:at], append([]byte{byte(r.Uint32())}, b[at:]...)...)
		case 5:
			b = append(b, other...) // two records are one, merged
		case 6:
			b = append(b[:at:at], other[min(len(other), at):]...)
		}
	}
	return b
}
