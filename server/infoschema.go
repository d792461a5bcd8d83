package server

import (
	"slices"
	"strings"
	"time"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/information_schema"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/sqltypes"
	"github.com/dolthub/vitess/go/vt/sqlparser"
)

// infoSchema is the engine's information_schema with tables of ours added, or in the place of the engine's.
type infoSchema struct {
	sql.Database
	engine  *engine
	tables  map[string]infoTable
	columns columnsInfo
}

// infoTable makes a table of information_schema.
type infoTable struct {
	schema sql.Schema
	rows   func(*sql.Context) []sql.Row
}

// newInfoSchema wraps the engine's information_schema.
func newInfoSchema(e *engine, of sql.Database) *infoSchema {
	tables := streamingInfo(e)
	tables["kafka_scans"] = infoTable{scansSchema, e.scanRows}
	tables[information_schema.ProcessListTableName] = infoTable{processesSchema, e.processRows}
	return &infoSchema{Database: of, engine: e, tables: tables, columns: columnsInfo{e.catalog}}
}

// GetTableInsensitive implements sql.Database. A table is made for each statement: the engine writes into it.
func (s *infoSchema) GetTableInsensitive(ctx *sql.Context, name string) (sql.Table, bool, error) {
	switch {
	case strings.EqualFold(name, information_schema.ColumnsTableName):
		return s.columns.table(), true, nil
	case strings.EqualFold(name, information_schema.TablesTableName):
		return s.changed(ctx, name, s.onlySeen)
	case strings.EqualFold(name, information_schema.ViewsTableName):
		return s.changed(ctx, name, withoutSecrets)
	}
	t, ok := s.tables[strings.ToLower(name)]
	if !ok {
		return s.Database.GetTableInsensitive(ctx, name)
	}
	return &information_schema.InformationSchemaTable{
		TableName: strings.ToLower(name), TableSchema: t.schema,
		Reader: func(ctx *sql.Context, _ sql.Catalog) (sql.RowIter, error) {
			return sql.RowsToRowIter(t.rows(ctx)...), nil
		},
	}, true, nil
}

// changed is the engine's table of that name after a change, which is made to a copy: the engine has one for all statements.
func (s *infoSchema) changed(ctx *sql.Context, name string, change func(*information_schema.InformationSchemaTable)) (sql.Table, bool, error) {
	t, ok, err := s.Database.GetTableInsensitive(ctx, name)
	of, isInfo := t.(*information_schema.InformationSchemaTable)
	if !ok || err != nil || !isInfo {
		return t, ok, err
	}
	own := *of
	change(&own)
	return &own, true, nil
}

// withoutSecrets strikes the secrets from the definitions of views.
func withoutSecrets(t *information_schema.InformationSchemaTable) {
	all := t.Reader
	definition := slices.IndexFunc(t.TableSchema, func(c *sql.Column) bool { return c.Name == "VIEW_DEFINITION" })
	t.Reader = func(ctx *sql.Context, c sql.Catalog) (sql.RowIter, error) {
		rows, err := all(ctx, c)
		if err != nil {
			return nil, err
		}
		return &redactedColumn{rows, definition}, nil
	}
}

// onlySeen leaves out tables that the user has no privilege on: the engine lists all.
func (s *infoSchema) onlySeen(t *information_schema.InformationSchemaTable) {
	all := t.Reader
	at := func(column string) int {
		return slices.IndexFunc(t.TableSchema, func(c *sql.Column) bool { return c.Name == column })
	}
	database, table := at("TABLE_SCHEMA"), at("TABLE_NAME")
	t.Reader = func(ctx *sql.Context, c sql.Catalog) (sql.RowIter, error) {
		rows, err := all(ctx, c)
		if err != nil {
			return nil, err
		}
		listed, err := sql.RowIterToRows(ctx, rows)
		if err != nil {
			return nil, err
		}
		listed = slices.DeleteFunc(listed, func(row sql.Row) bool {
			db, isText := row[database].(string)
			name, isName := row[table].(string)
			return !isText || !isName || !s.engine.sees(ctx, db, name)
		})
		return sql.RowsToRowIter(listed...), nil
	}
}

