package proto

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	googleproto "google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"millrace/internal/column"
	"millrace/internal/convert"
	"millrace/internal/decode"
)

// The oracle: dynamicpb, and a rendering of its messages by reflection. It shares no code with the decoder.

// mute is thrown when the oracle itself fails: it panics on an entry of a map whose key or value comes twice, the second time with a wire type that is
// not the schema's.
type mute struct{}

// oracle decodes record. ok is false when it is not a message of type md.
func oracle(md protoreflect.MessageDescriptor, record []byte) (m protoreflect.Message, ok bool) {
	defer func() {
		if recover() != nil {
			panic(mute{})
		}
	}()
	message := dynamicpb.NewMessage(md)
	if err := (googleproto.UnmarshalOptions{AllowPartial: true}).Unmarshal(record, message); err != nil {
		return nil, false
	}
	return message, true
}

// fault stands for a field error.
type fault struct{}

// value is what the column of fd shows: nil, fault, or text as show makes it.
func (o *twin) value(m protoreflect.Message, fd protoreflect.FieldDescriptor) any {
	if fd.IsList() || fd.IsMap() {
		return o.json(m, fd)
	}
	if fd.HasPresence() && !fd.HasDefault() && !m.Has(fd) {
		return nil
	}
	v := m.Get(fd)
	if fd.Message() == nil {
		return scalar(fd, v)
	}
	sub := v.Message()
	get := func(name protoreflect.Name) protoreflect.Value {
		return sub.Get(sub.Descriptor().Fields().ByName(name))
	}
	integer := func(name protoreflect.Name) int64 { return get(name).Int() }
	switch fd.Message().FullName() {
	case "google.protobuf.Timestamp":
		at := time.Unix(integer("seconds"), 0).UTC()
		if s := integer("seconds"); at.Year() < 1 || at.Year() > 9999 || s < -1e12 || s > 1e12 || integer("nanos") < 0 || integer("nanos") > 999999999 {
			return fault{}
		}
		return fmt.Sprint(integer("seconds")*1e6 + integer("nanos")/1000)
	case "google.protobuf.Duration":
		s, n := integer("seconds"), integer("nanos")
		if s < -315576000000 || s > 315576000000 || n <= -1e9 || n >= 1e9 || s > 0 && n < 0 || s < 0 && n > 0 {
			return fault{}
		}
		return fmt.Sprint(s*1e6 + n/1000)
	case "google.type.Date":
		y, mo, d := int(integer("year")), time.Month(integer("month")), int(integer("day"))
		at := time.Date(y, mo, d, 0, 0, 0, 0, time.UTC)
		if y < 1 || y > 9999 || at.Month() != mo || at.Day() != d || d == 0 {
			return fault{}
		}
		return fmt.Sprint(at.Unix() / 86400)
	case "google.type.TimeOfDay":
		h, mi, s, n := integer("hours"), integer("minutes"), integer("seconds"), integer("nanos")
		if h < 0 || h > 24 || mi < 0 || mi > 59 || s < 0 || s > 60 || n < 0 || n > 999999999 {
			return fault{}
		}
		return fmt.Sprint((h*3600+mi*60+s)*1e6 + n/1000)
	case "confluent.type.Decimal":
		text := decimalText(get("value").Bytes(), integer("scale"))
		if text == "" {
			return fault{}
		}
		f := o.message.fields[fd.Index()]
		if f.Type.Kind == column.Decimal {
			exact, bad := convert.AppendDecimal(nil, []byte(text), int(f.Type.Precision), int(f.Type.Scale))
			if bad != convert.OK {
				return fault{}
			}
			return string(exact)
		}
		return text
	}
	if strings.HasPrefix(string(fd.Message().FullName()), "google.protobuf.") && strings.HasSuffix(string(fd.Message().Name()), "Value") &&
		fd.Message().Name() != "Value" && fd.Message().Name() != "ListValue" {
		inner := fd.Message().Fields().ByNumber(1)
		return scalar(inner, sub.Get(inner))
	}
	return o.json(m, fd)
}

