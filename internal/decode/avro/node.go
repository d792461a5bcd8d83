package avro

import (
	"fmt"
	"strings"

	"github.com/twmb/avro"

	"millrace/internal/decode"
)

// wire is how a value is laid out in a record.
type wire uint8

const (
	null wire = iota
	boolean
	integer32
	integer64
	float32s
	float64s
	byteString
	text
	fixed
	enum
	array
	mapping
	union
	record
)

var primitives = map[string]wire{"null": null, "boolean": boolean, "int": integer32, "long": integer64, "float": float32s, "double": float64s, "bytes": byteString, "string": text}

// node is a type of a schema. Nodes of named types are shared by their references, so the graph of a recursive schema has cycles. Immutable once
// Parse is done.
type node struct {
	wire wire
	as   meaning
	name string // of a named type, with its namespace
	size int    // of a fixed
	// precision and scale of a decimal.
	precision, scale int
	symbols          []string
	fallback         string // the enum's own default, "" when it has none
	fields           []field
	inner            *node // of an array or a map
	branches         []*node
	// least is the fewest bytes that a value takes, at most hugeLeast.
	least int
	// width is the number of bytes when all values take the same, else -1.
	width int
	// uses is the number of places that a record stands in.
	uses int
}

// hugeLeast stands for a value that never ends, such as a record that holds itself.
const hugeLeast = 1 << 30

// field is one of a record.
type field struct {
	name    string
	label   string // the name as a key in JSON
	aliases []string
	node    *node
	// missing is the encoded default, nil when there is none.
	missing []byte
}

// maxNodes bounds the size of a schema.
const maxNodes = 1 << 17

// builder makes nodes of the library's tree.
type builder struct {
	named     map[string]*node
	all       []*node
	connect   bool
	recursive bool
}

// build makes the node of n, which stands in namespace and below depth containers.
func (b *builder) build(n *avro.SchemaNode, namespace string, depth int) (*node, error) {
	if len(b.all) >= maxNodes {
		return nil, fmt.Errorf("the schema has more than %d types", maxNodes)
	}
	if depth > decode.MaxDepth {
		return nil, fmt.Errorf("types lie in each other deeper than %d", decode.MaxDepth)
	}
	made := &node{width: -1, least: hugeLeast}
	w, primitive := primitives[n.Type]
	switch {
	case primitive:
		made.wire = w
	case n.Type == "array", n.Type == "map":
		inner := n.Items
		made.wire = array
		if n.Type == "map" {
			made.wire, inner = mapping, n.Values
		}
		b.all = append(b.all, made)
		var err error
		made.inner, err = b.build(inner, namespace, depth+1)
		return made, err
	case n.Type == "union":
		made.wire = union
		b.all = append(b.all, made)
		for i := range n.Branches {
			branch, err := b.build(&n.Branches[i], namespace, depth)
			if err != nil {
				return nil, err
			}
			made.branches = append(made.branches, branch)
		}
		return made, nil
	case n.Type == "fixed":
		made.wire, made.size = fixed, n.Size
		b.define(made, n)
	case n.Type == "enum":
		made.wire, made.symbols, made.fallback = enum, n.Symbols, n.EnumDefault
		b.define(made, n)
	case n.Type == "record", n.Type == "error":
		return b.record(made, n, depth)
	default:
		known := b.lookup(n.Type, namespace)
		if known == nil {
			return nil, fmt.Errorf("type '%s' is not defined", n.Type)
		}
		known.uses++
		return known, nil
	}
	made.precision, made.scale = n.Precision, n.Scale
	made.as = b.meaning(made, n)
	b.all = append(b.all, made)
	return made, nil
}

func (b *builder) record(made *node, n *avro.SchemaNode, depth int) (*node, error) {
	made.wire, made.uses = record, 1
	namespace := b.define(made, n)
	b.all = append(b.all, made)
	for i := range n.Fields {
		f := &n.Fields[i]
		inner, err := b.build(&f.Type, namespace, depth+1)
		if err != nil {
			return nil, err
		}
		made.fields = append(made.fields, field{name: f.Name, label: string(append(appendString(nil, []byte(f.Name)), ':')), aliases: f.Aliases, node: inner, missing: missingValue(f)})
	}
	made.as = b.meaning(made, n)
	return made, nil
}

// define notes a named type, of which the parser gives the namespace also where it is inherited, and returns the namespace inside it.
func (b *builder) define(made *node, n *avro.SchemaNode) (namespace string) {
	made.name = n.Name
	if dot := strings.LastIndexByte(n.Name, '.'); dot >= 0 {
		namespace = n.Name[:dot]
	} else if namespace = n.Namespace; namespace != "" {
		made.name = namespace + "." + n.Name
	}
	b.named[made.name] = made
	return namespace
}

func (b *builder) lookup(name, namespace string) *node {
	if !strings.Contains(name, ".") && namespace != "" {
		if known := b.named[namespace+"."+name]; known != nil {
			return known
		}
	}
	return b.named[strings.TrimPrefix(name, ".")]
}

// missingValue encodes the default of a field. One that does not fit the type counts as none: a record without the field shows NULL.
func missingValue(f *avro.SchemaField) []byte {
	value, ok := f.Props[defaultProp].(string)
	if !ok {
		return nil
	}
	s, err := f.Type.Schema(laxNames)
	if err != nil {
		return nil
	}
	var v any
	if err := s.DecodeJSON([]byte(value), &v); err != nil {
		return nil
	}
	encoded, err := s.AppendEncode([]byte{}, v)
	if err != nil {
		return nil
	}
	return encoded
}

// measure fills least and width of all nodes, and reports whether a record can hold itself.
func (b *builder) measure() {
	// Least is a shortest way through a grammar: start from nothing known, and relax until nothing changes. Types come before what they hold, so
	// going backwards settles all but cycles at once.
	for changed := true; changed; {
		changed = false
		for i := len(b.all) - 1; i >= 0; i-- {
			if n := b.all[i]; n.relax() {
				changed = true
			}
		}
	}
	state := map[*node]uint8{}
	for _, n := range b.all {
		b.fix(n, state)
	}
}

func (n *node) relax() (changed bool) {
	least := 0
	switch n.wire {
	case null:
	case boolean, integer32, integer64, byteString, text, enum, array, mapping:
		least = 1
	case float32s:
		least = 4
	case float64s:
		least = 8
	case fixed:
		least = n.size
	case union:
		least = hugeLeast
		for _, branch := range n.branches {
			least = min(least, branch.least+1)
		}
	case record:
		for i := range n.fields {
			least = min(least+n.fields[i].node.least, hugeLeast)
		}
	}
	changed = least < n.least
	n.least = min(n.least, least)
	return changed
}

// fix finds the width of n. state is 1 while n is being looked at, 2 afterwards.
func (b *builder) fix(n *node, state map[*node]uint8) int {
	switch state[n] {
	case 1:
		b.recursive = true
		return -1
	case 2:
		return n.width
	}
	state[n] = 1
	switch n.wire {
	case null:
		n.width = 0
	case boolean:
		n.width = 1
	case float32s:
		n.width = 4
	case float64s:
		n.width = 8
	case fixed:
		n.width = n.size
	case array, mapping:
		b.fix(n.inner, state)
	case union:
		for _, branch := range n.branches {
			b.fix(branch, state)
		}
	case record:
		n.width = 0
		for i := range n.fields {
			if w := b.fix(n.fields[i].node, state); w < 0 || n.width < 0 {
				n.width = -1
			} else {
				n.width += w
			}
		}
	}
	state[n] = 2
	return n.width
}