// sees reports whether the session's user has any privilege on a table or view, which makes its name known to them.
func (e *engine) sees(ctx *sql.Context, db, table string) bool {
	return e.Analyzer.Catalog.AuthorizationHandler().CheckTable(ctx, nil, db, "", table) == nil
}

// GetTableNames implements sql.Database.
func (s *infoSchema) GetTableNames(ctx *sql.Context) ([]string, error) {
	names, err := s.Database.GetTableNames(ctx)
	for name := range s.tables {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, err
}

// columnsIn makes the schema of a table of information_schema.
func columnsIn(table string, columns ...*sql.Column) sql.Schema {
	for _, c := range columns {
		c.Source, c.DatabaseSource = table, sql.InformationSchemaDatabaseName
	}
	return columns
}

func infoText(length int64) sql.Type {
	return types.MustCreateString(sqltypes.VarChar, length, sql.Collation_Information_Schema_Default)
}

var infoTime = types.MustCreateDatetimeType(sqltypes.Datetime, 3)

var scansSchema = columnsIn("kafka_scans",
	&sql.Column{Name: "scan_id", Type: types.Uint64},
	&sql.Column{Name: "connection_id", Type: types.Uint64},
	&sql.Column{Name: "query_id", Type: types.Uint64},
	&sql.Column{Name: "user", Type: infoText(32)},
	&sql.Column{Name: "topics", Type: infoText(4096)},
	&sql.Column{Name: "state", Type: infoText(16)},
	&sql.Column{Name: "started_at", Type: infoTime},
	&sql.Column{Name: "finished_at", Type: infoTime, Nullable: true},
	&sql.Column{Name: "splits", Type: types.Int64},
	&sql.Column{Name: "splits_done", Type: types.Int64},
	&sql.Column{Name: "offsets", Type: types.Int64},
	&sql.Column{Name: "offsets_done", Type: types.Int64},
	&sql.Column{Name: "percent", Type: types.Float64, Nullable: true},
	&sql.Column{Name: "records", Type: types.Int64},
	&sql.Column{Name: "bytes_fetched", Type: types.Int64},
	&sql.Column{Name: "bytes_decoded", Type: types.Int64},
	&sql.Column{Name: "batches", Type: types.Int64},
	&sql.Column{Name: "batches_skipped", Type: types.Int64},
	&sql.Column{Name: "batches_counted", Type: types.Int64},
	&sql.Column{Name: "requests", Type: types.Int64},
	&sql.Column{Name: "retries", Type: types.Int64},
	&sql.Column{Name: "mb_per_second", Type: types.Float64},
	&sql.Column{Name: "memory_bytes", Type: types.Int64},
	&sql.Column{Name: "memory_peak_bytes", Type: types.Int64},
	&sql.Column{Name: "spilled_bytes", Type: types.Int64},
	&sql.Column{Name: "bad_records", Type: types.Int64},
	&sql.Column{Name: "bad_fields", Type: types.Int64},
	&sql.Column{Name: "dropped_records", Type: types.Int64},
	&sql.Column{Name: "error", Type: infoText(2048), Nullable: true},
)

// scanRows are the rows of kafka_scans, the oldest scan first. A user sees what runs under the same name; PROCESS is needed to see more.
func (e *engine) scanRows(ctx *sql.Context) []sql.Row {
	user, all := ctx.Session.Client().User, e.seesAll(ctx)
	scans := e.scans.list(func(r *scanRecord) bool { return all || r.user == user })
	rows := make([]sql.Row, len(scans))
	for i, r := range scans {
		s, until := r.stats, r.finished
		var finished, failed, share any
		if !r.endless {
			share = percent(s.OffsetsDone, s.Offsets)
		}
		if until.IsZero() {
			until = time.Now()
		} else {
			finished = until.UTC()
		}
		if r.err != "" {
			failed = r.err
		}
		rows[i] = sql.Row{r.id, uint64(r.connection), r.statement, r.user, r.topics, string(r.state), r.started.UTC(), finished, s.Splits, s.SplitsDone, s.Offsets, s.OffsetsDone,
			share, s.Records, s.BytesFetched, s.BytesDecoded, s.Batches, s.BatchesSkipped, s.BatchesCounted, s.Requests, s.Retries,
			rate(s.BytesFetched, until.Sub(r.started)) / 1e6, r.memory, r.peak, r.spilled, r.badRecords, r.badFields, r.dropped, failed}
	}
	return rows
}

// seesAll reports whether the user may see what others do.
func (e *engine) seesAll(ctx *sql.Context) bool {
	return e.users.UserHasPrivileges(ctx, sql.NewPrivilegedOperation(sql.PrivilegeCheckSubject{}, sql.PrivilegeType_Process))
}

var processesSchema = columnsIn(information_schema.ProcessListTableName,
	&sql.Column{Name: "ID", Type: types.Uint64},
	&sql.Column{Name: "USER", Type: infoText(32)},
	&sql.Column{Name: "HOST", Type: infoText(261)},
	&sql.Column{Name: "DB", Type: infoText(64), Nullable: true},
	&sql.Column{Name: "COMMAND", Type: infoText(16)},
	&sql.Column{Name: "TIME", Type: types.Int32},
	&sql.Column{Name: "STATE", Type: infoText(65535), Nullable: true},
	&sql.Column{Name: "INFO", Type: infoText(65535), Nullable: true},
)

// processRows are the rows of processlist, by connection. State says how far a statement that reads has come.
func (e *engine) processRows(ctx *sql.Context) []sql.Row {
	user, all := ctx.Session.Client().User, e.seesAll(ctx)
	var rows []sql.Row
	for _, p := range e.ProcessList.Processes() {
		if !all && p.User != user {
			continue
		}
		var db, info any
		if p.Database != "" {
			db = p.Database
		}
		state := ""
		if p.Command == sql.ProcessCommandQuery {
			info, state = p.Query, "running"
			if progress, reads := e.statementProgress(p.QueryPid); reads {
				state = "reading: " + progress.String()
			}
		}
		rows = append(rows, sql.Row{uint64(p.Connection), p.User, p.Host, db, string(p.Command), int32(p.Seconds()), state, info})
	}
	slices.SortFunc(rows, func(a, b sql.Row) int { return int(int64(a[0].(uint64)) - int64(b[0].(uint64))) })
	return rows
}

// shownInfo is how much of a statement SHOW PROCESSLIST shows without FULL.
const shownInfo = 100

// showProcessesSchema is that of the engine, by which a prepared SHOW PROCESSLIST is described.
var showProcessesSchema = sql.Schema{
	{Name: "Id", Type: types.Int64}, {Name: "User", Type: types.LongText}, {Name: "Host", Type: types.LongText}, {Name: "db", Type: types.LongText, Nullable: true},
	{Name: "Command", Type: types.LongText}, {Name: "Time", Type: types.Int64}, {Name: "State", Type: types.LongText, Nullable: true}, {Name: "Info", Type: types.LongText, Nullable: true},
}

// showProcesses answers SHOW [FULL] PROCESSLIST. The engine's own shows everybody everything.
func (x *session) showProcesses(c *sql.Context, show *sqlparser.Show, r results) error {
	rows := x.engine.processRows(c)
	if !show.Full {
		for _, row := range rows {
			if text, ok := row[7].(string); ok {
				if whole := []rune(text); len(whole) > shownInfo {
					row[7] = string(whole[:shownInfo])
				}
			}
		}
	}
	columns := columnsOf(c, showProcessesSchema)
	if err := r.Columns(columns); err != nil {
		return err
	}
	e := newEncoder(c, showProcessesSchema, columns, r.Binary())
	for _, row := range rows {
		row[0], row[5] = int64(row[0].(uint64)), int64(row[5].(int32))
		e.row = row
		if err := r.Row(e.fill); err != nil {
			return err
		}
	}
	return r.EndRows()
}