// scalar is the value of a column with a scalar.
func scalar(fd protoreflect.FieldDescriptor, v protoreflect.Value) any {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		if v.Bool() {
			return "1"
		}
		return "0"
	case protoreflect.EnumKind:
		if d := fd.Enum().Values().ByNumber(v.Enum()); d != nil {
			return string(d.Name())
		}
		return fmt.Sprint(v.Enum())
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		if x := v.Float(); math.IsNaN(x) || math.IsInf(x, 0) {
			return fault{}
		}
		return fmt.Sprint(math.Float64bits(v.Float()))
	case protoreflect.StringKind:
		if !utf8.ValidString(v.String()) {
			return fault{}
		}
		return v.String()
	case protoreflect.BytesKind:
		return string(v.Bytes())
	default:
		return fmt.Sprint(v.Interface())
	}
}

// decimalText is "" when the number is longer than anybody needs.
func decimalText(b []byte, scale int64) string {
	v := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0] >= 0x80 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	if scale > 1024 || scale < -1024 || len(v.Bytes()) > 1024 {
		return ""
	}
	if scale <= 0 {
		return v.Mul(v, new(big.Int).Exp(big.NewInt(10), big.NewInt(-scale), nil)).String()
	}
	return new(big.Rat).SetFrac(v, new(big.Int).Exp(big.NewInt(10), big.NewInt(scale), nil)).FloatString(int(scale))
}

// twin renders the columns of messages of one type.
type twin struct {
	message *Message
	md      protoreflect.MessageDescriptor
}

// json is the field as JSON text, with sorted keys.
func (o *twin) json(m protoreflect.Message, fd protoreflect.FieldDescriptor) any {
	text, err := json.Marshal(o.tree(fd, m.Get(fd)))
	if err != nil {
		panic(err)
	}
	return canonical(text)
}

// tree is a field's value as encoding/json takes it.
func (o *twin) tree(fd protoreflect.FieldDescriptor, v protoreflect.Value) any {
	switch {
	case fd.IsMap():
		tree := map[string]any{}
		v.Map().Range(func(k protoreflect.MapKey, e protoreflect.Value) bool {
			tree[clean(k.String())] = o.single(fd.MapValue(), e)
			return true
		})
		return tree
	case fd.IsList():
		tree := []any{}
		for i := range v.List().Len() {
			tree = append(tree, o.single(fd, v.List().Get(i)))
		}
		return tree
	default:
		return o.single(fd, v)
	}
}

func (o *twin) single(fd protoreflect.FieldDescriptor, v protoreflect.Value) any {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return v.Bool()
	case protoreflect.EnumKind:
		if fd.Enum().FullName() == "google.protobuf.NullValue" && v.Enum() == 0 {
			return nil
		}
		if d := fd.Enum().Values().ByNumber(v.Enum()); d != nil {
			return string(d.Name())
		}
		return json.Number(fmt.Sprint(v.Enum()))
	case protoreflect.FloatKind:
		return float(v.Float(), 32)
	case protoreflect.DoubleKind:
		return float(v.Float(), 64)
	case protoreflect.StringKind:
		return clean(v.String())
	case protoreflect.BytesKind:
		return base64.StdEncoding.EncodeToString(v.Bytes())
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return o.nested(v.Message())
	default:
		return json.Number(fmt.Sprint(v.Interface()))
	}
}

func clean(s string) string { return string(convert.AppendUTF8(nil, []byte(s))) }

func float(x float64, size int) any {
	switch {
	case math.IsNaN(x):
		return "NaN"
	case math.IsInf(x, 1):
		return "Infinity"
	case math.IsInf(x, -1):
		return "-Infinity"
	}
	return json.Number(strconv.FormatFloat(x, 'g', -1, size))
}

