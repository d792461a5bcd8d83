package server

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"millrace/functions/kafkameta"
	"millrace/functions/readkafka"
	"millrace/functions/writekafka"
	"millrace/internal/kafka"
	"millrace/internal/option"
)

// given is an argument, name => …, whose value a redactor reads. What is given to a name that nobody knows is hidden: who misspells 'sasl.jaas.config' has written
// a password all the same.
type given struct {
	// depth is that of the parentheses around the name.
	depth int
	// doubtful: the name is not known.
	doubtful bool
	// properties: the value is a map of client properties, as map(name, value, …) or the text of a JSON object. commas counts those inside, and value says that the
	// name before it is not known.
	properties bool
	commas     int
	value      bool
}

// givenTo is what to think of the value of an argument.
func givenTo(name string, depth int) *given {
	g := &given{depth: depth, doubtful: true}
	if property, ok := strings.CutPrefix(name, "kafka."); ok && knownProperty(property) {
		g.doubtful = false
	}
	for _, t := range argumentTables() {
		o := t.Lookup(name)
		switch {
		case o == nil:
		case o.Name == "consumerConfigUpdates" || o.Name == "producerConfigUpdates":
			g.doubtful, g.properties = false, true
		case !strings.HasSuffix(o.Name, "*"):
			g.doubtful = false
		default: // properties of the client of a registry
			_, property, ok := strings.Cut(name, "schema.registry.")
			g.doubtful = g.doubtful && !(ok && knownProperty(property))
		}
	}
	return g
}

// argumentTables are those of all functions that have named arguments.
var argumentTables = sync.OnceValue(func() []*option.Table {
	tables := []*option.Table{readkafka.Arguments, writekafka.Arguments}
	for _, f := range kafkameta.Functions() {
		tables = append(tables, f.Options)
	}
	return tables
})

// knownProperty reports whether clients of Kafka have a property. Of those that are only known by how they begin, nobody knows what they hold.
func knownProperty(name string) bool {
	o := kafka.Properties.Lookup(name)
	return o != nil && !slices.ContainsFunc(append([]string{o.Name}, o.Aliases...), func(n string) bool { return strings.HasSuffix(n, "*") })
}

// comma notes a comma, and reports whether it ends the argument.
func (g *given) comma(depth int) bool {
	if depth <= g.depth {
		return true
	}
	g.commas++
	return false
}

// hides reports whether a literal in the value is not to be shown.
func (g *given) hides(content string) bool {
	switch {
	case !g.properties:
		return g.doubtful
	case strings.HasPrefix(strings.TrimSpace(content), "{"):
		var object map[string]json.RawMessage
		if json.Unmarshal([]byte(content), &object) != nil {
			return true
		}
		for name := range object {
			if !knownProperty(name) {
				return true
			}
		}
		return false
	case g.commas%2 == 0:
		g.value = !knownProperty(content)
		return false
	default:
		return g.value
	}
}
