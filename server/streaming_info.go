package server

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/catalog"
	"millrace/streaming"
	"millrace/streaming/executor"
	"millrace/streaming/store"
)

// streamingInfo are the tables of information_schema on streaming tables. A user sees those that they may read.
func streamingInfo(e *engine) map[string]infoTable {
	return map[string]infoTable{
		"streaming_tables":           {streamingTablesSchema, e.streamingTableRows},
		"streaming_table_partitions": {streamingPartitionsSchema, e.streamingPartitionRows},
		"streaming_table_progress":   {streamingProgressSchema, e.streamingProgressRows},
		"streaming_table_errors":     {streamingErrorsSchema, e.streamingErrorRows},
		"streaming_event_log":        {streamingEventsSchema, e.streamingEventRows},
		"streaming_flows":            {streamingFlowsSchema, e.flowRows},

		"streaming_table_expectations": {streamingExpectationsSchema, e.streamingExpectationRows},
	}
}

// tableColumns are the first two columns of all of them.
func tableColumns(table string, more ...*sql.Column) sql.Schema {
	return columnsIn(table, append([]*sql.Column{{Name: "table_schema", Type: infoText(64)}, {Name: "table_name", Type: infoText(64)}}, more...)...)
}

var streamingTablesSchema = tableColumns("streaming_tables", append([]*sql.Column{
	{Name: "state", Type: infoText(16)},
	{Name: "reason", Type: infoText(4096), Nullable: true},
	{Name: "since", Type: infoTime},
	{Name: "trigger", Type: infoText(16)},
	{Name: "table_rows", Type: types.Int64},
	{Name: "bytes", Type: types.Int64},
	{Name: "lag", Type: types.Int64, Nullable: true},
	{Name: "last_refresh", Type: infoTime, Nullable: true},
	{Name: "batches", Type: types.Int64},
	{Name: "input_records", Type: types.Int64},
	{Name: "input_bytes", Type: types.Int64},
	{Name: "bad_records", Type: types.Int64},
	{Name: "input_rows_per_second", Type: types.Float64},
	{Name: "processed_rows_per_second", Type: types.Float64},
	{Name: "server", Type: infoText(300), Nullable: true},
	{Name: "retention", Type: infoText(64), Nullable: true},
	{Name: "retention_column", Type: infoText(64), Nullable: true},
	{Name: "expired_rows", Type: types.Int64, Nullable: true},
	{Name: "last_expired", Type: infoTime, Nullable: true},
	{Name: "retention_error", Type: infoText(4096), Nullable: true},
}, runColumns...)...)

func (e *engine) streamingTableRows(c *sql.Context) []sql.Row {
	e.lookAtIdle(c)
	var rows []sql.Row
	e.streamingTables(c, func(n streaming.Name, t catalog.Table, x *executor.Table) {
		if isFlow(t) {
			return
		}
		s := x.Status()
		stats, err := e.tableStats(c, t.ID)
		if err != nil {
			stats = new(store.TableStats) // the store is closing: the rest is still true
		}
		input, processed := rates(x.Progress())
		expired := e.streaming.Expired(t.ID)
		column, retentionError := "", expired.Err
		if r, err := e.streaming.Retention(c, t); err == nil {
			column = r.Column
		} else if retentionError == nil {
			retentionError = err
		}
		row := sql.Row{n.Database, n.Table, string(s.State), orNull(s.Reason), s.Since.UTC(), triggerOf(t.Streaming), stats.Rows, stats.Bytes, knownOrNull(s.Lag()), timeOrNull(s.LastCommit),
			s.Batches, s.Records, s.Bytes, s.BadRecords, input, processed, e.holder(s),
			orNull(t.Streaming.Properties["retention"]), orNull(column), knownOrNull(expired.Rows, s.Holder == "" || s.Holder == e.streaming.Owner), timeOrNull(expired.Last), errorOrNull(retentionError)}
		rows = append(rows, append(row, runValues(t, x)...))
	})
	return rows
}

// holder is the server that reads a table, of those that share a store.
func (e *engine) holder(s executor.Status) any {
	if !e.streaming.Shared {
		return nil
	}
	return orNull(s.Holder)
}

func errorOrNull(err error) any {
	if err == nil {
		return nil
	}
	return err.Error()
}

