package server

import (
	"sync"

	"github.com/dolthub/vitess/go/vt/sqlparser"
	"github.com/prometheus/client_golang/prometheus"

	"millrace/internal/scan"
)

// lastScan is what the last statement that read a topic has read. A statement may run several scans, also at once.
type lastScan struct {
	mu        sync.Mutex
	statement uint64
	total     scan.Stats
}

func (l *lastScan) add(statement uint64, s scan.Stats) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if statement != l.statement {
		l.statement, l.total = statement, scan.Stats{}
	}
	l.total.Records += s.Records
	l.total.BytesFetched += s.BytesFetched
	l.total.Requests += s.Requests
}

// scanVariables are the system variables that show it.
var scanVariables = map[string]func(scan.Stats) int64{
	"last_scan_records":  func(s scan.Stats) int64 { return s.Records },
	"last_scan_bytes":    func(s scan.Stats) int64 { return s.BytesFetched },
	"last_scan_requests": func(s scan.Stats) int64 { return s.Requests },
}

// sessionValue gives a value that is the session's own and no variable of the engine.
func (x *session) sessionValue(name string) *sqlparser.SQLVal {
	n := x.warningCount()
	if name == "error_count" {
		n = int64(len(x.errors()))
	}
	if value, ok := scanVariables[name]; ok {
		x.scanned.mu.Lock()
		n = value(x.scanned.total)
		x.scanned.mu.Unlock()
	}
	return intLiteral(n)
}

// scanMetrics count scans for /metrics.
type scanMetrics struct {
	running                                             prometheus.Gauge
	finished, records, bytes, requests, retries, splits prometheus.Counter
	batches, badRecords, badFields, dropped             *prometheus.CounterVec
	peak                                                prometheus.Histogram
}

func newScanMetrics(r prometheus.Registerer) *scanMetrics {
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		r.MustRegister(c)
		return c
	}
	byFormat := func(name, help string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"format"})
		r.MustRegister(c)
		return c
	}
	m := &scanMetrics{
		running:    prometheus.NewGauge(prometheus.GaugeOpts{Name: "millrace_scans_running", Help: "Scans of topics that are open."}),
		finished:   counter("millrace_scans_total", "Scans of topics that ended."),
		records:    counter("millrace_scan_records_total", "Records that scans delivered or counted."),
		bytes:      counter("millrace_scan_fetched_bytes_total", "Bytes of record batches that scans fetched."),
		requests:   counter("millrace_scan_requests_total", "Fetch requests that scans sent."),
		retries:    counter("millrace_scan_retries_total", "Fetch requests that were sent again after a passing failure."),
		splits:     counter("millrace_scan_splits_total", "Ranges of partitions that scans read."),
		badRecords: byFormat("millrace_scan_bad_records_total", "Records that could not be decoded, in scans that ended."),
		badFields:  byFormat("millrace_scan_bad_fields_total", "Values of decoded records that did not fit their columns, in scans that ended."),
		dropped:    byFormat("millrace_scan_dropped_records_total", "Records that mode DROPMALFORMED left out, in scans that ended."),
		batches: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_scan_batches_total", Help: "Record batches by what was done with them: read, skipped or counted by their header.",
		}, []string{"how"}),
	}
	m.peak = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "millrace_scan_memory_peak_bytes", Help: "The most memory that a scan that ended has held at once.", Buckets: prometheus.ExponentialBuckets(64<<10, 4, 9),
	})
	r.MustRegister(m.running, m.batches, m.peak)
	return m
}

func (m *scanMetrics) add(s scan.Stats, peak int64) {
	m.peak.Observe(float64(peak))
	m.running.Dec()
	m.finished.Inc()
	m.records.Add(float64(s.Records))
	m.bytes.Add(float64(s.BytesFetched))
	m.requests.Add(float64(s.Requests))
	m.retries.Add(float64(s.Retries))
	m.splits.Add(float64(s.SplitsDone))
	m.batches.WithLabelValues("read").Add(float64(s.Batches))
	m.batches.WithLabelValues("skipped").Add(float64(s.BatchesSkipped))
	m.batches.WithLabelValues("counted").Add(float64(s.BatchesCounted))
}

// addFaults counts the bad data of a scan that ended. A format is there from its first scan on, with 0 while all is well.
func (m *scanMetrics) addFaults(f *scan.Faults) {
	for _, format := range f.Formats() {
		n := f.Of(format)
		m.badRecords.WithLabelValues(format).Add(float64(n.Records.Load()))
		m.badFields.WithLabelValues(format).Add(float64(n.Fields.Load()))
		m.dropped.WithLabelValues(format).Add(float64(n.Dropped.Load()))
	}
}
