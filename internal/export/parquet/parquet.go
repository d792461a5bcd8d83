// Package parquet writes column batches as a Parquet file, so that tools that know nothing of Millrace can read a result with its types. It is the only importer
// of parquet-go.
//
// Values go column by column from vectors into pages; a page is compressed when it is full, and a row group is written out when it has
// RowGroupRows rows or about RowGroupBytes bytes, so memory does not grow with the file.
package parquet

import (
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"millrace/internal/column"
	"millrace/internal/sqlerr"
)

// The bounds of a row group. Bytes are those of the vectors, before encoding.
const (
	RowGroupRows  = 1 << 20
	RowGroupBytes = 32 << 20
)

const (
	pageBytes       = 256 << 10
	dictionaryBytes = 1 << 20
	valuesAtOnce    = 1024
)

// Codecs are the compressions that a file may have.
var Codecs = []string{"zstd", "snappy", "gzip", "none"}

var codecs = map[string]compress.Codec{"zstd": &parquet.Zstd, "snappy": &parquet.Snappy, "gzip": &parquet.Gzip, "none": &parquet.Uncompressed}

// Writer writes one file. It is used by one goroutine.
type Writer struct {
	file    *parquet.GenericWriter[any]
	columns []columnWriter
	values  []parquet.Value
	// group counts what the present row group holds.
	group struct {
		rows  int
		bytes int64
	}
}

// columnWriter makes values of one vector.
type columnWriter struct {
	out   *parquet.ColumnWriter
	value convertor
}

// New begins a file on out with a codec of Codecs. Names of fields must differ.
func New(out io.Writer, fields []column.Field, codec, createdBy string) (*Writer, error) {
	root, converters, err := schemaOf(fields)
	if err != nil {
		return nil, err
	}
	w := &Writer{values: make([]parquet.Value, 0, valuesAtOnce)}
	w.file = parquet.NewGenericWriter[any](out, parquet.NewSchema("millrace", root), parquet.Compression(codecs[codec]), parquet.CreatedBy("millrace", createdBy, ""),
		parquet.PageBufferSize(pageBytes), parquet.DictionaryMaxBytes(dictionaryBytes), parquet.DataPageStatistics(true))
	for i, out := range w.file.ColumnWriters() {
		w.columns = append(w.columns, columnWriter{out, converters[i]})
	}
	return w, nil
}

// Write adds the live rows of a batch, whose columns have the kinds of the fields. The batch is not kept.
func (w *Writer) Write(b *column.Batch) error {
	n := b.Live()
	for from := 0; from < n; from += valuesAtOnce {
		to := min(from+valuesAtOnce, n)
		for i := range w.columns {
			if err := w.writeColumn(i, b, from, to); err != nil {
				return err
			}
		}
		w.group.rows += to - from
		if w.group.rows >= RowGroupRows || w.group.bytes >= RowGroupBytes {
			if err := w.file.Flush(); err != nil {
				return err
			}
			w.group.rows, w.group.bytes = 0, 0
		}
	}
	return nil
}

// writeColumn writes the live rows from from to to of a column.
func (w *Writer) writeColumn(i int, b *column.Batch, from, to int) error {
	c, v := &w.columns[i], &b.Cols[i]
	w.values = w.values[:0]
	size := int64(8 * (to - from))
	for k := from; k < to; k++ {
		row := k
		if b.Sel != nil {
			row = int(b.Sel[k])
		}
		if v.IsNull(row) {
			w.values = append(w.values, parquet.NullValue().Level(0, 0, i))
			continue
		}
		value, err := c.value(v, row)
		if err != nil {
			return err
		}
		if v.Type.Kind.IsView() {
			size += int64(v.End[row] - v.Beg[row])
		}
		w.values = append(w.values, value.Level(0, 1, i))
	}
	w.group.bytes += size
	_, err := c.out.WriteRowValues(w.values)
	return err
}

// Close writes the rest and the footer. It does not close what New was given.
func (w *Writer) Close() error { return w.file.Close() }

// errDuplicate is the error for two columns of one name.
func errDuplicate(name string) error {
	return sqlerr.New(sqlerr.NotSupported, "two columns are named '%s', and those of a Parquet file need different names", name).WithHint("give one of them an alias")
}
