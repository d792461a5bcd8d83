package functions

import (
	stdjson "encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/functions/named"
	"millrace/internal/decode"
	"millrace/internal/option"
	"millrace/internal/sqlerr"
	"millrace/planner/expr"
)

// OpenRegistry gives the schema of records that begin with the id of a schema in a registry, by the options of a function: schema.registry.address and so on.
// format is avro, proto or json, message that of Protobuf, empty for the first. bare says that the only field is the whole record.
type OpenRegistry func(ctx *sql.Context, function, format, message string, options []option.Pair) (s decode.Schema, bare bool, err error)

// RegistryFunctions are from_avro, from_json and from_protobuf that take a map of registry options in the place of a schema.
func RegistryFunctions(open OpenRegistry) []sql.Function {
	var out []sql.Function
	for _, f := range []Function{*lookup("from_avro"), *lookup("from_json"), *lookup("from_protobuf")} {
		f.build = f.registered(open)
		out = append(out, sql.FunctionN{Name: f.Name, Fn: f.new})
	}
	return out
}

// lookup is the function of the table with a name.
func lookup(name string) *Function {
	return &table[slices.IndexFunc(table, func(f Function) bool { return f.Name == name })]
}

// registered builds the function with a registry where its last argument but options is a map that names one, else as it is without registries.
func (f Function) registered(open OpenRegistry) func(*sql.Context, *Function, []sql.Expression) (sql.Expression, error) {
	plain := f.build
	at, format, otherwise, param := 1, "avro", failFast, expr.Binary
	switch f.Name {
	case "from_json":
		format, otherwise = "json", permissive
	case "from_protobuf":
		at, format = 2, "proto"
	}
	return func(ctx *sql.Context, f *Function, args []sql.Expression) (sql.Expression, error) {
		options, err := registryOptions(ctx, f, args[at])
		if err != nil {
			return nil, err
		}
		if options == nil {
			return plain(ctx, f, args)
		}
		mode, _, err := decodeOptions(ctx, f, argument(args, at+1), otherwise)
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(options, func(p option.Pair) bool { return strings.EqualFold(p.Name, "mode") }); i >= 0 {
			if mode, err = modeOf(f, fmt.Sprint(options[i].Value), mode); err != nil {
				return nil, err
			}
			options = slices.Delete(options, i, i+1)
		}
		message := ""
		if at == 2 {
			if message, err = constantText(ctx, f, "message", args[1]); err != nil {
				return nil, err
			}
		}
		s, bare, err := open(ctx, f.Name, format, message, options)
		if err != nil {
			return nil, err
		}
		r, err := newReader(s, bare)
		if err != nil {
			return nil, err
		}
		return buildReader(param, types.JSON, otherwise, func(*sql.Context, *Function, []sql.Expression) (*reader, parserMode, error) { return r, mode, nil })(ctx, f, args)
	}
}

// registryAddresses are the options without which a map names no registry.
var registryAddresses = []string{"schema.registry.address", "schema.registry.url", "schemaRegistryUrl", "schemaRegistryAddress"}

// registryOptions are the options in an argument that names a registry, nil for a schema. Secrets in it are revealed, and known as such.
func registryOptions(ctx *sql.Context, f *Function, arg sql.Expression) ([]option.Pair, error) {
	_, isMap := arg.(*mapCall)
	text, isText := constant(arg)
	if !isMap && (!isText || !strings.HasPrefix(strings.TrimSpace(text), "{")) {
		return nil, nil
	}
	if isMap && !named.Constant([]sql.Expression{arg}) {
		return nil, notConstant(f, "options")
	}
	v, err := named.Value(ctx, arg)
	if err != nil {
		return nil, err
	}
	secret, hidden := v.(option.SecretValue)
	if hidden {
		text = string(secret)
	} else if isMap {
		text, _ = v.(string)
	}
	given := map[string]any{}
	if err := stdjson.Unmarshal([]byte(text), &given); err != nil {
		return nil, nil // a JSON text that is no object of options is a schema, or a mistake in one
	}
	var pairs []option.Pair
	names := false
	for _, name := range slices.Sorted(maps.Keys(given)) {
		value := any(fmt.Sprint(given[name]))
		if hidden {
			value = option.SecretValue(fmt.Sprint(given[name]))
		}
		if slices.ContainsFunc(registryAddresses, func(a string) bool { return strings.EqualFold(a, name) }) {
			names, value = true, fmt.Sprint(given[name])
		}
		pairs = append(pairs, option.Pair{Name: name, Value: value})
	}
	switch {
	case names:
		return pairs, nil
	case isMap:
		return nil, sqlerr.New(sqlerr.OptionMissing, "the map of '%s' in the place of a schema lacks 'schema.registry.address'", f.Name).
			WithHint("map('schema.registry.address', 'http://localhost:8081', 'schema.registry.subject', 'orders-value')")
	}
	return nil, nil
}
