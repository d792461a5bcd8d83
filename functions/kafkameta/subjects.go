package kafkameta

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/functions/readkafka"
	"millrace/internal/option"
	"millrace/internal/registry"
	"millrace/internal/sqlerr"
)

var subjects = withRegistryOptions(&Function{
	Name: "schema_registry_subjects", Doc: "The subjects of a schema registry with their latest schemas, a row each.",
	Example: "SELECT subject, version, type FROM schema_registry_subjects(schemaRegistryUrl => 'http://localhost:8081') ORDER BY subject",
	Own: []option.Option{
		{Name: "subject", Type: option.List, DefaultNote: "all subjects", Doc: "The subjects to show, which must exist.", Example: "'orders-value'"},
	},
	Columns: []Column{
		{"subject", nameType, false, "The name."},
		{"version", types.Int32, false, "The latest version."},
		{"id", types.Int32, false, "The id of its schema, which records carry."},
		{"type", wordType, false, "AVRO, JSON or PROTOBUF."},
		{"versions", types.JSON, false, "The numbers of all versions that are there, a list."},
		{"compatibility", wordType, true, "Which changes the registry admits, such as BACKWARD. NULL where it does not tell."},
		{"schema_text", types.LongText, false, "The text of the schema."},
		{"schema_references", types.JSON, false, "The schemas that it refers to, directly or not: a list of objects with name, subject and version."},
	},
	registryRows: subjectRows,
})

// withRegistryOptions gives f the arguments that reach a registry, before its own.
func withRegistryOptions(f *Function) *Function {
	f.Options = option.New(f.Name, "argument", "", " => ", append(readkafka.RegistryArguments(), f.Own...)...)
	return f
}

func subjectRows(ctx *sql.Context, r *readkafka.Registry, v *option.Values) (rows []sql.Row, err error) {
	err = r.Ask(func(c *registry.Client) error {
		names, given := v.List("subject"), v.Has("subject")
		if !given {
			if names, err = c.Subjects(ctx); err != nil {
				return err
			}
			slices.Sort(names)
		}
		for _, name := range names {
			row, err := subjectRow(ctx, c, name)
			if sqlerr.HasKind(err, sqlerr.RegistryNotFound) && !given {
				continue // deleted since
			}
			if err != nil {
				return err
			}
			rows = append(rows, row)
		}
		return nil
	})
	return rows, err
}

func subjectRow(ctx context.Context, c *registry.Client, name string) (sql.Row, error) {
	s, err := c.SchemaOf(ctx, name, registry.Latest)
	if err != nil {
		return nil, err
	}
	versions, err := c.Versions(ctx, name)
	if err != nil {
		return nil, err
	}
	var compatibility any
	if level, err := c.Compatibility(ctx, name); err == nil {
		compatibility = level
	} else if ctx.Err() != nil {
		return nil, err
	}
	type reference struct {
		Name    string `json:"name"`
		Subject string `json:"subject"`
		Version int    `json:"version"`
	}
	references := []reference{}
	for _, r := range s.References {
		references = append(references, reference{r.Name, r.Subject, r.Version})
	}
	list, err := json.Marshal(versions)
	if err != nil {
		return nil, err
	}
	refers, err := json.Marshal(references)
	if err != nil {
		return nil, err
	}
	return sql.Row{name, int32(s.Version), int32(s.ID), string(s.Type), jsonText(list), compatibility, s.Text, jsonText(refers)}, nil
}

// jsonText is a JSON value as the engine takes it.
func jsonText(text []byte) sql.JSONWrapper { return types.NewLazyJSONDocument(text) }
