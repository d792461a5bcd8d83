package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"millrace/server"
)

// newSink writes answers to out in a format; what is no answer (warnings, counts) goes to notes.
func newSink(format string, out, notes io.Writer) server.Sink {
	base := sink{out: out, notes: notes}
	switch format {
	case "csv":
		return &csvSink{sink: base, w: csv.NewWriter(out)}
	case "json":
		return &jsonSink{sink: base}
	case "jsonl":
		return &jsonSink{sink: base, lines: true}
	case "vertical":
		return &verticalSink{sink: base}
	default:
		return &tableSink{sink: base}
	}
}

// sink is what the formats share.
type sink struct {
	out, notes io.Writer
	columns    []server.ResultColumn
	results    int
}

// Done implements server.Sink.
func (s *sink) Done(affected, _ uint64, info string) error {
	text := fmt.Sprintf("ok, %d rows affected", affected)
	if affected == 1 {
		text = "ok, 1 row affected"
	}
	if info != "" {
		text += " (" + info + ")"
	}
	_, err := fmt.Fprintln(s.notes, text)
	return err
}

// Warning implements server.Sink.
func (s *sink) Warning(code int, message string) error {
	_, err := fmt.Fprintf(s.notes, "warning %d: %s\n", code, message)
	return err
}

// Begin implements server.Sink.
func (s *sink) Begin(columns []server.ResultColumn) error {
	s.columns = columns
	s.results++
	return nil
}

// separate puts an empty line between two results.
func (s *sink) separate() error {
	if s.results < 2 {
		return nil
	}
	_, err := fmt.Fprintln(s.out)
	return err
}

// display is a value for people: NULL by name, bytes that are no text in hexadecimal, control characters escaped.
func display(v []byte) string {
	if v == nil {
		return "NULL"
	}
	if !utf8.Valid(v) {
		return fmt.Sprintf("0x%X", v)
	}
	if bytes.ContainsFunc(v, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`, "\x00", `\0`, "\x1b", `\e`).Replace(string(v))
	}
	return string(v)
}

// csvSink writes RFC 4180. NULL is an empty field, text that is empty a quoted one does not have: use json when that matters.
type csvSink struct {
	sink
	w      *csv.Writer
	fields []string
}

func (s *csvSink) Begin(columns []server.ResultColumn) error {
	_ = s.sink.Begin(columns) // never fails
	if err := s.separate(); err != nil {
		return err
	}
	s.fields = s.fields[:0]
	for _, c := range columns {
		s.fields = append(s.fields, c.Name)
	}
	return s.w.Write(s.fields)
}

func (s *csvSink) Row(values [][]byte) error {
	s.fields = s.fields[:0]
	for _, v := range values {
		text := string(v)
		if !utf8.Valid(v) {
			text = fmt.Sprintf("0x%X", v)
		}
		s.fields = append(s.fields, text)
	}
	return s.w.Write(s.fields)
}

func (s *csvSink) End() error {
	s.w.Flush()
	return s.w.Error()
}

// jsonSink writes an object for each row: in an array for each result, or one a line.
type jsonSink struct {
	sink
	lines  bool
	names  [][]byte
	rows   int
	buffer bytes.Buffer
}

func (s *jsonSink) Begin(columns []server.ResultColumn) error {
	_ = s.sink.Begin(columns) // never fails
	s.rows, s.names = 0, nil
	for _, c := range columns {
		name, err := json.Marshal(c.Name)
		if err != nil {
			return err
		}
		s.names = append(s.names, name)
	}
	return nil
}

func (s *jsonSink) Row(values [][]byte) error {
	b := &s.buffer
	b.Reset()
	switch {
	case s.lines:
	case s.rows == 0:
		b.WriteString("[\n ")
	default:
		b.WriteString(",\n ")
	}
	s.rows++
	b.WriteByte('{')
	for i, v := range values {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(s.names[i])
		b.WriteByte(':')
		if err := s.value(s.columns[i].Kind, v); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	if s.lines {
		b.WriteByte('\n')
	}
	_, err := s.out.Write(b.Bytes())
	return err
}

// value writes a value as JSON: numbers and JSON as they are, so that no digit is lost, the rest as a string.
func (s *jsonSink) value(kind server.ResultKind, v []byte) error {
	if v == nil {
		s.buffer.WriteString("null")
		return nil
	}
	if kind != server.ResultText && json.Valid(v) {
		s.buffer.Write(v)
		return nil
	}
	text := string(v)
	if !utf8.Valid(v) {
		text = fmt.Sprintf("0x%X", v)
	}
	encoded, err := json.Marshal(text)
	s.buffer.Write(encoded)
	return err
}

func (s *jsonSink) End() error {
	if s.lines {
		return nil
	}
	text := "\n]\n"
	if s.rows == 0 {
		text = "[]\n"
	}
	_, err := io.WriteString(s.out, text)
	return err
}

// verticalSink writes a line for each value.
type verticalSink struct {
	sink
	rows int
}

func (s *verticalSink) Begin(columns []server.ResultColumn) error {
	s.rows = 0
	return s.sink.Begin(columns)
}

func (s *verticalSink) Row(values [][]byte) error {
	s.rows++
	width := 0
	for _, c := range s.columns {
		width = max(width, utf8.RuneCountInString(c.Name))
	}
	if _, err := fmt.Fprintf(s.out, "*************************** %d. row ***************************\n", s.rows); err != nil {
		return err
	}
	for i, v := range values {
		if _, err := fmt.Fprintf(s.out, "%*s: %s\n", width, s.columns[i].Name, display(v)); err != nil {
			return err
		}
	}
	return nil
}

func (s *verticalSink) End() error { return nil }
