package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"

	"millrace/internal/catalog"
	"millrace/internal/sqlerr"
	"millrace/planner"
	"millrace/server/dialect"
	"millrace/streaming"
	"millrace/streaming/sqltable"
)

// administerStreaming is the error for who may not make, change or drop streaming tables.
func (e *engine) administerStreaming(ctx *sql.Context, what string) error {
	if e.connections.administers(ctx) {
		return nil
	}
	return sqlerr.New(sqlerr.PrivilegeNeeded, "you may not %s", what).WithHint("it needs the privilege STREAMING_ADMIN: GRANT STREAMING_ADMIN ON *.* TO …")
}

// streamingStatement runs a statement on streaming tables.
func (x *session) streamingStatement(c *sql.Context, st *statement, r results) error {
	m := x.engine.streaming
	if m == nil {
		return sqlerr.New(sqlerr.ServerGone, "the server is starting")
	}
	if n, changes := changedTable(st.own); changes {
		name := x.nameOf(n)
		if t, ok := x.engine.catalog.Table(name.Database, name.Table); ok && isFlow(t) {
			return flowMeant(name)
		}
	}
	var err error
	switch own := st.own.(type) {
	case dialect.CreateStreamingTable:
		err = x.createStreaming(c, st, own)
	case dialect.RefreshStreamingTable:
		if err = x.engine.administerStreaming(c, "refresh a streaming table"); err == nil {
			err = x.waits(c, func(ctx context.Context) error {
				return m.Refresh(ctx, x.nameOf(own.Table), own.Full, own.Async, warnings(c))
			})
		}
	case dialect.AlterStreamingTable:
		if err = x.engine.administerStreaming(c, "alter a streaming table"); err == nil {
			err = x.alterStreaming(c, own)
		}
	case dialect.DropStreamingTable:
		err = x.dropStreaming(c, own)
	case dialect.ShowStreamingTables:
		return x.showStreaming(c, own, r)
	case dialect.ShowCreateStreamingTable:
		return x.showCreateStreaming(c, own.Table, r)
	case dialect.DescribeExtended:
		return x.describeExtended(c, own.Table, r)
	}
	if err != nil {
		return err
	}
	return r.OK(0, 0, "")
}

// nameOf completes a name with the session's database.
func (x *session) nameOf(n dialect.TableName) streaming.Name {
	if n.Database == "" {
		n.Database = x.sql.GetCurrentDatabase()
	}
	return streaming.Name{Database: n.Database, Table: n.Name}
}

// warnings gives a statement what a load has to tell.
func warnings(c *sql.Context) streaming.Warn {
	return func(format string, args ...any) { c.Warn(planner.WarningCode, format, args...) }
}

// createModes are the values of streaming_table_create.
const (
	createVariable = "streaming_table_create"
	createWaits    = "wait"
	createAsync    = "async"
	createBlind    = "no_validate"
)

func (x *session) createStreaming(c *sql.Context, st *statement, own dialect.CreateStreamingTable) error {
	if err := x.engine.administerStreaming(c, "create a streaming table"); err != nil {
		return err
	}
	name := x.nameOf(own.Table)
	if name.Database == "" {
		return sqlerr.New(sqlerr.NoDatabase, "no database is selected").WithHint("USE one, or name it: CREATE STREAMING TABLE db.%s …", own.Table.Name)
	}
	if strings.Contains(own.Table.Name, "$") {
		return sqlerr.New(sqlerr.OptionInvalid, "the name of a streaming table may not contain '$'").WithHint("names with $ are those of the tables that belong to it, such as %s$errors", strings.ReplaceAll(own.Table.Name, "$", "_"))
	}
	if holdsSecret(own.Query) {
		return sqlerr.New(sqlerr.OptionForbidden, "the query holds a secret, which would be kept in clear with the definition of the table").
			WithHint("name it: secret('scope', 'key'), or connection => 'name' of a CREATE CONNECTION, which is stored encrypted")
	}
	if err := checkRules(c, own.Columns, own.Expectations); err != nil {
		return err
	}
	if err := x.checkConstants(c, own.Query); err != nil {
		return err
	}
	mode, err := c.GetSessionVariable(c, createVariable)
	if err != nil {
		return err
	}
	create := streaming.Create{
		Name: name, PrimaryKey: own.PrimaryKey, Cluster: own.Cluster, Refresh: own.Refresh, IfNotExists: own.IfNotExists, Async: mode == createAsync, Unvalidated: mode == createBlind,
		Warn: warnings(c),
		Definition: catalog.Streaming{
			Create: st.text, Query: own.Query, SQLMode: sql.LoadSqlMode(c).String(), Database: x.sql.GetCurrentDatabase(), User: x.client.User, Host: x.client.Address,
			Columns: rulesOf(own.Columns), Expectations: expectationsOf(own.Expectations),
		},
		Comment: own.Comment,
	}
	named := own.Schedule == nil || own.Schedule.Cron == "" || own.Schedule.Zone != ""
	if create.Definition.Schedule, err = scheduleOf(c, own.Schedule); err != nil {
		return err
	}
	if !named {
		create.Definition.Create = own.Text(dialectMode(sql.LoadSqlMode(c)))
	}
	if create.Definition.Database == "" {
		create.Definition.Database = name.Database
	}
	for _, p := range own.Properties {
		create.Properties = append(create.Properties, streaming.Property{Name: p.Name, Value: p.Value})
	}
	if create.Columns, err = x.declared(c, name, own.Columns); err != nil {
		return err
	}
	made, err := x.ensureDatabase(c, name.Database)
	if err != nil {
		return err
	}
	err = x.waits(c, func(ctx context.Context) error { return x.engine.streaming.Create(ctx, create) })
	if _, there := x.engine.catalog.Table(name.Database, name.Table); made && !there {
		err = errors.Join(err, x.engine.provider.DropDatabase(c, name.Database), x.dropTables(c)) // a statement that failed leaves nothing behind
	} else if made {
		c.Warn(planner.WarningCode, "database '%s' was created", name.Database)
	}
	return err
}