// rates are records a second over the listed batches: of the time from the first to the last, and of the time spent on them.
func rates(list []executor.Progress) (input, processed float64) {
	if len(list) == 0 {
		return 0, 0
	}
	records, busy := int64(0), time.Duration(0)
	for _, p := range list {
		records += p.Records
		busy += p.Duration.Read + p.Duration.Commit
	}
	last := list[len(list)-1]
	return rate(records, last.Time.Add(last.Duration.Read+last.Duration.Commit).Sub(list[0].Time)), rate(records, busy)
}

var streamingPartitionsSchema = tableColumns("streaming_table_partitions",
	&sql.Column{Name: "topic", Type: infoText(249)},
	&sql.Column{Name: "partition", Type: types.Int32},
	&sql.Column{Name: "next_offset", Type: types.Int64},
	&sql.Column{Name: "end_offset", Type: types.Int64, Nullable: true},
	&sql.Column{Name: "lag", Type: types.Int64, Nullable: true},
	&sql.Column{Name: "leader_epoch", Type: types.Int32},
	&sql.Column{Name: "last_record_time", Type: infoTime, Nullable: true},
)

func (e *engine) streamingPartitionRows(c *sql.Context) []sql.Row {
	e.lookAtIdle(c)
	var rows []sql.Row
	e.streamingTables(c, func(n streaming.Name, _ catalog.Table, x *executor.Table) {
		for _, p := range x.Status().Partitions {
			var last any
			if p.LastRecord > 0 {
				last = time.UnixMilli(p.LastRecord).UTC()
			}
			rows = append(rows, sql.Row{n.Database, n.Table, p.Topic, p.Partition.Partition, p.Offset, knownOrNull(p.End, p.End >= 0), knownOrNull(p.Lag()), p.LeaderEpoch, last})
		}
	})
	return rows
}

var streamingProgressSchema = tableColumns("streaming_table_progress",
	&sql.Column{Name: "batch_id", Type: types.Int64},
	&sql.Column{Name: "started_at", Type: infoTime},
	&sql.Column{Name: "num_input_rows", Type: types.Int64},
	&sql.Column{Name: "num_output_rows", Type: types.Int64},
	&sql.Column{Name: "bad_records", Type: types.Int64},
	&sql.Column{Name: "read_ms", Type: types.Float64},
	&sql.Column{Name: "commit_ms", Type: types.Float64},
	&sql.Column{Name: "progress", Type: types.JSON},
)

