package ddl

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"strings"
	"unicode/utf8"
)

// Infer finds the columns of JSON records from a sample of them: the members of the objects, in the order in which they first turn up. Records that are no
// JSON object are passed over; used is the number of the others.
//
// Whole numbers are BIGINT, or DECIMAL(38,0) beyond its range; others are DOUBLE. Strings stay strings, whatever they look like. What is of several types that have
// no common one is STRING, and so is what is always null.
func Infer(records [][]byte) (columns []Column, used int) {
	all := &shape{}
	for _, r := range records {
		one, err := shapeOf(r)
		if err != nil || one.members == nil {
			continue
		}
		used++
		all.merge(one)
	}
	for _, name := range all.names {
		columns = append(columns, Column{Name: name, Type: all.members[name].typ(1)})
	}
	return columns, used
}

// InferType finds the type of one JSON value.
func InferType(value []byte) (Type, error) {
	s, err := shapeOf(value)
	if err != nil {
		return Type{}, err
	}
	return s.typ(1), nil
}

// shape is what is known of the values in one place.
type shape struct {
	boolean, whole, huge, fraction, text bool
	// names are the members of objects in order; members is nil as long as there was no object.
	names   []string
	members map[string]*shape
	// elements is what is in arrays, nil as long as there was none.
	elements *shape
}

var errTooMany = errors.New("more members than a schema has columns")

func shapeOf(value []byte) (*shape, error) {
	if !utf8.Valid(value) || !json.Valid(value) {
		return nil, errors.New("it is not valid JSON")
	}
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	left := MaxColumns
	return readShape(d, &left)
}

// readShape reads a value; left is how many members may still come.
func readShape(d *json.Decoder, left *int) (*shape, error) {
	token, err := d.Token()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	s := &shape{}
	switch t := token.(type) {
	case bool:
		s.boolean = true
	case string:
		s.text = true
	case json.Number:
		s.number(string(t))
	case json.Delim:
		if t == '[' {
			s.elements = &shape{}
		} else {
			s.members = map[string]*shape{}
		}
		for d.More() {
			into := s.elements
			if t == '{' {
				key, err := d.Token()
				if err != nil {
					return nil, err
				}
				if into, err = s.member(key.(string), left); err != nil {
					return nil, err
				}
			}
			one, err := readShape(d, left)
			if err != nil {
				return nil, err
			}
			into.merge(one)
		}
		if _, err := d.Token(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *shape) member(name string, left *int) (*shape, error) {
	if m := s.members[name]; m != nil {
		return m, nil
	}
	if strings.TrimSpace(name) == "" {
		return &shape{}, nil // no column can have the name
	}
	if *left--; *left < 0 {
		return nil, errTooMany
	}
	m := &shape{}
	s.members[name] = m
	s.names = append(s.names, name)
	return m, nil
}

func (s *shape) number(text string) {
	if strings.ContainsAny(text, ".eE") {
		s.fraction = true
		return
	}
	n, _ := new(big.Int).SetString(text, 10) // digits, as the JSON is valid
	switch {
	case n.IsInt64():
		s.whole = true
	case len(strings.TrimPrefix(text, "-")) <= 38:
		s.huge = true
	default:
		s.fraction = true
	}
}

// merge adds what is known of other values in the same place.
func (s *shape) merge(o *shape) {
	s.boolean = s.boolean || o.boolean
	s.whole = s.whole || o.whole
	s.huge = s.huge || o.huge
	s.fraction = s.fraction || o.fraction
	s.text = s.text || o.text
	if o.members != nil && s.members == nil {
		s.members = map[string]*shape{}
	}
	for _, name := range o.names {
		if s.members[name] == nil {
			if len(s.names) >= MaxColumns {
				break
			}
			s.members[name] = &shape{}
			s.names = append(s.names, name)
		}
		s.members[name].merge(o.members[name])
	}
	if o.elements != nil {
		if s.elements == nil {
			s.elements = &shape{}
		}
		s.elements.merge(o.elements)
	}
}

// typ is the type that holds all the values.
func (s *shape) typ(depth int) Type {
	number := s.whole || s.huge || s.fraction
	kinds := 0
	for _, is := range []bool{s.boolean, number, s.text, s.members != nil, s.elements != nil} {
		if is {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		return Type{Name: String}
	case s.boolean:
		return Type{Name: Boolean}
	case s.fraction:
		return Type{Name: Double}
	case s.huge:
		return Type{Name: Decimal, Precision: 38}
	case s.whole:
		return Type{Name: BigInt}
	case s.text:
		return Type{Name: String}
	case depth == MaxDepth:
		return Type{Name: Variant}
	case s.elements != nil:
		elem := s.elements.typ(depth + 1)
		return Type{Name: Array, Elem: &elem}
	}
	t := Type{Name: Struct}
	taken := map[string]bool{}
	for _, name := range s.names {
		// Names of fields do not differ by case; of those that do, the first is described.
		if key := strings.ToLower(name); !taken[key] {
			taken[key] = true
			t.Fields = append(t.Fields, Column{Name: name, Type: s.members[name].typ(depth + 1)})
		}
	}
	return t
}
