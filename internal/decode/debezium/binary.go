package debezium

import (
	"context"
	stdjson "encoding/json"
	"errors"

	"millrace/internal/decode"
)

// Transcoder writes a record of another format as JSON. It belongs to one goroutine. An error about the data is an *decode.Error, valid until the next call.
type Transcoder interface {
	Append(dst, record []byte) ([]byte, error)
}

// CompileFrom plans the decoding of envelopes in another format, each of which is written as JSON first: the whole row is needed for one of its fields anyway,
// and before and after have the same shape.
func (s *Schema) CompileFrom(transcoder func() Transcoder, wanted []int) (decode.Plan, error) {
	inner, err := s.Compile(wanted)
	if err != nil {
		return nil, err
	}
	return &transcoded{inner, transcoder}, nil
}

type transcoded struct {
	inner      decode.Plan
	transcoder func() Transcoder
}

func (p *transcoded) NewDecoder(ctx context.Context) decode.Decoder {
	return &transcodedDecoder{inner: p.inner.NewDecoder(ctx), transcoder: p.transcoder()}
}

// transcodedDecoder decodes the JSON of a record. Slots refer to that text, which is made again when a field of another record than the last one is settled; so
// every slot with a place is Lazy, and Int is 1 where it is a view of the text.
type transcodedDecoder struct {
	inner      decode.Decoder
	transcoder Transcoder
	text       []byte
	// of is the record whose text is at hand.
	of  []byte
	err decode.Error
}

const viewOfText = 1

// Locate implements decode.Decoder.
func (d *transcodedDecoder) Locate(record []byte, slots []decode.Slot) error {
	d.of = nil
	if len(record) == 0 {
		d.err = decode.Error{Reason: decode.Empty, Offset: -1}
		return &d.err
	}
	if err := d.transcode(record); err != nil {
		return err
	}
	if err := d.inner.Locate(d.text, slots); err != nil {
		return d.withoutPlace(err)
	}
	for i := range slots {
		switch s := &slots[i]; s.Kind {
		case decode.View:
			s.Kind, s.Int = decode.Lazy, viewOfText
		case decode.Lazy:
			s.Int = 0
		}
	}
	return nil
}

// transcode makes the text of record unless it is at hand.
func (d *transcodedDecoder) transcode(record []byte) error {
	if len(d.of) == len(record) && len(record) > 0 && &d.of[0] == &record[0] {
		return nil
	}
	d.of = nil
	text, err := d.transcoder.Append(d.text[:0], record)
	if err != nil {
		return err
	}
	d.text, d.of = text, record
	return nil
}

// Settle implements decode.Decoder.
func (d *transcodedDecoder) Settle(record []byte, i int, s decode.Slot, scratch []byte) (decode.Slot, []byte, error) {
	if err := d.transcode(record); err != nil {
		return decode.Slot{}, scratch, err
	}
	view := s.Int == viewOfText
	if !view {
		var err error
		if s, scratch, err = d.inner.Settle(d.text, i, s, scratch); err != nil {
			return decode.Slot{}, scratch, d.withoutPlace(err)
		}
		view = s.Kind == decode.View
	}
	if !view {
		return s, scratch, nil
	}
	beg := len(scratch)
	scratch = append(scratch, d.text[s.Beg:s.End]...)
	return decode.Slot{Kind: decode.Made, Beg: uint32(beg), End: uint32(len(scratch))}, scratch, nil
}

// withoutPlace leaves out a place in the text, which is none in the record.
func (d *transcodedDecoder) withoutPlace(err error) error {
	var e *decode.Error
	if !errors.As(err, &e) {
		return err
	}
	d.err = *e
	d.err.Offset = -1
	return &d.err
}

// RowSchema takes the schema of rows out of the Avro schema of envelopes: that of after, or of before, which it may only name.
func RowSchema(envelope string) (string, bool) {
	var record struct {
		Fields []struct {
			Name string
			Type stdjson.RawMessage
		}
	}
	if stdjson.Unmarshal([]byte(envelope), &record) != nil {
		return "", false
	}
	for _, name := range []string{"after", "before"} {
		for _, f := range record.Fields {
			if f.Name != name {
				continue
			}
			var branches []stdjson.RawMessage
			if stdjson.Unmarshal(f.Type, &branches) != nil {
				branches = []stdjson.RawMessage{f.Type}
			}
			for _, b := range branches {
				var of struct{ Type stdjson.RawMessage }
				if stdjson.Unmarshal(b, &of) == nil && string(of.Type) == `"record"` {
					return string(b), true
				}
			}
		}
	}
	return "", false
}