// holdsSecret reports whether a query has a secret in clear.
func holdsSecret(query string) bool { return len(redact(query).secrets) > 0 }

// ensureDatabase makes a database that does not exist.
func (x *session) ensureDatabase(c *sql.Context, name string) (made bool, err error) {
	if x.engine.provider.HasDatabase(c, name) {
		return false, nil
	}
	err = x.engine.provider.CreateDatabase(c, name)
	if sql.ErrDatabaseExists.Is(err) { // another server was faster
		return false, x.engine.provider.follow()
	}
	return true, err
}

// declared gives the columns of a list as the engine has them.
func (x *session) declared(c *sql.Context, name streaming.Name, list []dialect.StreamingColumn) ([]streaming.Column, error) {
	if len(list) == 0 {
		return nil, nil
	}
	var parts []string
	for _, col := range list {
		parts = append(parts, backquoted(col.Name)+" "+cmp.Or(col.Type, "INT"))
	}
	db := name.Database
	if !x.engine.provider.HasDatabase(c, db) {
		db = MainDatabase
	}
	schema, _, err := x.engine.columnsOf(c, db, catalog.Table{Name: name.Table, Columns: strings.Join(parts, ", ")})
	if err != nil {
		return nil, err
	}
	fields, err := sqltable.FieldsOf(schema.Schema)
	if err != nil {
		return nil, err
	}
	columns := make([]streaming.Column, len(fields))
	for i, f := range fields {
		f.Nullable = true
		columns[i] = streaming.Column{Field: f, NotNull: list[i].NotNull, Comment: list[i].Comment}
		if list[i].Type != "" {
			columns[i].SQL = typeText(schema.Schema[i].Type)
		}
	}
	return columns, nil
}

// waits runs something that may take long. A statement that is interrupted says that the table goes on by itself.
func (x *session) waits(c *sql.Context, do func(context.Context) error) error {
	pid := c.Pid()
	defer x.engine.loads.Delete(pid)
	err := do(streaming.WithLoads(c, func(l *streaming.Load) { x.engine.loads.Store(pid, l) }))
	if err != nil && c.Err() != nil && errors.Is(err, context.Cause(c)) {
		return sqlerr.New(sqlerr.Interrupted, "the statement no longer waits; the table goes on loading").WithHint("SHOW STREAMING TABLES shows how far it is")
	}
	return err
}

func (x *session) alterStreaming(c *sql.Context, own dialect.AlterStreamingTable) error {
	m, name := x.engine.streaming, x.nameOf(own.Table)
	switch {
	case own.Pause:
		return m.Pause(c, name)
	case own.Resume:
		return m.Resume(c, name)
	case own.Set != nil, own.Unset != nil:
		var set []streaming.Property
		for _, p := range own.Set {
			set = append(set, streaming.Property{Name: p.Name, Value: p.Value})
		}
		return m.SetProperties(c, name, set, own.Unset, retoldSettings)
	case own.Schedule != nil, own.DropSchedule:
		s, err := scheduleOf(c, own.Schedule)
		if err != nil {
			return err
		}
		return m.Reschedule(name, streaming.Rescheduling{Schedule: s, Replace: own.Replace}, retoldSettings)
	default:
		if err := checkRules(c, own.Add, nil); err != nil {
			return err
		}
		add, err := x.declared(c, name, own.Add)
		if err != nil {
			return err
		}
		return m.Alter(c, name, func(t catalog.Table) (streaming.Alteration, error) { return x.altered(c, name, t, own, add) })
	}
}

