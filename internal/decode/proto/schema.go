package proto

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	"millrace/internal/column"
	"millrace/internal/decode"
)

// Message is a message type as the schema of records. It implements decode.Schema.
type Message struct {
	name   string
	files  *Files
	root   *message
	fields []column.Field
}

var _ decode.Schema = (*Message)(nil)

func newMessage(f *Files, md protoreflect.MessageDescriptor) *Message {
	m := &Message{name: string(md.FullName()), files: f, root: f.message(md)}
	m.fields = make([]column.Field, len(m.root.fields))
	for i := range m.root.fields {
		m.fields[i] = m.root.fields[i].column()
	}
	return m
}

// Name is the full name of the message.
func (m *Message) Name() string { return m.name }

// Fields are the columns: the fields of the message in the order of declaration. All are nullable, because a record may be bad or without a value.
func (m *Message) Fields() []column.Field { return m.fields }

// Compile plans the decoding of records that were written with the same schema.
func (m *Message) Compile(wanted []int) (decode.Plan, error) { return m.CompileFrom(m, wanted) }

// CompileFrom plans the decoding of records that were written with another version of the schema, where that is known. A column takes the writer's
// field with its number, as Protobuf has it, unless that one has another name and another type; then, and when there is none, the one with
// its name. Values are converted where the types differ; one that cannot be is a field error. Columns that the writer does not have
// are as if absent from the record. A nested message is shown with the fields of the writer.
func (m *Message) CompileFrom(writer *Message, wanted []int) (decode.Plan, error) {
	p := &plan{files: writer.files, root: writer.root, targets: make([]target, len(wanted)), absent: make([]decode.Slot, len(wanted)), at: make([]int32, len(writer.root.fields))}
	for i := range p.at {
		p.at[i] = -1
	}
	source := m.sources(writer)
	for i, w := range wanted {
		reader := &m.root.fields[w]
		t := newTarget(reader, source[w])
		p.targets[i], p.absent[i] = t, t.absent()
		if t.source != nil {
			p.at[t.source.index] = int32(i)
		}
	}
	return p, nil
}

// sources gives for each field of m the field of the writer that it reads, or nil. No field of the writer is read twice.
func (m *Message) sources(writer *Message) []*field {
	source := make([]*field, len(m.root.fields))
	taken := map[*field]bool{}
	for i := range m.root.fields {
		reader := &m.root.fields[i]
		if f := writer.root.find(reader.number); f != nil && (f.name == reader.name || f.typ == reader.typ && f.width == reader.width) {
			source[i], taken[f] = f, true
		}
	}
	for i := range m.root.fields {
		if source[i] != nil {
			continue
		}
		for j := range writer.root.fields {
			if f := &writer.root.fields[j]; f.name == m.root.fields[i].name && !taken[f] {
				source[i], taken[f] = f, true
			}
		}
	}
	return source
}
