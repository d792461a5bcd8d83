package jsonschema

import (
	"net/url"
	"strings"

	"millrace/internal/sqlerr"
)

// documents are a schema and those that it refers to.
type documents struct {
	// byURL has every document and every part with an $id of its own, by URL without a fragment.
	byURL map[string]*node
	// bases has the URL that references in a node are relative to, for the nodes that change it.
	bases map[*node]string
	// anchors has the nodes with an $anchor, by URL and anchor with a # between them.
	anchors map[string]*node
}

// rootURL is what the schema is called that has no $id.
const rootURL = "schema:root"

func newDocuments(root *node, references map[string]*node) *documents {
	d := &documents{byURL: map[string]*node{}, bases: map[*node]string{}, anchors: map[string]*node{}}
	for name, n := range references {
		d.add(n, name)
		d.byURL[name] = n
	}
	d.add(root, rootURL)
	return d
}

// add notes n, which is at base unless it says otherwise, and its parts.
func (d *documents) add(n *node, base string) {
	d.bases[n] = base
	d.byURL[base] = n
	d.scan(n, base)
}

func (d *documents) scan(n *node, base string) {
	id := n.text("$id")
	if id == "" {
		id = n.text("id") // draft 4
	}
	if strings.HasPrefix(id, "#") {
		d.anchors[base+id] = n // drafts 4 to 7
	} else if id != "" && (n.get("type") != nil || n.get("properties") != nil || n.get("$schema") != nil || n.get("$id") != nil) {
		base = resolve(base, id)
		d.bases[n], d.byURL[base] = base, n
	}
	if anchor := n.text("$anchor"); anchor != "" {
		d.anchors[base+"#"+anchor] = n
	}
	for _, key := range n.keys {
		if m := n.members[key]; m.kind != scalar && key != "enum" && key != "const" && key != "default" && key != "examples" {
			d.scan(m, base)
		}
	}
	for _, item := range n.items {
		d.scan(item, base)
	}
}

// resolve makes a reference absolute, without its fragment.
func resolve(base, ref string) string {
	ref, _, _ = strings.Cut(ref, "#")
	if ref == "" {
		return base
	}
	b, err := url.Parse(base)
	if err != nil || b.Opaque != "" {
		return ref
	}
	r, err := url.Parse(ref)
	if err != nil {
		return ref
	}
	return b.ResolveReference(r).String()
}

// follow finds what ref refers to from a place with base; the base of that place comes with it.
func (d *documents) follow(base, ref string) (*node, string, error) {
	_, fragment, _ := strings.Cut(ref, "#")
	target := resolve(base, ref)
	n, ok := d.byURL[target]
	if !ok {
		// A registry's references go by name, whatever the schema's own URL.
		name, _, _ := strings.Cut(ref, "#")
		if n, ok = d.byURL[name]; !ok {
			return nil, "", sqlerr.New(sqlerr.OptionInvalid, "the JSON Schema refers to %q, which is neither a part of it nor among its references", ref)
		}
		target = name
	}
	if own, changed := d.bases[n]; changed {
		target = own
	}
	switch {
	case fragment == "":
		return n, target, nil
	case strings.HasPrefix(fragment, "/"):
		pointer := fragment[1:]
		if unescaped, err := url.PathUnescape(pointer); err == nil {
			pointer = unescaped
		}
		if found := n.at(pointer); found != nil {
			return found, target, nil
		}
	default:
		if found := d.anchors[target+"#"+fragment]; found != nil {
			return found, target, nil
		}
	}
	return nil, "", sqlerr.New(sqlerr.OptionInvalid, "the JSON Schema refers to %q, where there is nothing", ref)
}
