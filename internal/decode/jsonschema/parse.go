package jsonschema

import (
	"slices"

	"millrace/internal/column"
	"millrace/internal/decode/json"
	"millrace/internal/sqlerr"
)

// Whole is the name of the only column of records that are not objects with known properties.
const Whole = "value"

// Parse reads the columns of a JSON Schema, for json.NewSchema. references are the schemas that it refers to, directly or not, by the name they are
// referred to with. A schema that is not of an object with properties gives one column, the whole record. Errors are sqlerr errors.
func Parse(text string, references map[string]string) ([]json.Field, error) {
	r, root, err := open(text, references)
	if err != nil {
		return nil, err
	}
	return r.columns(root)
}

// ParseMember reads the columns of a property that is an object: of the first of names whose schema says which properties it has. found is false where none
// does.
func ParseMember(text string, references map[string]string, names ...string) (fields []json.Field, found bool, err error) {
	r, root, err := open(text, references)
	if err != nil {
		return nil, false, err
	}
	for _, name := range names {
		i := slices.IndexFunc(root.properties, func(p property) bool { return p.name == name })
		if i < 0 {
			continue
		}
		member, err := r.read(root.properties[i].node, root.properties[i].base, 0)
		if err != nil {
			return nil, false, err
		}
		if len(member.properties) > 0 {
			fields, err := r.columns(member)
			return fields, err == nil, err
		}
	}
	return nil, false, nil
}

// open reads a schema and those that it refers to.
func open(text string, references map[string]string) (*reader, *schema, error) {
	root, err := parseNode(text)
	if err != nil {
		return nil, nil, sqlerr.New(sqlerr.OptionInvalid, "the JSON Schema is not JSON: %w", err)
	}
	if b, ok := root.scalar.(bool); root.kind != object && (!ok || !b) {
		return nil, nil, sqlerr.New(sqlerr.OptionInvalid, "the JSON Schema is not an object")
	}
	if err := check(root); err != nil {
		return nil, nil, err
	}
	others := map[string]*node{}
	for name, text := range references {
		if others[name], err = parseNode(text); err != nil {
			return nil, nil, sqlerr.New(sqlerr.OptionInvalid, "the JSON Schema %q, which is referred to, is not JSON: %w", name, err)
		}
	}
	r := &reader{documents: newDocuments(root, others), following: map[*node]bool{}}
	s, err := r.read(root, r.bases[root], 0)
	return r, s, err
}

