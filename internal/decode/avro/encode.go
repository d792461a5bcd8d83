package avro

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/twmb/avro"
)

// Encoder writes records of a schema. It is safe for use by several goroutines.
type Encoder struct{ schema *avro.Schema }

// NewEncoder makes an encoder of records of s.
func (s *Schema) NewEncoder() (*Encoder, error) {
	parsed, err := parse(new(avro.SchemaCache), s.text)
	if err != nil {
		return nil, refused("the Avro schema", err)
	}
	return &Encoder{parsed}, nil
}

// AppendJSON appends the record that JSON text describes: records and maps are objects, values of unions stand bare, a member that is missing has the schema's
// default. Numbers keep all their digits.
func (e *Encoder) AppendJSON(dst, text []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return dst, errors.New("it is not valid JSON")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return dst, errors.New("something follows the JSON value")
	}
	out, err := e.schema.AppendEncode(dst, value)
	if err != nil {
		return dst, err
	}
	return out, nil
}
