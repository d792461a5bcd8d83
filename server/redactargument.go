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

// given is an argument, name => …, whose value a redactor reads, or the arguments of a function that takes a map of options. What is given to a name that nobody knows
// is hidden: who misspells 'sasl.jaas.config' has written a password all the same.
type given struct {
	// depth is that of the parentheses around the name, or of those of the function.
	depth int
	// doubtful: the name is not known.
	doubtful bool
	// properties: the value is a map of client properties, as map(name, value, …) or the text of a JSON object.
	properties bool
	// call: these are the arguments of a function, of which a map, or the text of a JSON object, may hold options.
	call bool
	// pairs is the depth of the parentheses of map(…), 0 outside. There, commas counts the commas, and value says that the name before them is not known.
	pairs  int
	commas int
	value  bool
}

// takesOptions reports whether a function takes options of a schema registry.
func takesOptions(function string) bool {
	return function == "from_avro" || function == "from_json" || function == "from_protobuf"
}

// opens notes parentheses behind a word, by which depth became what it is.
func (g *given) opens(word string, depth int) {
	if word == "map" && g.pairs == 0 && (g.properties || g.call) {
		g.pairs, g.commas, g.value = depth, 0, false
	}
}

// closes notes that parentheses were left for depth, and reports whether the argument is among them.
func (g *given) closes(depth int) bool {
	if depth < g.pairs {
		g.pairs = 0
	}
	return depth < g.depth
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

// knownOption reports whether a map of options may have a name.
func (g *given) knownOption(name string) bool {
	if g.call {
		return strings.EqualFold(name, "mode") || !givenTo(name, 0).doubtful
	}
	return knownProperty(name)
}

// comma notes a comma, and reports whether it ends the argument.
func (g *given) comma(depth int) bool {
	switch {
	case g.pairs == 0:
		return !g.call && depth <= g.depth
	case depth == g.pairs:
		if g.commas++; g.commas%2 == 0 {
			g.value = false
		}
	}
	return false
}

// hides reports whether a literal in the value is not to be shown.
func (g *given) hides(content string) bool {
	switch {
	case g.pairs > 0 && g.commas%2 == 0:
		g.value = g.value || !g.knownOption(content)
		return false
	case g.pairs > 0:
		return g.value
	case g.call:
		object, ok := objectOf(content)
		return ok && namesRegistry(object) && !g.knowsAll(object)
	case g.properties:
		object, ok := objectOf(content)
		return !ok || !g.knowsAll(object)
	default:
		return g.doubtful
	}
}

// objectOf are the members of the text of a JSON object.
func objectOf(content string) (object map[string]json.RawMessage, ok bool) {
	err := json.Unmarshal([]byte(content), &object)
	return object, err == nil && object != nil
}

// namesRegistry tells options from schemas, which are objects too.
func namesRegistry(object map[string]json.RawMessage) bool {
	for name := range object {
		if strings.Contains(strings.ToLower(name), "registry") {
			return true
		}
	}
	return false
}

func (g *given) knowsAll(object map[string]json.RawMessage) bool {
	for name := range object {
		if !g.knownOption(name) {
			return false
		}
	}
	return true
}
