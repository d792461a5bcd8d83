// Package framed decodes records that begin with the id of the schema that they were written with.
//
// Serializers of a Confluent schema registry put before each record a zero byte and the id of its schema, four bytes, the first the most significant; those of
// Protobuf then say which message of the schema follows. A topic holds records of many ids, usually in long runs of one:
//
//	00 00 00 00 07 │ body           schema 7
//	00 00 00 00 09 │ 02 02 00 │ body   schema 9, and in it the message at 1, 0
//
// They can also put this into a header of the record, __key_schema_id or __value_schema_id; then usually with the schema's GUID, and the record is the body alone:
//
//	01 │ a GUID of 16 bytes │ 00
//
// The columns are those of one reader's schema. For each id (and message) that turns up, the plan that decodes the writer's records into these columns is asked
// for once; a decoder keeps the one of the record before at hand, so that a run costs a comparison a record.
package framed

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"millrace/internal/column"
	"millrace/internal/decode"
)

// HeaderSize is the length of the zero byte and the id.
const HeaderSize = 5

// ID names a schema in a registry.
type ID struct {
	Number uint32
	// GUID is set in place of Number where that is how the schema is named.
	GUID [16]byte
	// Global says that GUID is set.
	Global bool
}

// String is a number, or a GUID as registries write it.
func (id ID) String() string {
	if g := id.GUID[:]; id.Global {
		return fmt.Sprintf("%x-%x-%x-%x-%x", g[:4], g[4:6], g[6:8], g[8:10], g[10:])
	}
	return strconv.FormatUint(uint64(id.Number), 10)
}

// splitHeader takes the id off what the header of a record holds. An *decode.Error says that it is none.
func splitHeader(header []byte) (id ID, rest []byte, err error) {
	const number, global = 0, 1
	size := map[byte]int{number: HeaderSize, global: 1 + len(id.GUID)}
	switch {
	case len(header) == 0:
		return id, nil, &decode.Error{Reason: decode.NoSchemaID, Offset: -1, Detail: "the header for it is empty"}
	case size[header[0]] == 0:
		return id, nil, &decode.Error{Reason: decode.NoSchemaID, Offset: -1, Detail: fmt.Sprintf("the header for it begins with 0x%02x, known are 0 and 1", header[0])}
	case len(header) < size[header[0]]:
		return id, nil, &decode.Error{Reason: decode.NoSchemaID, Offset: -1, Detail: "the header for it ends within the id"}
	case header[0] == global:
		id.Global = true
		return id, header[1+copy(id.GUID[:], header[1:]):], nil
	}
	id.Number = binary.BigEndian.Uint32(header[1:])
	return id, header[HeaderSize:], nil
}

// SplitID takes the id off a record. An *decode.Error says that there is none.
func SplitID(record []byte) (id uint32, rest []byte, err error) {
	switch {
	case len(record) == 0:
		return 0, nil, &decode.Error{Reason: decode.Empty, Offset: -1}
	case record[0] != 0:
		return 0, nil, &decode.Error{Reason: decode.NoSchemaID, Offset: 0, Detail: fmt.Sprintf("the first byte is 0x%02x, that of a record with a schema id is 0; %s", record[0], unframed(record))}
	case len(record) < HeaderSize:
		return 0, nil, &decode.Error{Reason: decode.NoSchemaID, Offset: len(record), Detail: "the record ends within the id"}
	}
	return binary.BigEndian.Uint32(record[1:]), record[HeaderSize:], nil
}

// unframed says how a record without an id may be read: to read plain records with a registry is as common a mistake as the other way round.
func unframed(record []byte) string {
	switch {
	case record[0] == '{' || record[0] == '[':
		return "it begins like JSON, which format => 'json' reads without 'schemaRegistryUrl'"
	case bytes.HasPrefix(record, []byte("Obj\x01")):
		return "it begins like a file of Avro, which is not read"
	}
	return "without 'schemaRegistryUrl' records are read by 'schema'"
}

// Writers makes plans for records of schemas that are found by id.
type Writers interface {
	// Fields are the columns.
	Fields() []column.Field
	// SplitIndex takes from what follows the id that which says which message of the schema a record is: index, a part of body at its beginning, empty where the
	// language of the schema has only one.
	SplitIndex(body []byte) (index, rest []byte, err error)
	// Compile plans the decoding of the wanted fields of records of a schema. A *decode.Error says that there is no such schema, or that its records
	// cannot become these columns: the records are bad. Any other error, such as a registry that does not answer, says nothing about them. Several goroutines
	// may call it at once, for different schemas.
	Compile(ctx context.Context, id ID, index []byte, wanted []int) (decode.Plan, error)
}

// New is the schema of framed records.
func New(w Writers) decode.Schema { return schema{w} }

type schema struct{ writers Writers }

func (s schema) Fields() []column.Field { return s.writers.Fields() }

func (s schema) Compile(wanted []int) (decode.Plan, error) {
	return &plan{writers: s.writers, wanted: wanted, known: map[string]*known{}}, nil
}

// plan holds the plans of the schemas that have turned up.
type plan struct {
	writers Writers
	wanted  []int

	mu    sync.Mutex
	known map[string]*known
}