// columns are those of an object with properties, else the whole value.
func (r *reader) columns(s *schema) ([]json.Field, error) {
	if len(s.properties) == 0 {
		f, err := r.field(Whole, s)
		if err != nil {
			return nil, err
		}
		f.Path = json.Path{}
		return []json.Field{f}, nil
	}
	fields := make([]json.Field, 0, len(s.properties))
	for _, p := range s.ordered() {
		f, err := r.property(p)
		if err != nil {
			return nil, err
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// connectIndex is the place of a property among the fields of Connect's record, -1 when it says none. It may stand beside null.
func connectIndex(n *node) int {
	if i, ok := n.small("connect.index"); ok {
		return i
	}
	for _, choice := range n.list("oneOf") {
		if i, ok := choice.small("connect.index"); ok {
			return i
		}
	}
	return -1
}

// schema is a node with all that it refers to and is made of merged.
type schema struct {
	*node
	// properties are those of the object, also of its parts.
	properties []property
	// choices are the alternatives that are not null, when there is more than one.
	choices []*schema
	// cycle: it holds itself, so there is no type to say.
	cycle bool
}

type property struct {
	name  string
	node  *node
	base  string
	index int // connect.index, -1 without
}

// ordered are the properties in the order of the record's fields: Connect writes it down, others have the order of the text.
func (s *schema) ordered() []property {
	for _, p := range s.properties {
		if p.index < 0 {
			return s.properties
		}
	}
	sorted := slices.Clone(s.properties)
	slices.SortStableFunc(sorted, func(a, b property) int { return a.index - b.index })
	return sorted
}

// reader makes columns of schemas.
type reader struct {
	*documents
	// following has the nodes on the way to the one that is read.
	following map[*node]bool
	// merged counts nodes that were read, to bound schemas whose parts are used again and again.
	merged int
}

// maxMerged bounds reader.merged.
const maxMerged = 100_000

// read merges what a node is made of: $ref, allOf, and the alternative beside null of oneOf, anyOf and type.
func (r *reader) read(n *node, base string, depth int) (*schema, error) {
	if r.merged++; r.merged > maxMerged {
		return nil, sqlerr.New(sqlerr.OptionInvalid, "the JSON Schema is made of too many parts: at most %d are followed", maxMerged)
	}
	if n.kind != object {
		return &schema{node: &node{kind: object}}, nil // true: any value
	}
	if r.following[n] || depth > maxDepth {
		return &schema{node: n, cycle: true}, nil
	}
	if err := checkTypes(n); err != nil {
		return nil, err
	}
	r.following[n] = true
	defer delete(r.following, n)
	if own, ok := r.bases[n]; ok {
		base = own
	}
	s := &schema{node: &node{kind: object, members: map[string]*node{}}}
	for _, key := range n.keys {
		s.set(key, n.members[key])
	}
	if ps := n.get("properties"); ps != nil && ps.kind == object {
		for _, name := range ps.keys {
			s.properties = append(s.properties, property{name: name, node: ps.members[name], base: base, index: connectIndex(ps.members[name])})
		}
	}
	if ref := n.text("$ref"); ref != "" {
		target, at, err := r.follow(base, ref)
		if err != nil {
			return nil, err
		}
		part, err := r.read(target, at, depth+1)
		if err != nil {
			return nil, err
		}
		s.merge(part)
	}
	for _, part := range n.list("allOf") {
		p, err := r.read(part, base, depth+1)
		if err != nil {
			return nil, err
		}
		s.merge(p)
	}
	for _, key := range []string{"oneOf", "anyOf"} {
		if err := r.choose(s, n.list(key), base, depth); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// choose adds alternatives to s: one beside null as if it stood in the place of them.
func (r *reader) choose(s *schema, alternatives []*node, base string, depth int) error {
	var choices []*schema
	for _, a := range alternatives {
		if a.text("type") == "null" {
			continue
		}
		c, err := r.read(a, base, depth+1)
		if err != nil {
			return err
		}
		choices = append(choices, c)
	}
	switch {
	case len(choices) == 1:
		s.merge(choices[0])
	case s.get("type") == nil || len(s.properties) == 0:
		s.choices = append(s.choices, choices...)
	}
	return nil
}

// merge adds what part says and s does not.
func (s *schema) merge(part *schema) {
	for _, key := range part.keys {
		if s.get(key) == nil {
			s.set(key, part.members[key])
		}
	}
	for _, p := range part.properties {
		if !slices.ContainsFunc(s.properties, func(q property) bool { return q.name == p.name }) {
			s.properties = append(s.properties, p)
		}
	}
	s.choices = append(s.choices, part.choices...)
	s.cycle = s.cycle || part.cycle
}

func (r *reader) property(p property) (json.Field, error) {
	s, err := r.read(p.node, p.base, 0)
	if err != nil {
		return json.Field{}, err
	}
	return r.field(p.name, s)
}

// field is the column of a schema. A column of the JSON records of a property is found by name.
func (r *reader) field(name string, s *schema) (json.Field, error) {
	if name == "" {
		return json.Field{}, sqlerr.New(sqlerr.OptionInvalid, "the JSON Schema has a property without a name, which cannot be a column")
	}
	f := s.columnType()
	f.Field.Name, f.Nullable = name, true
	if f.Type.Kind == column.JSON {
		f.KeepNull = !s.knowsNull()
	}
	return f, nil
}

// knowsNull reports whether the schema says that null stands for no value, as opposed to allowing any JSON.
func (s *schema) knowsNull() bool { return s.get("type") != nil || len(s.choices) > 0 || s.cycle }
