// Package export writes the rows of a query to a file on the server: as Parquet, CSV, lines of JSON, or lines of text.
//
//	batches ──▶ Rows (a format) ──▶ [compression] ──▶ File: a hidden file beside the target, put in its place when it is whole
//
// A File lies below a folder that the server's operator has named, which neither .. nor a symbolic link leads out of. Nobody ever sees half of it: an error, a
// KILL and a full disk remove what was written. Memory is that of a batch and, for Parquet, of a row group.
package export

import (
	"io"
	"strings"

	"millrace/internal/column"
	"millrace/internal/export/parquet"
	"millrace/internal/option"
	"millrace/internal/sqlerr"
)

// Rows takes the rows of a result in the form of one format. The order of calls is Write any number of times, then Close; after an error nothing but to give up. It is
// used by one goroutine.
type Rows interface {
	// Write adds the live rows of a batch, whose columns have the kinds of the fields. The batch is not kept.
	Write(b *column.Batch) error
	// Close writes what is left. It does not close what lies below.
	Close() error
}

// Formats are the names of the formats.
var Formats = []string{"parquet", "csv", "jsonl", "text"}

// otherNames are what other systems call them.
var otherNames = map[string]string{"json": "jsonl", "ndjson": "jsonl", "txt": "text"}

// Format finds a format by its name.
func Format(name string) (string, error) {
	lower := strings.ToLower(name)
	if other, ok := otherNames[lower]; ok {
		return other, nil
	}
	for _, f := range Formats {
		if f == lower {
			return f, nil
		}
	}
	e := sqlerr.New(sqlerr.OptionInvalid, "EXPORT has no format '%s', allowed are %s", option.Show(name), strings.Join(Formats, ", "))
	if near := option.Nearest(lower, Formats); near != "" {
		e = e.WithHint("did you mean '%s'?", near)
	}
	return "", e
}

// Plan is how a result will be written: format and options, checked.
type Plan struct {
	format string
	values *option.Values
	// createdBy is the version of the program, for files that name it.
	createdBy string
}

// NewPlan checks the options of a format.
func NewPlan(format string, pairs []option.Pair, createdBy string) (Plan, error) {
	p := Plan{format: format, createdBy: createdBy}
	var err error
	if p.values, err = Options[format].Bind(pairs, false); err != nil {
		return p, err
	}
	return p, p.check()
}

// Open begins to write rows with these columns to out.
func (p Plan) Open(out io.Writer, fields []column.Field) (Rows, error) {
	if p.format == "parquet" {
		return parquet.New(out, fields, p.values.String("compression"), p.createdBy)
	}
	var l line
	var err error
	switch p.format {
	case "csv":
		l, err = p.csvLine(fields)
	case "jsonl":
		l, err = p.jsonLine(fields)
	default:
		l, err = p.textLine(fields)
	}
	if err != nil {
		return nil, err
	}
	return newLines(out, l, p.values.String("compression"))
}