func (o *twin) nested(m protoreflect.Message) any {
	md := m.Descriptor()
	get := func(name protoreflect.Name) protoreflect.Value { return m.Get(md.Fields().ByName(name)) }
	fraction := func(n int64) string {
		switch s := fmt.Sprintf(".%09d", n); {
		case n == 0:
			return ""
		case strings.HasSuffix(s, "000000"):
			return s[:4]
		case strings.HasSuffix(s, "000"):
			return s[:7]
		default:
			return s
		}
	}
	switch name := md.FullName(); name {
	case "google.protobuf.Timestamp":
		s, n := get("seconds").Int(), get("nanos").Int()
		if at := time.Unix(s, 0).UTC(); s > -1e12 && s < 1e12 && at.Year() >= 1 && at.Year() <= 9999 && n >= 0 && n < 1e9 {
			return at.Format("2006-01-02T15:04:05") + fraction(n) + "Z"
		}
	case "google.protobuf.Duration":
		s, n := get("seconds").Int(), get("nanos").Int()
		if s >= -315576000000 && s <= 315576000000 && n > -1e9 && n < 1e9 && !(s > 0 && n < 0) && !(s < 0 && n > 0) {
			if s < 0 || n < 0 {
				return fmt.Sprintf("-%d%ss", -s, fraction(-n))
			}
			return fmt.Sprintf("%d%ss", s, fraction(n))
		}
	case "confluent.type.Decimal":
		if text := decimalText(get("value").Bytes(), get("scale").Int()); text != "" {
			return json.Number(text)
		}
	case "google.protobuf.Struct", "google.protobuf.ListValue":
		fd := md.Fields().Get(0)
		return o.tree(fd, m.Get(fd))
	case "google.protobuf.Value":
		fd := m.WhichOneof(md.Oneofs().Get(0))
		if fd == nil {
			return nil
		}
		return o.single(fd, m.Get(fd))
	case "google.protobuf.Any":
		return o.any(get("type_url").String(), get("value").Bytes())
	default:
		if strings.HasPrefix(string(name), "google.protobuf.") && strings.HasSuffix(string(name), "Value") {
			return o.single(md.Fields().Get(0), get("value"))
		}
	}
	return o.object(m)
}

func (o *twin) object(m protoreflect.Message) map[string]any {
	tree := map[string]any{}
	for i := range m.Descriptor().Fields().Len() {
		fd := m.Descriptor().Fields().Get(i)
		if !m.Has(fd) && fd.HasPresence() && !fd.HasDefault() {
			continue
		}
		tree[string(fd.Name())] = o.tree(fd, m.Get(fd))
	}
	return tree
}

func (o *twin) any(url string, value []byte) any {
	tree := map[string]any{}
	if url == "" && len(value) == 0 {
		return tree
	}
	tree["@type"], tree["value"] = url, base64.StdEncoding.EncodeToString(value)
	d, err := o.message.files.all.FindDescriptorByName(protoreflect.FullName(url[strings.LastIndexByte(url, '/')+1:]))
	if err != nil {
		return tree
	}
	md, ok := d.(protoreflect.MessageDescriptor)
	if !ok {
		return tree
	}
	m, ok := oracle(md, value)
	if !ok {
		return tree
	}
	if specialOf(md) == plain || specialOf(md) == date || specialOf(md) == timeOfDay {
		object := o.object(m)
		object["@type"] = url
		return object
	}
	tree["value"] = o.nested(m)
	return tree
}

// canonical is JSON text with sorted keys and numbers in one spelling.
func canonical(text []byte) string {
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		return fmt.Sprintf("%q is not JSON: %v", text, err)
	}
	spelled, err := json.Marshal(spell(tree))
	if err != nil {
		return err.Error()
	}
	return string(spelled)
}

func spell(tree any) any {
	switch x := tree.(type) {
	case []any:
		for i := range x {
			x[i] = spell(x[i])
		}
	case map[string]any:
		for k := range x {
			x[k] = spell(x[k])
		}
	case json.Number:
		if strings.ContainsAny(string(x), "eE") {
			f, err := x.Float64()
			if err == nil {
				return json.Number(strconv.FormatFloat(f, 'f', -1, 64))
			}
		}
	}
	return tree
}

