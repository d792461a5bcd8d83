package jsonschema

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// node is a JSON value with the keys of objects in their order, which is that of the columns.
type node struct {
	keys    []string
	members map[string]*node
	items   []*node
	// scalar is a string, a stdjson.Number, a bool or nil when the node is no container.
	scalar any
	kind   kind
}

type kind uint8

const (
	scalar kind = iota
	object
	array
)

// maxDepth bounds the nesting of a schema.
const maxDepth = 200

var errTooDeep = errors.New("nested too deep")

func parseNode(text string) (*node, error) {
	d := stdjson.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	n, err := readNode(d, 0)
	if err != nil {
		return nil, place(err, text, d.InputOffset())
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, place(errors.New("text behind the schema"), text, d.InputOffset())
	}
	return n, nil
}

// place says where a schema is not JSON.
func place(err error, text string, offset int64) error {
	before := []byte(text[:min(int(offset), len(text))])
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("line %d: %w", bytes.Count(before, []byte{'\n'})+1, err)
}

func readNode(d *stdjson.Decoder, depth int) (*node, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	delimiter, ok := token.(stdjson.Delim)
	if !ok {
		return &node{scalar: token}, nil
	}
	if depth == maxDepth {
		return nil, errTooDeep
	}
	n := &node{kind: array}
	if delimiter == '{' {
		n = &node{kind: object, members: map[string]*node{}}
	}
	for d.More() {
		key := ""
		if n.kind == object {
			if token, err = d.Token(); err != nil {
				return nil, err
			}
			key, _ = token.(string)
		}
		child, err := readNode(d, depth+1)
		if err != nil {
			return nil, err
		}
		if n.kind == object {
			n.set(key, child)
		} else {
			n.items = append(n.items, child)
		}
	}
	_, err = d.Token()
	return n, err
}

// set adds a member; of several with one key the last one counts, in the place of the first.
func (n *node) set(key string, value *node) {
	if _, ok := n.members[key]; !ok {
		n.keys = append(n.keys, key)
	}
	n.members[key] = value
}

// get is a member of an object, nil when there is none.
func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	return n.members[key]
}

// text is a member that is a string, "" when there is none.
func (n *node) text(key string) string {
	if m := n.get(key); m != nil {
		s, _ := m.scalar.(string)
		return s
	}
	return ""
}

// number is a member that is a number, as written.
func (n *node) number(key string) (string, bool) {
	m := n.get(key)
	if m == nil {
		return "", false
	}
	x, ok := m.scalar.(stdjson.Number)
	return string(x), ok
}

// small is a member that is an integer of a sensible size.
func (n *node) small(key string) (int, bool) {
	text, ok := n.number(key)
	if !ok {
		if text = n.text(key); text == "" {
			return 0, false
		}
	}
	i, err := strconv.Atoi(text)
	return i, err == nil && i >= 0
}

// list is the items of a member that is an array.
func (n *node) list(key string) []*node {
	if m := n.get(key); m != nil && m.kind == array {
		return m.items
	}
	return nil
}

// at follows a JSON pointer (RFC 6901) without its leading slash.
func (n *node) at(pointer string) *node {
	if pointer == "" {
		return n
	}
	for step := range strings.SplitSeq(pointer, "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch {
		case n == nil:
			return nil
		case n.kind == object:
			n = n.members[step]
		default:
			i, err := strconv.Atoi(step)
			if n.kind != array || err != nil || i < 0 || i >= len(n.items) {
				return nil
			}
			n = n.items[i]
		}
	}
	return n
}
