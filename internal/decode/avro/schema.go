package avro

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/twmb/avro"

	"millrace/internal/column"
	"millrace/internal/decode"
)

// laxNames takes names as they come: Connect and others write dashes and more into them.
var laxNames = avro.WithLaxNames(nil)

// Schema is a parsed Avro schema: the columns of its records as a reader, and how its records are laid out as a writer. It is immutable.
type Schema struct {
	text        string
	root        *node
	recursive   bool
	fingerprint uint64 // of the canonical form, CRC-64-AVRO
	// columns are the fields of the root record, or the one value when the root is something else.
	columns []field
	fields  []column.Field
}

var _ decode.Schema = (*Schema)(nil)

// Options say how a schema is read.
type Options struct {
	// References are the texts of schemas whose types the schema names, those that are referred to before those that refer.
	References []string
	// IgnoreConnectNames leaves types as they are that Kafka Connect and Debezium gave a meaning by the property connect.name
	// (io.debezium.time.MicroTimestamp, io.debezium.data.Json …).
	IgnoreConnectNames bool
}

// Parse reads the text of a schema. references are the texts of the schemas whose types it names, those that are referred to before those that
// refer.
func Parse(text string, references ...string) (*Schema, error) {
	return ParseWith(text, Options{References: references})
}

// ParseWith is Parse with options.
func ParseWith(text string, o Options) (*Schema, error) {
	var cache avro.SchemaCache
	for i, r := range o.References {
		if _, err := parse(&cache, r); err != nil {
			return nil, refused(fmt.Sprintf("reference %d of the Avro schema", i+1), err)
		}
	}
	parsed, err := parse(&cache, text)
	if err != nil {
		return nil, refused("the Avro schema", err)
	}
	b := builder{named: map[string]*node{}, connect: !o.IgnoreConnectNames}
	s := &Schema{text: text}
	if s.root, err = b.build(parsed.Root(), "", 0); err != nil {
		return nil, refused("the Avro schema", err)
	}
	b.measure()
	s.recursive = b.recursive
	s.fingerprint = binary.BigEndian.Uint64(parsed.Fingerprint(avro.NewRabin()))
	if r := s.root.only(); r != nil && r.wire == record && r.as == plain {
		s.columns = r.fields
	} else {
		s.columns = []field{{name: "value", node: s.root}}
	}
	for _, f := range s.columns {
		c := column.Field{Name: f.name, Type: columnType(f.node), Nullable: true}
		narrow(&c, f.node)
		s.fields = append(s.fields, c)
	}
	return s, nil
}

// refused names what is wrong with a schema in a line, however deep in it the fault lies.
func refused(what string, err error) error {
	const most = 160
	if text := err.Error(); len(text) > most {
		return fmt.Errorf("%s: …%s", what, strings.ToValidUTF8(text[len(text)-most:], ""))
	}
	return fmt.Errorf("%s: %w", what, err)
}

func parse(cache *avro.SchemaCache, text string) (*avro.Schema, error) {
	rewritten, err := lenient(text)
	if err != nil {
		return nil, err
	}
	return cache.Parse(rewritten, laxNames)
}

// Fields are the columns: those of the record, or one named value when the schema is not a record. All are nullable, because a record may be bad or lack the
// field.
func (s *Schema) Fields() []column.Field { return s.fields }

// String is the text that was parsed.
func (s *Schema) String() string { return s.text }

// Fingerprint is the CRC-64-AVRO of the schema's canonical form, which single-object records carry.
func (s *Schema) Fingerprint() uint64 { return s.fingerprint }

// Compile plans the decoding of records that were written with s itself.
func (s *Schema) Compile(wanted []int) (decode.Plan, error) { return s.CompileFrom(s, wanted) }

// CompileFrom plans the decoding of records that were written with another schema into columns of s: wanted are numbers into s.Fields. Values are
// converted to the types of s; a field that writer does not have is the default of s, or NULL. A *decode.Error means that records of writer have no
// fields at all, where s has: they are bad records, each of them.
func (s *Schema) CompileFrom(writer *Schema, wanted []int) (decode.Plan, error) {
	return compile(s, writer, wanted)
}

// SingleObject takes the header off a record in the single-object encoding: the fingerprint of the schema that it was written with, and the rest. ok is
// false when record does not begin with such a header.
func SingleObject(record []byte) (fingerprint uint64, rest []byte, ok bool) {
	if len(record) < singleObjectHeader || record[0] != 0xc3 || record[1] != 0x01 {
		return 0, nil, false
	}
	return binary.LittleEndian.Uint64(record[2:]), record[singleObjectHeader:], true
}

const singleObjectHeader = 10
