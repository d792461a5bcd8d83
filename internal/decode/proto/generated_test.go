package proto

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// schemaText draws a schema with messages that refer to each other.
func schemaText(t *rapid.T) string {
	scalars := []string{"bool", "int32", "sint32", "sfixed32", "uint32", "fixed32", "int64", "sint64", "sfixed64", "uint64", "fixed64", "float", "double", "string", "bytes"}
	keys := []string{"bool", "int32", "sint32", "sfixed32", "uint32", "fixed32", "int64", "sint64", "sfixed64", "uint64", "fixed64", "string"}
	others := []string{"M0", "M1", "M2", "E", "google.protobuf.Timestamp", "google.protobuf.Duration", "google.protobuf.StringValue", "google.protobuf.UInt64Value",
		"google.protobuf.FloatValue", "google.protobuf.Value", "google.type.Date", "confluent.type.Decimal"}
	types := append(append([]string{}, scalars...), others...)
	three := rapid.Bool().Draw(t, "proto3")
	labels := []string{"optional ", "repeated "}
	header := "syntax = \"proto2\";\n"
	if three {
		labels, header = append(labels, ""), "syntax = \"proto3\";\n"
	}
	var b strings.Builder
	b.WriteString(header + "package gen;\nenum E { Z = 0; ONE = 1; FAR = 100000; LOW = -5; }\n")
	for _, path := range []string{"google/protobuf/timestamp", "google/protobuf/duration", "google/protobuf/wrappers", "google/protobuf/struct", "google/type/date", "confluent/type/decimal"} {
		fmt.Fprintf(&b, "import %q;\n", path+".proto")
	}
	for m := range 3 {
		fmt.Fprintf(&b, "message M%d {\n", m)
		number := 0
		next := func() int {
			number += rapid.SampledFrom([]int{1, 1, 1, 2, 17, 200, 3000}).Draw(t, "step")
			return number
		}
		for range rapid.IntRange(1, 12).Draw(t, "fields") {
			n := next()
			switch rapid.IntRange(0, 9).Draw(t, "form") {
			case 0:
				fmt.Fprintf(&b, "  map<%s, %s> f%d = %d;\n", rapid.SampledFrom(keys).Draw(t, "key"), rapid.SampledFrom(types).Draw(t, "value"), n, n)
			case 1:
				fmt.Fprintf(&b, "  oneof o%d { %s f%d = %d;", n, rapid.SampledFrom(types).Draw(t, "type"), n, n)
				n = next()
				fmt.Fprintf(&b, " %s f%d = %d; }\n", rapid.SampledFrom(types).Draw(t, "type"), n, n)
			case 2:
				packed := rapid.Bool().Draw(t, "packed")
				fmt.Fprintf(&b, "  repeated %s f%d = %d [packed = %v];\n", rapid.SampledFrom(scalars[:13]).Draw(t, "type"), n, n, packed)
			case 3:
				if !three {
					fmt.Fprintf(&b, "  %sgroup G%d = %d { optional %s x = 1; }\n", rapid.SampledFrom(labels).Draw(t, "label"), n, n, rapid.SampledFrom(types).Draw(t, "type"))
					continue
				}
				fallthrough
			default:
				fmt.Fprintf(&b, "  %s%s f%d = %d;\n", rapid.SampledFrom(labels).Draw(t, "label"), rapid.SampledFrom(types).Draw(t, "type"), n, n)
			}
		}
		b.WriteString("}\n")
	}
	return b.String()
}

func TestGeneratedSchemasGiveWhatDynamicpbGives(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := schemaText(rt)
		c := newChecker(t, mustMessage(t, text, "gen.M0"))
		r := random{rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))}
		for range 20 {
			one, other := r.record(t, c.md), r.record(t, c.md)
			if !c.check(rt, one) {
				rt.Fatalf("a good record is bad: %x\n%s", one, text)
			}
			c.check(rt, r.mutate(one, other))
		}
	})
}
