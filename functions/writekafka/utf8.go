package writekafka

import (
	"unicode/utf8"

	"millrace/internal/column"
)

// bytesTaker is an encoder that takes the text of some columns as bytes, whatever they are. Others make text of another format of it.
type bytesTaker interface {
	takesBytes(at int) bool
}

func (contentEncoder) takesBytes(int) bool { return true }
func (textEncoder) takesBytes(int) bool    { return true }

func (e *recordEncoder) takesBytes(at int) bool {
	for k := range e.columns {
		if e.columns[k] == at {
			return e.json == nil && e.kinds[k] == column.Bytes
		}
	}
	return false
}

// encodedTexts are the columns of text that encoders make text of a format of. JSON, Avro, Protobuf and csv have no place for bytes that are no UTF-8: a reader would find
// another text there, or none.
func (p *Plan) encodedTexts(key, value encoder) (texts []int) {
	of := func(e encoder, at int) {
		if p.fields[at].Type.Kind != column.Text {
			return
		}
		if t, ok := e.(bytesTaker); !ok || !t.takesBytes(at) {
			texts = append(texts, at)
		}
	}
	for _, at := range p.data {
		of(value, at)
	}
	if key != nil {
		of(key, p.key)
	}
	return texts
}

// checkTexts wants UTF-8 of a row's texts.
func (w *Writer) checkTexts(b *column.Batch, i int) error {
	for _, at := range w.texts {
		if v := &b.Cols[at]; !v.IsNull(i) && !utf8.Valid(v.View(i)) {
			return w.wrong("its column '%s' holds text that is not UTF-8", w.plan.fields[at].Name)
		}
	}
	return nil
}
