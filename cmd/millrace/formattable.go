package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"millrace/server"
)

// tableSink draws a table. The first rows decide the widths; a result of any length needs memory for those only.
type tableSink struct {
	sink
	held   [][]string
	widths []int
	rows   int
}

// heldRows are looked at before the first is drawn.
const heldRows = 1000

func (s *tableSink) Begin(columns []server.ResultColumn) error {
	_ = s.sink.Begin(columns) // never fails
	s.held, s.widths, s.rows = nil, nil, 0
	return s.separate()
}

func (s *tableSink) Row(values [][]byte) error {
	cells := make([]string, len(values))
	for i, v := range values {
		cells[i] = display(v)
	}
	s.rows++
	if s.widths != nil {
		return s.line(cells)
	}
	if s.held = append(s.held, cells); len(s.held) < heldRows {
		return nil
	}
	return s.open()
}

// open draws the head and the rows held back.
func (s *tableSink) open() error {
	heads := make([]string, len(s.columns))
	s.widths = make([]int, len(s.columns))
	for i, c := range s.columns {
		heads[i] = display([]byte(c.Name))
		s.widths[i] = utf8.RuneCountInString(heads[i])
	}
	for _, cells := range s.held {
		for i, c := range cells {
			s.widths[i] = max(s.widths[i], utf8.RuneCountInString(c))
		}
	}
	if err := s.rule(); err != nil {
		return err
	}
	if err := s.line(heads); err != nil {
		return err
	}
	if err := s.rule(); err != nil {
		return err
	}
	for _, cells := range s.held {
		if err := s.line(cells); err != nil {
			return err
		}
	}
	s.held = nil
	return nil
}

func (s *tableSink) rule() error {
	var b strings.Builder
	for _, w := range s.widths {
		b.WriteString("+" + strings.Repeat("-", w+2))
	}
	_, err := fmt.Fprintln(s.out, b.String()+"+")
	return err
}

func (s *tableSink) line(cells []string) error {
	var b strings.Builder
	for i, c := range cells {
		pad := strings.Repeat(" ", max(0, s.widths[i]-utf8.RuneCountInString(c)))
		if s.columns[i].Kind == server.ResultNumber {
			b.WriteString("| " + pad + c + " ")
		} else {
			b.WriteString("| " + c + pad + " ")
		}
	}
	_, err := fmt.Fprintln(s.out, b.String()+"|")
	return err
}

func (s *tableSink) End() error {
	if s.widths == nil {
		if err := s.open(); err != nil {
			return err
		}
	}
	if err := s.rule(); err != nil {
		return err
	}
	noun := "rows"
	if s.rows == 1 {
		noun = "row"
	}
	_, err := fmt.Fprintf(s.out, "%d %s\n", s.rows, noun)
	return err
}
