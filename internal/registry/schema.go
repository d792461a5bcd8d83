package registry

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/sr"

	"millrace/internal/sqlerr"
)

// Type is the language of a schema.
type Type string

// The languages, as the registry spells them.
const (
	Avro       Type = "AVRO"
	JSONSchema Type = "JSON"
	Protobuf   Type = "PROTOBUF"
)

func typeOf(t sr.SchemaType) Type { return Type(t.String()) }

// Schema is one that was registered. It is shared: do not change it.
type Schema struct {
	ID   int
	Type Type
	Text string
	// Subject and Version are those that were asked for, empty when an id was.
	Subject string
	Version int
	// References are the schemas that Text refers to and those that they refer to in turn, each once, a schema after those that it refers to.
	References []Reference
}

// Reference is a schema that another refers to.
type Reference struct {
	// Name is what the reference is called by who refers to it: a full name of a type for Avro, a path to import for Protobuf, a URL for JSON Schema.
	Name    string
	Subject string
	Version int
	Text    string
}

// ReferenceTexts are the texts of the references in order, as Avro's parser wants them.
func (s *Schema) ReferenceTexts() []string {
	texts := make([]string, len(s.References))
	for i, r := range s.References {
		texts[i] = r.Text
	}
	return texts
}

// ReferenceMap has the texts of the references by name, as the parsers of Protobuf and JSON Schema want them.
func (s *Schema) ReferenceMap() map[string]string {
	texts := make(map[string]string, len(s.References))
	for _, r := range s.References {
		texts[r.Name] = r.Text
	}
	return texts
}

// Bounds of what a schema may refer to.
const (
	maxReferences     = 1000
	maxReferenceDepth = 100
)

// references fetches what refs refer to, and so on.
func (c *Client) references(ctx context.Context, refs []sr.SchemaReference) ([]Reference, error) {
	w := referenceWalk{client: c, state: map[version]int{}}
	if err := w.visit(ctx, refs, 0); err != nil {
		return nil, err
	}
	return w.found, nil
}

type referenceWalk struct {
	client *Client
	found  []Reference
	state  map[version]int
}

const (
	open = 1 + iota
	done
)

func (w *referenceWalk) visit(ctx context.Context, refs []sr.SchemaReference, depth int) error {
	for _, r := range refs {
		v := version{r.Subject, r.Version}
		switch w.state[v] {
		case open:
			return w.refuse("the references of subject '%s' go round in a circle", r.Subject)
		case done:
			w.alias(r)
			continue
		}
		if depth >= maxReferenceDepth || len(w.state) >= maxReferences {
			return w.refuse("a schema refers to more than %d others, or deeper than %d", maxReferences, maxReferenceDepth)
		}
		w.state[v] = open
		got, err := w.client.version(ctx, v)
		if err != nil {
			return err
		}
		if err := w.visit(ctx, got.References, depth+1); err != nil {
			return err
		}
		w.state[v] = done
		w.found = append(w.found, Reference{Name: r.Name, Subject: r.Subject, Version: r.Version, Text: got.Schema.Schema})
	}
	return nil
}

// alias adds a schema that was found before when it is now referred to by another name.
func (w *referenceWalk) alias(r sr.SchemaReference) {
	text := ""
	for _, f := range w.found {
		if f.Subject != r.Subject || f.Version != r.Version {
			continue
		}
		if f.Name == r.Name {
			return
		}
		text = f.Text
	}
	w.found = append(w.found, Reference{Name: r.Name, Subject: r.Subject, Version: r.Version, Text: text})
}

func (w *referenceWalk) refuse(format string, args ...any) error {
	return sqlerr.New(sqlerr.RegistryProtocol, "schema registry '%s': %s", w.client.URL(), fmt.Sprintf(format, args...))
}
