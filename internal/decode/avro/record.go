package avro

import (
	"context"

	"millrace/internal/decode"
)

// RecordJSON writes whole records as JSON, in the shape of the schema that they were written with. It belongs to one goroutine.
type RecordJSON struct {
	root *node
	d    *decoder
}

// NewRecordJSON makes a writer of records of s.
func (s *Schema) NewRecordJSON() *RecordJSON {
	c := compiler{writer: s, plan: &plan{least: s.root.least, fingerprint: s.fingerprint}, routines: map[*node]*routine{}}
	c.plan.code = c.skip(nil, s.root)
	return &RecordJSON{root: s.root, d: c.plan.NewDecoder(context.Background()).(*decoder)}
}

// Append checks record and appends it as JSON. An error is a *decode.Error, valid until the next call; dst is then returned as it was.
func (r *RecordJSON) Append(dst, record []byte) ([]byte, error) {
	if err := r.d.Locate(record, nil); err != nil {
		return dst, err
	}
	p := 0
	if fingerprint, _, ok := SingleObject(record); ok && fingerprint == r.d.plan.fingerprint {
		p = singleObjectHeader
	}
	j := jsonWriter{d: r.d, b: record, out: dst}
	if j.value(p, r.root) < 0 {
		return dst, &r.d.err
	}
	return j.out, nil
}

var _ decode.Decoder = (*decoder)(nil)
