package kafkameta

import (
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/sqltypes"

	"millrace/functions/readkafka"
	"millrace/internal/kafka"
	"millrace/internal/option"
)

// Function describes a table function to users and to the engine.
type Function struct {
	Name string
	// Doc is what it gives, in a sentence or two, Example a query.
	Doc, Example string
	// Own are its arguments besides those that reach a cluster, Options all of them.
	Own     []option.Option
	Options *option.Table
	Columns []Column

	// rows gathers what the function gives; warnings say what is left out.
	rows func(ctx *sql.Context, c *kafka.Cluster, v *option.Values) (rows []sql.Row, warnings []string, err error)
	// registryRows does so for a function that asks a schema registry and no cluster.
	registryRows func(ctx *sql.Context, r *readkafka.Registry, v *option.Values) (rows []sql.Row, err error)
}

// Column is a column of a table function.
type Column struct {
	Name     string
	Type     sql.Type
	Nullable bool
	Doc      string
}

var (
	topicType = types.MustCreateStringWithDefaults(sqltypes.VarChar, 249)
	wordType  = types.MustCreateStringWithDefaults(sqltypes.VarChar, 64)
	// nameType holds what clients choose: names of groups, ids, hosts.
	nameType = types.MustCreateStringWithDefaults(sqltypes.VarChar, 1024)
)

// Functions returns all table functions of the package, in the order of the docs.
func Functions() []*Function { return []*Function{topics, partitions, groups, subjects} }

// withOptions gives f the arguments that reach a cluster, before its own.
func withOptions(f *Function) *Function {
	f.Options = option.New(f.Name, "argument", "", " => ", append(readkafka.ConnectionArguments(), f.Own...)...)
	return f
}

// reaching are the arguments that say how to reach what f shows.
func (f *Function) reaching() []option.Option {
	if f.registryRows != nil {
		return readkafka.RegistryArguments()
	}
	return readkafka.ConnectionArguments()
}

// schema is what SQL sees, in database db.
func (f *Function) schema(db string) sql.Schema {
	s := make(sql.Schema, len(f.Columns))
	for i, c := range f.Columns {
		s[i] = &sql.Column{Name: c.Name, Type: c.Type, Nullable: c.Nullable, Source: f.Name, DatabaseSource: db}
	}
	return s
}

// number is n, or NULL when it is not known.
func number(n int64) any {
	if n < 0 {
		return nil
	}
	return n
}

// broker is the id of a broker or the epoch of one, NULL when it is not known.
func broker(n int32) any {
	if n < 0 {
		return nil
	}
	return n
}