// known is the plan of records with a prefix or header. Its lock is held while the plan is asked for.
type known struct {
	mu   sync.Mutex
	plan decode.Plan
}

// of gives the plan of records that begin with id and index.
func (p *plan) of(ctx context.Context, prefix []byte, id ID, index []byte) (decode.Plan, error) {
	p.mu.Lock()
	k := p.known[string(prefix)]
	if k == nil {
		k = &known{}
		p.known[string(prefix)] = k
	}
	p.mu.Unlock()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.plan == nil {
		var err error
		if k.plan, err = p.writers.Compile(ctx, id, index, p.wanted); err != nil {
			k.plan = nil
			// Ids come from records: what is kept must not grow with those that mean nothing.
			p.mu.Lock()
			delete(p.known, string(prefix))
			p.mu.Unlock()
			return nil, err
		}
	}
	return k.plan, nil
}

func (p *plan) NewDecoder(ctx context.Context) decode.Decoder {
	return &decoder{plan: p, ctx: ctx, byPrefix: map[string]*inner{}, byHeader: map[string]*inner{}}
}

// maxDecoders bounds what a decoder keeps: ids come from records, and nobody says that they are few.
const maxDecoders = 256

// inner decodes the records with one prefix or header.
type inner struct {
	prefix []byte
	decode.Decoder
}

type decoder struct {
	plan *plan
	ctx  context.Context
	// byPrefix and last are for records that begin with their id, byHeader and lastHeader for those whose header has it.
	byPrefix, byHeader map[string]*inner
	last, lastHeader   *inner
	header             []byte
	err                decode.Error
}

var _ decode.Headed = (*decoder)(nil)

// SetHeader implements decode.Headed.
func (d *decoder) SetHeader(id []byte) { d.header = id }

// find gives the decoder of a record, and where its body begins.
func (d *decoder) find(record []byte) (*inner, int, error) {
	if d.header != nil {
		in, err := d.findHeader()
		return in, 0, err
	}
	if d.last != nil && bytes.HasPrefix(record, d.last.prefix) {
		return d.last, len(d.last.prefix), nil
	}
	id, body, err := SplitID(record)
	if err != nil {
		return nil, 0, err
	}
	index, rest, err := d.plan.writers.SplitIndex(body)
	if err != nil {
		return nil, 0, d.shift(err, HeaderSize)
	}
	prefix := record[:len(record)-len(rest)]
	d.last, err = d.inner(d.byPrefix, prefix, ID{Number: id}, index)
	return d.last, len(prefix), err
}

// findHeader gives the decoder of a record whose header names the schema.
func (d *decoder) findHeader() (*inner, error) {
	if d.lastHeader != nil && bytes.Equal(d.header, d.lastHeader.prefix) {
		return d.lastHeader, nil
	}
	id, index, err := splitHeader(d.header)
	if err == nil {
		index, _, err = d.plan.writers.SplitIndex(index)
	}
	if err == nil {
		d.lastHeader, err = d.inner(d.byHeader, d.header, id, index)
	}
	var e *decode.Error
	if errors.As(err, &e) {
		// What is wrong is not at a place in the record.
		d.err = *e
		d.err.Offset = -1
		return nil, &d.err
	}
	return d.lastHeader, err
}

// inner gives the decoder of records with a prefix or header, made once.
func (d *decoder) inner(known map[string]*inner, prefix []byte, id ID, index []byte) (*inner, error) {
	if in := known[string(prefix)]; in != nil {
		return in, nil
	}
	p, err := d.plan.of(d.ctx, prefix, id, index)
	if err != nil {
		return nil, err
	}
	if len(known) >= maxDecoders {
		clear(known)
	}
	in := &inner{bytes.Clone(prefix), p.NewDecoder(d.ctx)}
	known[string(prefix)] = in
	return in, nil
}

// Locate implements decode.Decoder. Places in slots that are Lazy count from behind the prefix, as the decoder within left them.
func (d *decoder) Locate(record []byte, slots []decode.Slot) error {
	in, n, err := d.find(record)
	if err != nil {
		return err
	}
	if err := in.Locate(record[n:], slots); err != nil {
		return d.shift(err, n)
	}
	for i := range slots {
		if slots[i].Kind == decode.View {
			slots[i].Beg += uint32(n)
			slots[i].End += uint32(n)
		}
	}
	return nil
}

// Settle implements decode.Decoder.
func (d *decoder) Settle(record []byte, i int, s decode.Slot, scratch []byte) (decode.Slot, []byte, error) {
	in, n, err := d.find(record)
	if err != nil {
		return decode.Slot{}, scratch, err
	}
	out, scratch, err := in.Settle(record[n:], i, s, scratch)
	if err != nil {
		return out, scratch, d.shift(err, n)
	}
	if out.Kind == decode.View {
		out.Beg += uint32(n)
		out.End += uint32(n)
	}
	return out, scratch, nil
}

// shift moves the place of a data error by n bytes.
func (d *decoder) shift(err error, n int) error {
	var e *decode.Error
	if !errors.As(err, &e) {
		return err
	}
	d.err = *e
	if d.err.Offset >= 0 {
		d.err.Offset += n
	}
	return &d.err
}
