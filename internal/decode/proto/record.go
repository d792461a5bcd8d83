package proto

import "millrace/internal/decode"

// RecordJSON writes whole records of a message as JSON objects. It belongs to one goroutine.
type RecordJSON struct {
	root *message
	d    decoder
}

// NewRecordJSON makes a writer of records of m.
func (m *Message) NewRecordJSON() *RecordJSON {
	return &RecordJSON{root: m.root, d: decoder{jsonWriter: jsonWriter{files: m.files, pieces: pieces{nodes: make([]node, 1)}}}}
}

// Append checks record and appends it as JSON. An error is a *decode.Error, valid until the next call; dst is then returned as it was.
func (r *RecordJSON) Append(dst, record []byte) ([]byte, error) {
	d := &r.d
	if d.walk(r.root, record, 0, 0, 1, false) < 0 {
		return dst, &d.err
	}
	d.begin(record, len(dst))
	d.depth = 0
	grown := d.appendMessage(dst, r.root, d.piece(0, uint32(len(record))))
	if d.full(grown) {
		d.fail(decode.OutOfRange, -1, "its JSON text is longer than 64 MiB")
		return dst, &d.err
	}
	return grown, nil
}
