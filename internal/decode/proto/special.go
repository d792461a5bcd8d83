package proto

import "google.golang.org/protobuf/reflect/protoreflect"

// special is a message type that means more than its fields.
type special uint8

const (
	plain special = iota
	timestamp
	duration
	wrapper
	structure
	dynamic // google.protobuf.Value
	listValue
	anything
	date
	timeOfDay
	decimal
)

// shape is a special type with the kinds of its fields, numbered from 1. A schema may declare a message of a well-known name with other fields;
// then it is a plain one.
type shape struct {
	special special
	kinds   []protoreflect.Kind
}

var specials = map[protoreflect.FullName]shape{
	"google.protobuf.Timestamp":   {timestamp, []protoreflect.Kind{protoreflect.Int64Kind, protoreflect.Int32Kind}},
	"google.protobuf.Duration":    {duration, []protoreflect.Kind{protoreflect.Int64Kind, protoreflect.Int32Kind}},
	"google.protobuf.BoolValue":   {wrapper, []protoreflect.Kind{protoreflect.BoolKind}},
	"google.protobuf.Int32Value":  {wrapper, []protoreflect.Kind{protoreflect.Int32Kind}},
	"google.protobuf.Int64Value":  {wrapper, []protoreflect.Kind{protoreflect.Int64Kind}},
	"google.protobuf.UInt32Value": {wrapper, []protoreflect.Kind{protoreflect.Uint32Kind}},
	"google.protobuf.UInt64Value": {wrapper, []protoreflect.Kind{protoreflect.Uint64Kind}},
	"google.protobuf.FloatValue":  {wrapper, []protoreflect.Kind{protoreflect.FloatKind}},
	"google.protobuf.DoubleValue": {wrapper, []protoreflect.Kind{protoreflect.DoubleKind}},
	"google.protobuf.StringValue": {wrapper, []protoreflect.Kind{protoreflect.StringKind}},
	"google.protobuf.BytesValue":  {wrapper, []protoreflect.Kind{protoreflect.BytesKind}},
	"google.protobuf.Struct":      {structure, []protoreflect.Kind{protoreflect.MessageKind}},
	"google.protobuf.ListValue":   {listValue, []protoreflect.Kind{protoreflect.MessageKind}},
	"google.protobuf.Value": {dynamic, []protoreflect.Kind{protoreflect.EnumKind, protoreflect.DoubleKind, protoreflect.StringKind, protoreflect.BoolKind,
		protoreflect.MessageKind, protoreflect.MessageKind}},
	"google.protobuf.Any": {anything, []protoreflect.Kind{protoreflect.StringKind, protoreflect.BytesKind}},
	"google.type.Date":    {date, []protoreflect.Kind{protoreflect.Int32Kind, protoreflect.Int32Kind, protoreflect.Int32Kind}},
	"google.type.TimeOfDay": {timeOfDay, []protoreflect.Kind{protoreflect.Int32Kind, protoreflect.Int32Kind, protoreflect.Int32Kind,
		protoreflect.Int32Kind}},
	"confluent.type.Decimal": {decimal, []protoreflect.Kind{protoreflect.BytesKind, protoreflect.Uint32Kind, protoreflect.Int32Kind}},
}

// specialOf tells whether md is special. Its fields are then in the order of their numbers, from 1.
func specialOf(md protoreflect.MessageDescriptor) special {
	s, ok := specials[md.FullName()]
	fields := md.Fields()
	if !ok || fields.Len() != len(s.kinds) {
		return plain
	}
	for i, kind := range s.kinds {
		fd := fields.Get(i)
		if fd.Number() != protoreflect.FieldNumber(i+1) || fd.Kind() != kind {
			return plain
		}
		repeated := s.special == structure || s.special == listValue
		if (fd.Cardinality() == protoreflect.Repeated) != repeated || s.special == structure && !fd.IsMap() || s.special == listValue && !fd.IsList() {
			return plain
		}
		if s.special == dynamic && fd.ContainingOneof() == nil {
			return plain
		}
	}
	return s.special
}