// settled is what the decoder says of a column: nil, fault, or text as the twin shows it.
func settled(d decode.Decoder, record []byte, i int, s decode.Slot, f column.Field) (any, error) {
	var scratch []byte
	if s.Kind == decode.Lazy {
		var err error
		if s, scratch, err = d.Settle(record, i, s, []byte("before")); err != nil {
			if bad, ok := err.(*decode.Error); !ok || bad.Field != f.Name {
				return nil, fmt.Errorf("not a field error: %w", err)
			}
			return fault{}, nil
		}
	}
	switch {
	case s.Kind == decode.Null:
		return nil, nil
	case s.Kind == decode.Int && f.Type.Kind == column.Uint64:
		return fmt.Sprint(uint64(s.Int)), nil
	case s.Kind == decode.Int && f.Type.Kind.IsInt():
		return fmt.Sprint(s.Int), nil
	case s.Kind == decode.Float && f.Type.Kind == column.Float64:
		return fmt.Sprint(uint64(s.Int)), nil
	case (s.Kind == decode.View || s.Kind == decode.Made) && f.Type.Kind.IsView():
		text := record
		if s.Kind == decode.Made {
			text = scratch
		}
		if text = text[s.Beg:s.End]; f.Type.Kind == column.JSON {
			return canonical(text), nil
		}
		return string(text), nil
	}
	return nil, fmt.Errorf("a slot of kind %d for a column of type %s", s.Kind, f.Type)
}

// tester is what a *testing.T and a *rapid.T have in common.
type tester interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

// checker compares the decoder with the twin, over all columns and over some.
type checker struct {
	twin
	all, none decode.Decoder
	some      decode.Decoder
	wanted    []int
	slots     []decode.Slot
}

func newChecker(t testing.TB, m *Message) *checker {
	t.Helper()
	d, err := m.files.all.FindDescriptorByName(protoreflect.FullName(m.name))
	if err != nil {
		t.Fatal(err)
	}
	c := &checker{twin: twin{message: m, md: d.(protoreflect.MessageDescriptor)}, slots: make([]decode.Slot, len(m.fields))}
	var every []int
	for i := range m.fields {
		every = append(every, i)
		if i%3 == 1 {
			c.wanted = append(c.wanted, i)
		}
	}
	make := func(wanted []int) decode.Decoder {
		p, err := m.Compile(wanted)
		if err != nil {
			t.Fatal(err)
		}
		return p.NewDecoder(t.Context())
	}
	c.all, c.some, c.none = make(every), make(c.wanted), make(nil)
	return c
}

func (c *checker) check(t tester, record []byte) (valid bool) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil && p != any(mute{}) {
			panic(p)
		}
	}()
	m, valid := oracle(c.md, record)
	for _, d := range []decode.Decoder{c.none, c.some, c.all} {
		if err := d.Locate(record, c.slots); (err == nil) != valid {
			t.Fatalf("valid is %v, Locate says %v, record %x", valid, err, record)
		}
	}
	if !valid {
		return false
	}
	for i, f := range c.message.fields {
		c.compare(t, c.all, record, i, c.slots[i], f, m)
	}
	if err := c.some.Locate(record, c.slots[:len(c.wanted)]); err != nil {
		t.Fatal(err)
	}
	for k, i := range c.wanted {
		c.compare(t, c.some, record, k, c.slots[k], c.message.fields[i], m)
	}
	return true
}

func (c *checker) compare(t tester, d decode.Decoder, record []byte, i int, s decode.Slot, f column.Field, m protoreflect.Message) {
	t.Helper()
	got, err := settled(d, record, i, s, f)
	if err != nil {
		t.Fatalf("%s: %v, record %x", f.Name, err, record)
	}
	want := c.value(m, c.md.Fields().ByName(protoreflect.Name(f.Name)))
	if got != want {
		t.Fatalf("%s: got %v, want %v, record %x", f.Name, got, want, record)
	}
}
