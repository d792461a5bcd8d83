package avro

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/avro"
)

// The table of types: an Avro type, the column it makes, and values as Avro's JSON encoding has them beside what the column shows.
func TestTypes(t *testing.T) {
	for _, c := range []struct{ name, avro, column, value, shown string }{
		{"null", `"null"`, "text", `null`, "NULL"},
		{"boolean", `"boolean"`, "bool", `true`, "true"},
		{"int", `"int"`, "int32", `-2147483648`, "-2147483648"},
		{"long beyond 2^53", `"long"`, "int64", `1669859068457630240`, "1669859068457630240"},
		{"long, the least", `"long"`, "int64", `-9223372036854775808`, "-9223372036854775808"},
		{"float", `"float"`, "float64", `1.5`, "3ff8000000000000"},
		{"double", `"double"`, "float64", `-0.1`, "bfb999999999999a"},
		{"NaN is no value of a DOUBLE", `"double"`, "float64", `"NaN"`, fieldError},
		{"infinity neither", `"float"`, "float64", `"-Infinity"`, fieldError},
		{"string", `"string"`, "text", `"žluť 🎉"`, "žluť 🎉"},
		{"empty string is not NULL", `["null","string"]`, "text", `{"string":""}`, ""},
		{"enum", `{"type":"enum","name":"E","symbols":["A","B"]}`, "text", `"B"`, "B"},
		{"bytes", `"bytes"`, "bytes", `"\u0000ÿ"`, "[0 255]"},
		{"fixed", `{"type":"fixed","name":"F","size":3}`, "bytes", `"abc"`, "[97 98 99]"},
		{"decimal", `{"type":"bytes","logicalType":"decimal","precision":12,"scale":2}`, "decimal(12,2)", `"\u0004\u00d2"`, "12.34"},
		{"decimal, negative, in one byte", `{"type":"bytes","logicalType":"decimal","precision":12,"scale":2}`, "decimal(12,2)", `"ÿ"`, "-0.01"},
		{"decimal without bytes", `{"type":"bytes","logicalType":"decimal","precision":12,"scale":2}`, "decimal(12,2)", `""`, "0.00"},
		{"decimal with sign bytes to spare", `{"type":"bytes","logicalType":"decimal","precision":5,"scale":0}`, "decimal(5,0)", `"ÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿÿ\u0085"`, "-123"},
		{"decimal in a fixed", `{"type":"fixed","name":"F","size":4,"logicalType":"decimal","precision":9,"scale":2}`, "decimal(9,2)", `"ÿÿÿ\u0085"`, "-1.23"},
		{"decimal beyond its precision", `{"type":"bytes","logicalType":"decimal","precision":2,"scale":1}`, "decimal(2,1)", `"\u0004\u00d2"`, fieldError},
		{"decimal, all digits behind the point", `{"type":"bytes","logicalType":"decimal","precision":4,"scale":4}`, "decimal(4,4)", `"\u0004\u00d2"`, "0.1234"},
		{"decimal of 38 digits", `{"type":"bytes","logicalType":"decimal","precision":38,"scale":2}`, "decimal(38,2)", `"\u004b\u003b\u004c\u00a8\u005a\u0086\u00c4\u007a\u0009\u008a\u0022\u003f\u00ff\u00ff\u00ff\u00ff"`, "999999999999999999999999999999999999.99"},
		{"decimal beyond DECIMAL", `{"type":"bytes","logicalType":"decimal","precision":70,"scale":2}`, "text", `"\u0004\u00d2"`, "12.34"},
		{"decimal beyond the scale of DECIMAL", `{"type":"bytes","logicalType":"decimal","precision":40,"scale":31}`, "text", `"\u0001"`, "0.0000000000000000000000000000001"},
		{"big-decimal", `{"type":"bytes","logicalType":"big-decimal"}`, "text", `"\u0004\u0004\u00d2\u0006"`, "1.234"},
		{"big-decimal that is none", `{"type":"bytes","logicalType":"big-decimal"}`, "text", `"\u0004"`, fieldError},
		{"date", `{"type":"int","logicalType":"date"}`, "date", `-1`, "-1"},
		{"date out of range", `{"type":"int","logicalType":"date"}`, "date", `2932897`, fieldError},
		{"time-millis", `{"type":"int","logicalType":"time-millis"}`, "time(3)", `1500`, "1500000"},
		{"time-micros", `{"type":"long","logicalType":"time-micros"}`, "time(6)", `86399999999`, "86399999999"},
		{"time beyond TIME", `{"type":"long","logicalType":"time-micros"}`, "time(6)", `9000000000000`, fieldError},
		{"timestamp-millis", `{"type":"long","logicalType":"timestamp-millis"}`, "timestamp(3)", `-1`, "-1000"},
		{"timestamp-micros", `{"type":"long","logicalType":"timestamp-micros"}`, "timestamp(6)", `1700000000123456`, "1700000000123456"},
		{"timestamp-nanos are cut downwards", `{"type":"long","logicalType":"timestamp-nanos"}`, "timestamp(6)", `-1`, "-1"},
		{"timestamp of year 10000", `{"type":"long","logicalType":"timestamp-millis"}`, "timestamp(3)", `253402300800000`, fieldError},
		{"timestamp beyond 64 bits of microseconds", `{"type":"long","logicalType":"timestamp-millis"}`, "timestamp(3)", `9223372036854775807`, fieldError},
		{"local-timestamp-millis", `{"type":"long","logicalType":"local-timestamp-millis"}`, "timestamp(3)", `1`, "1000"},
		{"local-timestamp-micros", `{"type":"long","logicalType":"local-timestamp-micros"}`, "timestamp(6)", `1`, "1"},
		{"local-timestamp-nanos", `{"type":"long","logicalType":"local-timestamp-nanos"}`, "timestamp(6)", `1999`, "1"},
		{"uuid in a string", `{"type":"string","logicalType":"uuid"}`, "text", `"6ba7b810-9dad-11d1-80b4-00c04fd430c8"`, "6ba7b810-9dad-11d1-80b4-00c04fd430c8"},
		{"uuid in a fixed", `{"type":"fixed","name":"U","size":16,"logicalType":"uuid"}`, "text", `"k§¸\u0010\u009d\u00ad\u0011Ñ\u0080´\u0000ÀOÔ0È"`, "6ba7b810-9dad-11d1-80b4-00c04fd430c8"},
		{"duration", `{"type":"fixed","name":"D","size":12,"logicalType":"duration"}`, "json", `"\u0001\u0000\u0000\u0000\u0002\u0000\u0000\u0000ÿÿÿÿ"`, `{"months":1,"days":2,"millis":4294967295}`},
		{"logical type on the wrong type counts for nothing", `{"type":"string","logicalType":"date"}`, "text", `"x"`, "x"},
		{"unknown logical type counts for nothing", `{"type":"long","logicalType":"moon-phase"}`, "int64", `5`, "5"},
		{"null first", `["null","long"]`, "int64", `{"long":7}`, "7"},
		{"null last", `["long","null"]`, "int64", `null`, "NULL"},
		{"a union of one", `["long"]`, "int64", `{"long":7}`, "7"},
		{"int and long", `["null","int","long"]`, "int64", `{"int":7}`, "7"},
		{"float and double", `["float","double"]`, "float64", `{"float":0.5}`, "3fe0000000000000"},
		{"int and double", `["int","double"]`, "float64", `{"int":-1}`, "bff0000000000000"},
		{"long and double have no common exact type", `["long","double"]`, "json", `{"long":9007199254740993}`, "9007199254740993"},
		{"other unions, bare", `["null","string","long"]`, "json", `{"string":"a\"b"}`, `"a\"b"`},
		{"NULL of other unions", `["null","string","long"]`, "json", `null`, "NULL"},
		{"array", `{"type":"array","items":["null","long"]}`, "json", `[{"long":1},null]`, `[1,null]`},
		{"map", `{"type":"map","values":"double"}`, "json", `{"a":1e300}`, `{"a":1e+300}`},
		{"record", `{"type":"record","name":"R","fields":[{"name":"a","type":{"type":"int","logicalType":"date"}},{"name":"b","type":"bytes"},{"name":"c","type":"float"},{"name":"d","type":["null","R"]}]}`, "json",
			`{"a":19000,"b":"\u0001ÿ","c":"NaN","d":{"R":{"a":0,"b":"","c":0.1,"d":null}}}`, `{"a":"2022-01-08","b":"Af8=","c":"NaN","d":{"a":"1970-01-01","b":"","c":0.1,"d":null}}`},
		{"logical types in JSON", `{"type":"record","name":"R","fields":[{"name":"a","type":{"type":"long","logicalType":"timestamp-millis"}},{"name":"b","type":{"type":"long","logicalType":"local-timestamp-micros"}},{"name":"c","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":3}},{"name":"d","type":{"type":"int","logicalType":"time-millis"}},{"name":"e","type":{"type":"long","logicalType":"timestamp-millis"}}]}`, "json",
			`{"a":1,"b":-1,"c":"ÿ","d":3723004,"e":9223372036854775807}`, `{"a":"1970-01-01T00:00:00.001Z","b":"1969-12-31T23:59:59.999999","c":-0.001,"d":"01:02:03.004","e":9223372036854775807}`},
		{"io.debezium.time.Date", `{"type":"int","connect.name":"io.debezium.time.Date"}`, "date", `3`, "3"},
		{"io.debezium.time.Timestamp", `{"type":"long","connect.name":"io.debezium.time.Timestamp"}`, "timestamp(3)", `3`, "3000"},
		{"io.debezium.time.MicroTimestamp", `["null",{"type":"long","connect.version":1,"connect.name":"io.debezium.time.MicroTimestamp"}]`, "timestamp(6)", `{"long":3}`, "3"},
		{"io.debezium.time.NanoTimestamp", `{"type":"long","connect.name":"io.debezium.time.NanoTimestamp"}`, "timestamp(6)", `3999`, "3"},
		{"io.debezium.time.Time", `{"type":"int","connect.name":"io.debezium.time.Time"}`, "time(3)", `3`, "3000"},
		{"io.debezium.time.MicroTime", `{"type":"long","connect.name":"io.debezium.time.MicroTime"}`, "time(6)", `3`, "3"},
		{"io.debezium.time.NanoTime", `{"type":"long","connect.name":"io.debezium.time.NanoTime"}`, "time(6)", `3999`, "3"},
		{"io.debezium.time.ZonedTimestamp", `{"type":"string","connect.name":"io.debezium.time.ZonedTimestamp"}`, "timestamp(6)", `"1970-01-01T01:00:00.000001+01:00"`, "1"},
		{"ZonedTimestamp that is none", `{"type":"string","connect.name":"io.debezium.time.ZonedTimestamp"}`, "timestamp(6)", `"soon"`, fieldError},
		{"io.debezium.data.Json", `{"type":"string","connect.name":"io.debezium.data.Json"}`, "json", `"{\"a\":1.10}"`, `{"a":1.10}`},
		{"Json that is none", `{"type":"string","connect.name":"io.debezium.data.Json"}`, "json", `"{a"`, fieldError},
		{"io.debezium.data.Enum", `{"type":"string","connect.name":"io.debezium.data.Enum"}`, "text", `"x"`, "x"},
		{"io.debezium.data.VariableScaleDecimal", `{"type":"record","name":"V","fields":[{"name":"scale","type":"int"},{"name":"value","type":"bytes"}],"connect.name":"io.debezium.data.VariableScaleDecimal"}`, "text", `{"scale":1,"value":"ÿ"}`, "-0.1"},
		{"a negative scale", `{"type":"record","name":"V","fields":[{"name":"scale","type":"int"},{"name":"value","type":"bytes"}],"connect.name":"io.debezium.data.VariableScaleDecimal"}`, "text", `{"scale":-3,"value":"\u0007"}`, "7000"},
		{"Connect's Decimal", `{"type":"bytes","scale":2,"connect.version":1,"connect.parameters":{"scale":"2","connect.decimal.precision":"9"},"connect.name":"org.apache.kafka.connect.data.Decimal"}`, "decimal(9,2)", `"\u0004\u00d2"`, "12.34"},
		{"Connect's Timestamp", `{"type":"long","connect.name":"org.apache.kafka.connect.data.Timestamp","logicalType":"timestamp-millis"}`, "timestamp(3)", `1`, "1000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := `{"type":"record","name":"Row","fields":[{"name":"x","type":` + c.avro + `}]}`
			s, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Fields()[0].Type.String(); got != c.column || !s.Fields()[0].Nullable {
				t.Errorf("column %s, want %s", got, c.column)
			}
			p, err := s.Compile([]int{0})
			if err != nil {
				t.Fatal(err)
			}
			got, err := row(t, p, s.Fields(), []int{0}, encodeJSON(t, text, `{"x":`+c.value+`}`))
			if err != nil || got[0] != c.shown {
				t.Errorf("%v, %v; want %s", got, err, c.shown)
			}
		})
	}
}

