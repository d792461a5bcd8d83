package proto

import (
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	googleproto "google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"millrace/internal/column"
	"millrace/internal/convert"
)

// message is a message type prepared for walking records. It is immutable once Files has compiled it, and shared.
type message struct {
	special special
	// fields are in the order of declaration.
	fields []field
	// byName has the fields by both names that JSON may give them.
	byName map[string]*field
	// low holds the fields with small numbers by number, high the others.
	low    []*field
	high   map[uint32]*field
	oneofs int
}

// lowNumbers bounds message.low. Numbers up to 15 take one byte on the wire and up to 2047 two, so most schemas stay below.
const lowNumbers = 128

// find returns the field with a number, nil when there is none.
func (m *message) find(number uint32) *field {
	if number < uint32(len(m.low)) {
		return m.low[number]
	}
	return m.high[number]
}

// field is a field of a message type.
type field struct {
	name string
	// key is the name as a key in JSON, with the colon. camel is the name that Protobuf's own JSON mapping gives the field.
	key    []byte
	camel  string
	index  int32
	number uint32
	kind   protoreflect.Kind
	wire   uint8 // of a single value
	// list and mapped fields are repeated; packable ones may come several to a field, one behind the other.
	list, mapped, packable bool
	// packed: who writes a list packs it.
	packed bool
	// presence: a record tells whether it has the field. nullable: there is nothing in place of the field when it has not.
	presence, nullable bool
	// checked: a string that is not UTF-8 makes the record malformed.
	checked bool
	// oneof is the number of the oneof that the field is a member of, -1 of none.
	oneof int32
	// sub is the type of a message, a group or of the entries of a map.
	sub  *message
	enum *enum
	// the default of a scalar: a number as number gives it, or text.
	defaultNumber int64
	defaultText   []byte
	// typ is the type of the field as a column, narrowed to width as in column.Field.
	typ   column.Type
	width uint32
}

// column is the column of the field. All are nullable, because a record may be bad or without a value.
func (fd *field) column() column.Field {
	return column.Field{Name: fd.name, Type: fd.typ, Width: fd.width, Nullable: true}
}

// enum is the names of an enum's numbers.
type enum struct {
	// low holds the names of small numbers, "" where there is none, high the others.
	low  []string
	high map[int32]string
	// numbers are the numbers of the names.
	numbers map[string]int32
	// null: it is google.protobuf.NullValue, which is null in JSON.
	null bool
}

func (e *enum) name(number int32) string {
	if number >= 0 && int(number) < len(e.low) {
		return e.low[number]
	}
	return e.high[number]
}

// append appends the name of number, or its digits when it has none.
func (e *enum) append(dst []byte, number int32) []byte {
	if name := e.name(number); name != "" {
		return append(dst, name...)
	}
	return strconv.AppendInt(dst, int64(number), 10)
}

func newEnum(ed protoreflect.EnumDescriptor) *enum {
	e := &enum{high: map[int32]string{}, numbers: map[string]int32{}, null: ed.FullName() == "google.protobuf.NullValue"}
	values := ed.Values()
	for i := range values.Len() {
		n := values.Get(i).Number()
		e.numbers[string(values.Get(i).Name())] = int32(n)
		name := string(values.ByNumber(n).Name()) // the first of several with the number
		if n >= 0 && n < lowNumbers {
			for int(n) >= len(e.low) {
				e.low = append(e.low, "")
			}
			e.low[n] = name
		} else {
			e.high[int32(n)] = name
		}
	}
	return e
}

// message returns the compiled form of md.
func (f *Files) message(md protoreflect.MessageDescriptor) *message {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.compile(md)
}

// named finds a message by the full name in a google.protobuf.Any; nil when the schema has none of that name.
func (f *Files) named(name []byte) *message {
	f.mu.RLock()
	m := f.compiled[protoreflect.FullName(name)]
	f.mu.RUnlock()
	if m != nil {
		return m
	}
	d, err := f.all.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		return nil
	}
	md, ok := d.(protoreflect.MessageDescriptor)
	if !ok || md.IsMapEntry() {
		return nil
	}
	return f.message(md)
}

// compile is message with mu held.
func (f *Files) compile(md protoreflect.MessageDescriptor) *message {
	if m := f.compiled[md.FullName()]; m != nil {
		return m
	}
	fields := md.Fields()
	m := &message{fields: make([]field, fields.Len()), high: map[uint32]*field{}, byName: map[string]*field{}, oneofs: md.Oneofs().Len()}
	f.compiled[md.FullName()] = m // before its fields: a message may hold itself
	m.special = specialOf(md)
	for i := range m.fields {
		fd := &m.fields[i]
		f.compileField(fd, fields.Get(i))
		m.byName[fd.name] = fd
		if fd.number < lowNumbers {
			for int(fd.number) >= len(m.low) {
				m.low = append(m.low, nil)
			}
			m.low[fd.number] = fd
		} else {
			m.high[fd.number] = fd
		}
	}
	for i := range m.fields {
		if fd := &m.fields[i]; m.byName[fd.camel] == nil {
			m.byName[fd.camel] = fd
		}
	}
	return m
}