func (e *engine) streamingProgressRows(c *sql.Context) []sql.Row {
	var rows []sql.Row
	e.streamingTables(c, func(n streaming.Name, t catalog.Table, x *executor.Table) {
		for _, p := range x.Progress() {
			rows = append(rows, sql.Row{n.Database, n.Table, p.Batch, p.Time.UTC(), p.Records, p.Rows, p.Bad, milliseconds(p.Duration.Read), milliseconds(p.Duration.Commit), sparkProgress(n, t, &p)})
		}
	})
	return rows
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// sparkProgress is a batch in the words of Spark's StreamingQueryProgress.
func sparkProgress(n streaming.Name, t catalog.Table, p *executor.Progress) types.JSONDocument {
	from, to, latest := map[string]map[string]int64{}, map[string]map[string]int64{}, map[string]map[string]int64{}
	set := func(in map[string]map[string]int64, part store.Partition, offset int64) {
		if in[part.Topic] == nil {
			in[part.Topic] = map[string]int64{}
		}
		in[part.Topic][strconv.Itoa(int(part.Partition))] = offset
	}
	for _, m := range p.Moves {
		if m.From != nil {
			set(from, m.Partition, m.From.Offset)
		}
		if m.To != nil {
			set(to, m.Partition, m.To.Offset)
		}
	}
	for part, end := range p.Ends {
		set(latest, part, end)
	}
	average, most, least := p.Lags()
	bytesBehind := int64(0)
	if p.Records > 0 {
		bytesBehind = int64(average * float64(len(p.Moves)) * float64(p.Bytes) / float64(p.Records))
	}
	total := p.Duration.Read + p.Duration.Commit
	document := map[string]any{
		"id": t.ID, "name": n.String(), "timestamp": p.Time.UTC().Format("2006-01-02T15:04:05.000Z"), "batchId": p.Batch, "numInputRows": p.Records,
		"processedRowsPerSecond": rate(p.Records, total),
		"durationMs":             map[string]any{"triggerExecution": total.Milliseconds(), "addBatch": p.Duration.Read.Milliseconds(), "walCommit": p.Duration.Commit.Milliseconds()},
		"sources": []any{map[string]any{
			"description": "read_kafka", "startOffset": from, "endOffset": to, "latestOffset": latest, "numInputRows": p.Records,
			"metrics": map[string]any{
				"avgOffsetsBehindLatest": fmt.Sprintf("%.1f", average), "maxOffsetsBehindLatest": strconv.FormatInt(most, 10), "minOffsetsBehindLatest": strconv.FormatInt(least, 10),
				"estimatedTotalBytesBehindLatest": strconv.FormatInt(bytesBehind, 10),
			},
		}},
		"sink": map[string]any{"description": n.String(), "numOutputRows": p.Rows},
	}
	if len(p.Expectations) > 0 {
		document["data_quality"] = executor.NewDataQuality(n.String(), p.Dropped, p.Expectations)
	}
	b, err := json.Marshal(document)
	if err != nil {
		panic(err) // texts and numbers
	}
	return jsonTree(b)
}

// jsonTree is JSON as the engine wants it: the tree that its own decoder would have made. It is JSON that this program has written.
func jsonTree(b []byte) types.JSONDocument {
	var tree any
	if err := json.Unmarshal(b, &tree); err != nil {
		panic(err)
	}
	return types.JSONDocument{Val: tree}
}

var streamingErrorsSchema = tableColumns("streaming_table_errors",
	&sql.Column{Name: "errors_table", Type: infoText(128)},
	&sql.Column{Name: "records", Type: types.Int64},
	&sql.Column{Name: "bytes", Type: types.Int64},
	&sql.Column{Name: "oldest", Type: infoTime, Nullable: true},
	&sql.Column{Name: "newest", Type: infoTime, Nullable: true},
)

func (e *engine) streamingErrorRows(c *sql.Context) []sql.Row {
	var rows []sql.Row
	e.streamingTables(c, func(n streaming.Name, t catalog.Table, _ *executor.Table) {
		stats, err := e.tableStats(c, t.ID+executor.ErrorsSuffix)
		if err != nil {
			return // the store is closing
		}
		var oldest, newest any
		if k := len(stats.Columns); k > 0 && stats.Columns[k-1].Bounded {
			oldest, newest = time.UnixMicro(stats.Columns[k-1].Min.Int64()).UTC(), time.UnixMicro(stats.Columns[k-1].Max.Int64()).UTC()
		}
		rows = append(rows, sql.Row{n.Database, n.Table, n.Table + executor.ErrorsSuffix, stats.Rows, stats.Bytes, oldest, newest})
	})
	return rows
}

var streamingEventsSchema = tableColumns("streaming_event_log",
	&sql.Column{Name: "id", Type: types.Int64},
	&sql.Column{Name: "timestamp", Type: infoTime},
	&sql.Column{Name: "level", Type: infoText(8)},
	&sql.Column{Name: "event_type", Type: infoText(32)},
	&sql.Column{Name: "message", Type: infoText(65535), Nullable: true},
	&sql.Column{Name: "details", Type: types.JSON},
)

// levels are the levels of events that are not INFO.
var levels = map[string]string{string(executor.Failed): "ERROR", string(executor.Stalled): "WARN", "data_loss": "WARN", executor.EventMirror: "WARN", executor.EventBad: "WARN", executor.FlowProgress: "METRICS"}

func (e *engine) streamingEventRows(c *sql.Context) []sql.Row {
	var rows []sql.Row
	e.streamingTables(c, func(n streaming.Name, t catalog.Table, x *executor.Table) {
		events, err := e.provider.rows.Events(c, store.TableID(t.ID), 0, store.MaxEvents)
		if err != nil {
			return // the table is being dropped, or the store is closing
		}
		for _, ev := range events {
			entry, err := executor.DecodeEvent(ev.Data)
			if err != nil {
				continue // of a version to come
			}
			level := levels[entry.Kind]
			if level == "" {
				level = "INFO"
			}
			message := entry.Message(x.Noun)
			rows = append(rows, sql.Row{n.Database, n.Table, ev.Number, entry.When(ev.Time).UTC(), level, entry.Kind, orNull(message), detailsOf(entry, message)})
		}
	})
	return rows
}

// detailsOf are the details of an event: those that it has, or its kind and message.
func detailsOf(e executor.Event, message string) types.JSONDocument {
	if len(e.Details) > 0 {
		return jsonTree(e.Details)
	}
	return types.JSONDocument{Val: map[string]any{"event": e.Kind, "message": orNull(message)}}
}
