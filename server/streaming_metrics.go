package server

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"millrace/internal/catalog"
	"millrace/streaming"
	"millrace/streaming/executor"
)

// streamingMetrics shows every streaming table to Prometheus, as it is when somebody asks.
type streamingMetrics struct {
	tables *streaming.Manager
	names  func(do func(streaming.Name, catalog.Table))
}

var streamingLabels = []string{"database", "table"}

func streamingDesc(name, help string, more ...string) *prometheus.Desc {
	return prometheus.NewDesc("millrace_streaming_table_"+name, help, append(append([]string{}, streamingLabels...), more...), nil)
}

var (
	descState   = streamingDesc("state", "1 for the state that the table is in.", "state")
	descLag     = streamingDesc("lag_offsets", "Offsets that are not read yet; absent when brokers do not say.")
	descRows    = streamingDesc("rows_total", "Rows committed since the process started.")
	descRecords = streamingDesc("records_total", "Records read since the process started.")
	descBytes   = streamingDesc("bytes_total", "Bytes read since the process started.")
	descBatches = streamingDesc("batches_total", "Commits since the process started.")
	descBad     = streamingDesc("bad_records_total", "Records on which the query failed since the process started.")
	descPassed  = streamingDesc("expectation_passed_records_total", "Rows that met the expectation since the table was made or emptied.", "expectation")
	descFailed  = streamingDesc("expectation_failed_records_total", "Rows that did not meet the expectation since the table was made or emptied.", "expectation")
	descMirror  = streamingDesc("offset_commit_failures_total", "Failed attempts to show positions to a consumer group (commitOffsets) since the process started; absent without one.")
	descExpired = streamingDesc("expired_rows_total", "Rows that retention has removed since the process started.")
	descTook    = streamingDesc("commit_seconds", "The time of commits in the store.")
	descFresh   = streamingDesc("freshness_seconds", "The time from the timestamp of the oldest record of a commit until its row can be seen, while the table follows its topics.")
	descSkipped = streamingDesc("skipped_runs_total", "Times of the table's schedule that passed while a run was going, since the table was made or emptied; absent for a table that reads all the time.")
	descCommit  = streamingDesc("last_commit_timestamp_seconds", "When something was committed last, 0 for never.")
)

// Describe implements prometheus.Collector.
func (m streamingMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descState, descLag, descRows, descRecords, descBytes, descBatches, descBad, descPassed, descFailed, descMirror, descTook, descFresh, descExpired, descSkipped, descCommit} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (m streamingMetrics) Collect(to chan<- prometheus.Metric) {
	var tables []*executor.Table
	m.names(func(n streaming.Name, _ catalog.Table) {
		if t, ok := m.tables.Table(n); ok {
			tables = append(tables, t)
		}
	})
	lookAt(context.Background(), tables...)
	m.names(func(n streaming.Name, definition catalog.Table) {
		t, ok := m.tables.Table(n)
		if !ok {
			return
		}
		s := t.Status()
		if s.Holder != "" && s.Holder != m.tables.Owner {
			return // the server that reads it shows it
		}
		add := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, more ...string) {
			to <- prometheus.MustNewConstMetric(d, kind, value, append([]string{n.Database, n.Table}, more...)...)
		}
		for _, state := range []executor.State{executor.Starting, executor.Running, executor.Stalled, executor.Paused, executor.Failed} {
			value := 0.0
			if s.State == state {
				value = 1
			}
			add(descState, prometheus.GaugeValue, value, string(state))
		}
		commit := 0.0
		if !s.LastCommit.IsZero() {
			commit = float64(s.LastCommit.UnixMilli()) / 1000
		}
		if lag, known := s.Lag(); known { // a 0 would silence alerts
			add(descLag, prometheus.GaugeValue, float64(lag))
		}
		add(descRows, prometheus.CounterValue, float64(s.Rows))
		add(descRecords, prometheus.CounterValue, float64(s.Records))
		add(descBytes, prometheus.CounterValue, float64(s.Bytes))
		add(descBatches, prometheus.CounterValue, float64(s.Batches))
		add(descBad, prometheus.CounterValue, float64(s.BadRecords))
		eachExpectation(definition, s.Expectations, func(x catalog.Expectation, tally executor.Tally) {
			add(descPassed, prometheus.CounterValue, float64(tally.Passed), x.Name)
			add(descFailed, prometheus.CounterValue, float64(tally.Failed), x.Name)
		})
		if s.Mirrored.Group != "" {
			add(descMirror, prometheus.CounterValue, float64(s.Mirrored.Failures))
		}
		add(descExpired, prometheus.CounterValue, float64(m.tables.Expired(definition.ID).Rows))
		times := t.Latencies()
		for d, h := range map[*prometheus.Desc]*executor.Histogram{descTook: &times.Commit, descFresh: &times.Fresh} {
			count, sum, atMost := h.Counts()
			to <- prometheus.MustNewConstHistogram(d, count, sum, atMost, n.Database, n.Table)
		}
		if r, ok := t.Runs(); ok {
			add(descSkipped, prometheus.CounterValue, float64(r.Skipped))
		}
		add(descCommit, prometheus.GaugeValue, commit)
	})
}

// eachStreaming calls do for every streaming table of the catalog.
func (s *Server) eachStreaming(do func(streaming.Name, catalog.Table)) {
	for _, db := range s.catalog.State().Databases {
		for _, t := range db.Tables {
			if t.Streaming != nil {
				do(streaming.Name{Database: db.Name, Table: t.Name}, t)
			}
		}
	}
}
