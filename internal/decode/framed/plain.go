package framed

import (
	"context"
	"errors"

	"millrace/internal/decode"
)

// Plain is a schema of records that begin with nothing but themselves. What is wrong with a record that begins as framed ones do says so: to read these without
// their registry is a common mistake, and what the decoder alone could say of it leads nowhere.
func Plain(s decode.Schema) decode.Schema { return plain{s} }

type plain struct{ decode.Schema }

func (s plain) Compile(wanted []int) (decode.Plan, error) {
	p, err := s.Schema.Compile(wanted)
	return plainPlan{p}, err
}

type plainPlan struct{ decode.Plan }

func (p plainPlan) NewDecoder(ctx context.Context) decode.Decoder {
	return &plainDecoder{Decoder: p.Plan.NewDecoder(ctx)}
}

type plainDecoder struct {
	decode.Decoder
	err decode.Error
}

// Locate implements decode.Decoder.
func (d *plainDecoder) Locate(record []byte, slots []decode.Slot) error {
	err := d.Decoder.Locate(record, slots)
	if err == nil || len(record) < HeaderSize || record[0] != 0 {
		return err
	}
	var data *decode.Error
	if !errors.As(err, &data) {
		return err
	}
	d.err = *data
	d.err.Offset = -1 // where sense ends in what is read in the wrong way says nothing
	if d.err.Detail != "" {
		d.err.Detail += "; "
	}
	d.err.Detail += "the record seems to carry a schema id, as its first byte is 0: 'schemaRegistryUrl' reads such records"
	return &d.err
}