func (x *session) dropStreaming(c *sql.Context, own dialect.DropStreamingTable) error {
	if err := x.engine.administerStreaming(c, "drop a streaming table"); err != nil {
		return err
	}
	name := x.nameOf(own.Table)
	t, ok := x.engine.catalog.Table(name.Database, name.Table)
	switch {
	case !ok && own.IfExists:
		c.Warn(int(sqlerr.UnknownTable.Errno), "streaming table '%s' does not exist", name)
		return nil
	case !ok:
		return sqlerr.New(sqlerr.NoTable, "table '%s' does not exist", name)
	case t.Streaming == nil:
		return sqlerr.New(sqlerr.TableState, "table '%s' is not a streaming table", name).WithHint("DROP TABLE drops it")
	}
	return x.engine.streaming.Drop(c, name)
}

// streamingTable finds a table, or a flow, that the user may read. Who may not is told what SELECT would tell them, whether it is there or not.
func (x *session) streamingTable(c *sql.Context, n dialect.TableName) (streaming.Name, catalog.Table, error) {
	name := x.nameOf(n)
	handler := x.engine.Analyzer.Catalog.AuthorizationHandler()
	if err := handler.HandleAuth(c, handler.NewQueryState(c), selectOf(name.Database, name.Table)); err != nil {
		return name, catalog.Table{}, err
	}
	t, ok := x.engine.catalog.Table(name.Database, name.Table)
	if !ok {
		return name, t, sqlerr.New(sqlerr.NoTable, "table '%s' does not exist", name)
	}
	return name, t, nil
}

// mayReadLog reports whether the user may read the event log of a table: that of a table that they may read.
func (x *session) mayReadLog(c *sql.Context, n dialect.TableName) error {
	name, t, err := x.streamingTable(c, n)
	if err == nil && t.Streaming == nil {
		err = sqlerr.New(sqlerr.TableState, "table '%s' is not a streaming table", name).WithHint("SHOW STREAMING TABLES and SHOW FLOWS list what has an event log")
	}
	return err
}

func (x *session) showCreateStreaming(c *sql.Context, n dialect.TableName, r results) error {
	name, t, err := x.streamingTable(c, n)
	if err != nil {
		return err
	}
	switch {
	case isFlow(t):
		return flowMeant(name)
	case t.Streaming == nil:
		return sqlerr.New(sqlerr.TableState, "table '%s' is not a streaming table", name).WithHint("SHOW CREATE TABLE shows it")
	}
	text, err := x.shownStatement(c, name, t)
	if err != nil {
		return err
	}
	return x.answerRows(c, textSchema("Table", "Create Table"), sql.RowsToRowIter(sql.Row{t.Name, redact(text).text}), r)
}

func (x *session) describeExtended(c *sql.Context, n dialect.TableName, r results) error {
	name, t, err := x.streamingTable(c, n)
	if err != nil {
		return err
	}
	table, err := x.engine.provider.table(c, name.Database, t)
	if err != nil {
		return err
	}
	var rows []sql.Row
	for _, col := range table.Schema(c) {
		rows = append(rows, sql.Row{col.Name, col.Type.String(), col.Comment})
	}
	add := func(key, format string, args ...any) {
		rows = append(rows, sql.Row{key, fmt.Sprintf(format, args...), ""})
	}
	add("", "")
	add("# Detailed Table Information", "")
	add("Database", "%s", name.Database)
	add("Table", "%s", t.Name)
	if t.Comment != "" {
		add("Comment", "%s", t.Comment)
	}
	if t.Streaming == nil {
		add("Type", "TABLE")
	} else if err := x.describeStreaming(c, name, t, add); err != nil {
		return err
	}
	stats, err := x.engine.tableStats(c, t.ID)
	if err != nil {
		return err
	}
	add("Rows", "%d", stats.Rows)
	add("Bytes", "%d", stats.Bytes)
	return x.answerRows(c, textSchema("col_name", "data_type", "comment"), sql.RowsToRowIter(rows...), r)
}

// changedTable is the table that a statement makes, changes or drops.
func changedTable(own dialect.Statement) (n dialect.TableName, ok bool) {
	switch own := own.(type) {
	case dialect.CreateStreamingTable:
		return own.Table, true
	case dialect.RefreshStreamingTable:
		return own.Table, true
	case dialect.AlterStreamingTable:
		return own.Table, true
	case dialect.DropStreamingTable:
		return own.Table, true
	}
	return n, false
}