func (f *Files) compileField(fd *field, d protoreflect.FieldDescriptor) {
	*fd = field{
		name: string(d.Name()), camel: d.JSONName(), index: int32(d.Index()), number: uint32(d.Number()), kind: d.Kind(), wire: wireOf(d.Kind()),
		list: d.IsList(), mapped: d.IsMap(), packed: d.IsPacked(), presence: d.HasPresence(), oneof: -1,
	}
	fd.key = append(convert.AppendJSONString(nil, []byte(fd.name)), ':')
	fd.packable = fd.list && fd.wire != wireBytes && fd.wire != wireStartGroup
	fd.nullable = fd.presence && !d.HasDefault()
	if o := d.ContainingOneof(); o != nil {
		fd.oneof = int32(o.Index())
	}
	if d.Kind() == protoreflect.StringKind {
		// Which strings are checked is a feature of editions that the public interface of descriptors lacks; its implementation has it.
		e, ok := d.(interface{ EnforceUTF8() bool })
		fd.checked = ok && e.EnforceUTF8() || !ok && d.ParentFile().Syntax() == protoreflect.Proto3
	}
	if d.Message() != nil {
		fd.sub = f.compile(d.Message())
	}
	if d.Enum() != nil {
		fd.enum = newEnum(d.Enum())
	}
	if !fd.list && fd.sub == nil {
		fd.setDefault(d.Default())
	}
	fd.typ = fd.columnType(d)
	kind := fd.kind
	if fd.sub != nil && fd.sub.special == wrapper {
		kind = fd.sub.fields[0].kind
	}
	switch kind {
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind, protoreflect.FloatKind:
		fd.width = 32
	}
	if fd.list || fd.mapped {
		fd.width = 0
	}
}

func (fd *field) setDefault(v protoreflect.Value) {
	switch x := v.Interface().(type) {
	case bool:
		if x {
			fd.defaultNumber = 1
		}
	case int32:
		fd.defaultNumber = int64(x)
	case int64:
		fd.defaultNumber = x
	case uint32:
		fd.defaultNumber = int64(x)
	case uint64:
		fd.defaultNumber = int64(x)
	case float32:
		fd.defaultNumber = int64(math.Float64bits(float64(x)))
	case float64:
		fd.defaultNumber = int64(math.Float64bits(x))
	case protoreflect.EnumNumber:
		fd.defaultNumber = int64(x)
	case string:
		fd.defaultText = []byte(x)
	case []byte:
		fd.defaultText = x
	}
}

// columnType is the type of the field's column.
func (fd *field) columnType(d protoreflect.FieldDescriptor) column.Type {
	if fd.list || fd.mapped {
		return column.Type{Kind: column.JSON}
	}
	if fd.sub == nil {
		return scalarType(fd.kind)
	}
	switch fd.sub.special {
	case timestamp:
		return column.Type{Kind: column.Timestamp, Scale: 6}
	case duration:
		return column.Type{Kind: column.Int64}
	case wrapper:
		return scalarType(fd.sub.fields[0].kind)
	case date:
		return column.Type{Kind: column.Date}
	case timeOfDay:
		return column.Type{Kind: column.Time, Scale: 6}
	case decimal:
		return decimalType(d)
	default:
		return column.Type{Kind: column.JSON}
	}
}

func scalarType(k protoreflect.Kind) column.Type {
	switch k {
	case protoreflect.BoolKind:
		return column.Type{Kind: column.Bool}
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return column.Type{Kind: column.Int32}
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind, protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return column.Type{Kind: column.Uint64}
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return column.Type{Kind: column.Float64}
	case protoreflect.StringKind, protoreflect.EnumKind:
		return column.Type{Kind: column.Text}
	case protoreflect.BytesKind:
		return column.Type{Kind: column.Bytes}
	default:
		return column.Type{Kind: column.Int64}
	}
}

// decimalType reads precision and scale of a confluent.type.Decimal from the field's parameters; without them only text holds every value.
func decimalType(d protoreflect.FieldDescriptor) column.Type {
	params := metaParams(d)
	scale, hasScale := params["scale"]
	if !hasScale {
		scale, hasScale = params["connect.decimal.scale"]
	}
	precision, hasPrecision := params["precision"]
	if !hasPrecision {
		precision, hasPrecision = params["connect.decimal.precision"]
	}
	s, err := strconv.Atoi(scale)
	if !hasScale || err != nil || s < 0 || s > convert.MaxScale {
		return column.Type{Kind: column.Text}
	}
	p := convert.MaxPrecision
	if hasPrecision {
		if p, err = strconv.Atoi(precision); err != nil || p < 1 || p > convert.MaxPrecision || p < s {
			return column.Type{Kind: column.Text}
		}
	}
	return column.Type{Kind: column.Decimal, Precision: uint8(p), Scale: uint8(s)}
}

// metaField is the number of Confluent's extension of field options, paramsField that of its map of parameters.
const (
	metaField   = 1088
	paramsField = 2
)

// metaParams reads the parameters off the wire form of a field's options: the extension is not one that this program is linked with.
func metaParams(d protoreflect.FieldDescriptor) map[string]string {
	options, err := googleproto.Marshal(d.Options())
	if err != nil {
		return nil
	}
	params := map[string]string{}
	eachBytes(options, func(number protowire.Number, meta []byte) {
		if number != metaField {
			return
		}
		eachBytes(meta, func(number protowire.Number, entry []byte) {
			if number != paramsField {
				return
			}
			var pair [3]string
			eachBytes(entry, func(number protowire.Number, text []byte) {
				if number < 3 {
					pair[number] = string(text)
				}
			})
			params[pair[1]] = pair[2]
		})
	})
	return params
}

// eachBytes calls do for the fields of message with a length.
func eachBytes(message []byte, do func(protowire.Number, []byte)) {
	for len(message) > 0 {
		number, wire, n := protowire.ConsumeTag(message)
		if n < 0 {
			return
		}
		message = message[n:]
		if n = protowire.ConsumeFieldValue(number, wire, message); n < 0 {
			return
		}
		if wire == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(message)
			do(number, value)
		}
		message = message[n:]
	}
}