// encodeJSON encodes a value in Avro's JSON encoding with the library, logical types aside.
func encodeJSON(t testing.TB, schema, value string, references ...string) []byte {
	t.Helper()
	var cache avro.SchemaCache
	options := []avro.SchemaOpt{laxNames}
	for logical := range logicalTypes {
		options = append(options, avro.WithCustomType(avro.CustomType{LogicalType: logical}))
	}
	for _, r := range references {
		if _, err := cache.Parse(r, laxNames); err != nil {
			t.Fatal(err)
		}
	}
	rewritten, err := lenient(schema)
	if err != nil {
		t.Fatal(err)
	}
	s, err := cache.Parse(rewritten, options...)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := s.DecodeJSON([]byte(value), &v, avro.TaggedUnions()); err != nil {
		t.Fatalf("%v: %s", err, value)
	}
	record, err := s.Encode(v)
	if err != nil {
		t.Fatalf("%v: %s", err, value)
	}
	return record
}

func TestConnectNamesCanBeIgnored(t *testing.T) {
	s, err := ParseWith(`{"type":"record","name":"R","fields":[{"name":"x","type":{"type":"long","connect.name":"io.debezium.time.Timestamp"}}]}`, Options{IgnoreConnectNames: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(s.Fields()[0].Type); got != "int64" {
		t.Error(got)
	}
}

// Schemas of real topics that stricter readers refuse.
func TestLenientSchemas(t *testing.T) {
	for _, c := range []struct{ name, schema, want string }{
		{"a default of the second branch", `{"type":"record","name":"R","fields":[{"name":"x","type":["null","int"],"default":5}]}`, "x int32"},
		{"a default of no type at all", `{"type":"record","name":"R","fields":[{"name":"x","type":{"type":"int","logicalType":"date"},"default":"today"}]}`, "x date"},
		{"NaN as a default", `{"type":"record","name":"R","fields":[{"name":"x","type":"float","default":"NaN"}]}`, "x float64"},
		{"a default of a decimal", `{"type":"record","name":"R","fields":[{"name":"x","type":{"type":"bytes","logicalType":"decimal","precision":4,"scale":2},"default":"\u0000"}]}`, "x decimal(4,2)"},
		{"a scale above the precision", `{"type":"record","name":"R","fields":[{"name":"x","type":{"type":"bytes","logicalType":"decimal","precision":2,"scale":4}}]}`, "x decimal(4,4)"},
		{"no precision", `{"type":"record","name":"R","fields":[{"name":"x","type":{"type":"bytes","logicalType":"decimal","scale":4}}]}`, "x decimal(65,4)"},
		{"a negative scale is no decimal", `{"type":"record","name":"R","fields":[{"name":"x","type":{"type":"bytes","logicalType":"decimal","precision":4,"scale":-1}}]}`, "x bytes"},
		{"more precision than a fixed has", `{"type":"record","name":"R","fields":[{"name":"x","type":{"type":"fixed","name":"F","size":2,"logicalType":"decimal","precision":9,"scale":1}}]}`, "x decimal(4,1)"},
		{"a logical type beside the type", `{"type":"record","name":"R","fields":[{"name":"x","type":"long","logicalType":"timestamp-millis"}]}`, "x timestamp(3)"},
		{"a type wrapped twice", `{"type":"record","name":"R","fields":[{"name":"x","type":{"type":{"type":"int","logicalType":"date"}}}]}`, "x date"},
		{"names with dashes and blanks", `{"type":"record","name":"my-topic","namespace":"a-b.c","fields":[{"name":"two words","type":["null","string"]},{"name":"x.y","type":"a-b.c.my-topic"}]}`, "two words text, x.y json"},
		{"an enum's default that is none of it", `{"type":"record","name":"R","fields":[{"name":"x","type":{"type":"enum","name":"E","symbols":["A"],"default":"B"}}]}`, "x text"},
		{"a bare word", `long`, "value int64"},
		{"null and a record", `["null",{"type":"record","name":"R","fields":[{"name":"x","type":"int"}]}]`, "x int32"},
		{"several records", `[{"type":"record","name":"R","fields":[]},{"type":"record","name":"S","fields":[]}]`, "value json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := Parse(c.schema)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range s.Fields() {
				got = append(got, f.Name+" "+f.Type.String())
			}
			if d := cmp.Diff(c.want, strings.Join(got, ", ")); d != "" {
				t.Error(d)
			}
		})
	}
	for _, bad := range []string{``, `{`, `{"type":"recrd"}`, `{"type":"record","name":"R","fields":[{"name":"a","type":"Nobody"}]}`, `"int" "long"`, `[[]]`, `5`,
		strings.Repeat(`{"type":"array","items":`, 1500) + `"int"` + strings.Repeat(`}`, 1500)} {
		if s, err := Parse(bad); err == nil {
			t.Errorf("%.60s was taken: %v", bad, s.Fields())
		} else if len(err.Error()) > 300 {
			t.Errorf("a long error: %v", err)
		}
	}
}

func TestReferences(t *testing.T) {
	city := `{"type":"record","name":"City","namespace":"geo","fields":[{"name":"name","type":"string"}]}`
	address := `{"type":"record","name":"Address","namespace":"geo","fields":[{"name":"city","type":"City"}]}`
	user := `{"type":"record","name":"User","namespace":"app","fields":[{"name":"home","type":"geo.Address"},{"name":"born","type":"geo.City"}]}`
	s, err := Parse(user, city, address)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Compile([]int{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	record := encodeJSON(t, user, `{"home":{"city":{"name":"Oslo"}},"born":{"name":"Lima"}}`, city, address)
	got, err := row(t, p, s.Fields(), []int{0, 1}, record)
	if d := cmp.Diff([]string{`{"city":{"name":"Oslo"}}`, `{"name":"Lima"}`}, got); d != "" || err != nil {
		t.Error(d, err)
	}
	if _, err := Parse(user, city); err == nil {
		t.Error("a reference is missing and nobody says so")
	}
}
