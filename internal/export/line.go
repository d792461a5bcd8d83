package export

import (
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"millrace/internal/column"
)

// line makes the text of a row.
type line interface {
	// start appends what stands before all rows.
	start(dst []byte) []byte
	// append appends row i of a batch, with the end of its line.
	append(dst []byte, b *column.Batch, i int) ([]byte, error)
}

// lines is Rows for the formats that have a line for each row.
type lines struct {
	line   line
	out    io.Writer
	packed io.WriteCloser // nil without compression
	buffer []byte
}

// bufferBytes is how much text is written at once.
const bufferBytes = 64 << 10

func newLines(out io.Writer, l line, codec string) (*lines, error) {
	w := &lines{line: l, out: out, buffer: make([]byte, 0, 2*bufferBytes)}
	switch codec {
	case "gzip":
		w.packed = gzip.NewWriter(out)
	case "zstd":
		// One encoder without goroutines of its own: a file is made at the speed of one disk.
		z, err := zstd.NewWriter(out, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		w.packed = z
	}
	if w.packed != nil {
		w.out = w.packed
	}
	w.buffer = l.start(w.buffer)
	return w, nil
}

// Write implements Rows.
func (w *lines) Write(b *column.Batch) (err error) {
	for k := range b.Live() {
		i := k
		if b.Sel != nil {
			i = int(b.Sel[k])
		}
		if w.buffer, err = w.line.append(w.buffer, b, i); err != nil {
			return err
		}
		if len(w.buffer) >= bufferBytes {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *lines) flush() error {
	_, err := w.out.Write(w.buffer)
	w.buffer = w.buffer[:0]
	return err
}

// Close implements Rows.
func (w *lines) Close() error {
	if err := w.flush(); err != nil {
		return err
	}
	if w.packed == nil {
		return nil
	}
	return w.packed.Close()
}
