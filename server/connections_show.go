package server

import (
	"maps"
	"slices"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/option"
	"millrace/server/dialect"
)

// list gives the rows of SHOW CONNECTIONS or SHOW CREDENTIALS: those that the user may use, all of them for who may make them.
func (n *connections) list(ctx *sql.Context, credential bool) (sql.Schema, []sql.Row) {
	kind := kindOf(credential)
	all := n.administers(ctx)
	state := n.catalog.State()
	headings := []string{"Name", "Type", "Brokers", "Hosts", "Login"}
	if credential {
		headings = slices.Delete(headings, 2, 3)
	}
	var rows []sql.Row
	for _, key := range slices.Sorted(maps.Keys(state.Named(kind))) {
		stored := state.Named(kind)[key]
		if !all && !n.mayUse(ctx, string(kind), stored.Name) {
			continue
		}
		options, err := n.open(kind, stored)
		login, brokers := loginOf(options), options["bootstrapServers"]
		if err != nil {
			login, brokers = "sealed: the key is missing or another", ""
		}
		row := sql.Row{stored.Name, stored.Type, brokers, strings.Join(stored.Hosts, ","), login}
		if credential {
			row = slices.Delete(row, 2, 3)
		}
		rows = append(rows, row)
	}
	return textSchema(headings...), rows
}

// loginOf says how a connection logs in, without as whom.
func loginOf(options map[string]string) string {
	protocol, mechanism := "PLAINTEXT", ""
	for name, value := range options {
		switch strings.ToLower(name) {
		case "kafka.security.protocol":
			protocol = strings.ToUpper(value)
		case "kafka.sasl.mechanism", "kafka.sasl.mechanisms":
			mechanism = strings.ToUpper(value)
		}
	}
	return strings.TrimSpace(protocol + " " + mechanism)
}

// describe gives the rows of DESCRIBE CONNECTION or DESCRIBE CREDENTIAL: the options as they were given, secrets redacted.
func (n *connections) describe(ctx *sql.Context, st dialect.DescribeConnection) (sql.Schema, []sql.Row, error) {
	kind := kindOf(st.Credential)
	if !n.administers(ctx) && !n.mayUse(ctx, string(kind), st.Name) {
		return nil, nil, n.denied(ctx, kind, st.Name)
	}
	stored, ok := n.catalog.Named(kind, st.Name)
	if !ok {
		return nil, nil, n.missing(kind, st.Name)
	}
	options, err := n.open(kind, stored)
	if err != nil {
		return nil, nil, err
	}
	table := connectionOptions
	if st.Credential {
		table = credentialOptions
	}
	if stored.Hosts != nil {
		options["hosts"] = strings.Join(stored.Hosts, ",")
	}
	var rows []sql.Row
	for _, name := range slices.Sorted(maps.Keys(options)) {
		value := option.Redacted
		if !table.IsSecret(name) {
			value = option.Show(options[name])
		}
		rows = append(rows, sql.Row{name, value})
	}
	return textSchema("Option", "Value"), rows, nil
}

func textSchema(names ...string) sql.Schema {
	schema := make(sql.Schema, len(names))
	for i, name := range names {
		schema[i] = &sql.Column{Name: name, Type: types.LongText}
	}
	return schema
}

// connection answers the statements on connections and credentials.
func (x *session) connection(c *sql.Context, own dialect.Statement, r results) error {
	n := x.engine.connections
	var err error
	switch own := own.(type) {
	case dialect.CreateConnection:
		err = n.create(c, own)
	case dialect.DropConnection:
		err = n.drop(c, own)
	case dialect.ShowConnections:
		schema, rows := n.list(c, own.Credential)
		return x.answerRows(c, schema, sql.RowsToRowIter(rows...), r)
	case dialect.DescribeConnection:
		schema, rows, err := n.describe(c, own)
		if err != nil {
			return err
		}
		return x.answerRows(c, schema, sql.RowsToRowIter(rows...), r)
	}
	if err != nil {
		return err
	}
	return r.OK(0, 0, "")
}
