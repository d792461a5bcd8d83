package server

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"millrace/internal/sqlerr"
)

// metrics are the numbers of the process that /metrics shows. Other packages add theirs to the registry.
type metrics struct {
	registry   *prometheus.Registry
	statements *prometheus.CounterVec
	duration   *prometheus.HistogramVec
	rows       prometheus.Counter
	slow       prometheus.CounterFunc
	slowCount  atomic.Int64
	// keptPlans counts look-ups that ran by a plan of before.
	keptPlans atomic.Int64
	scans     *scanMetrics
}

func newMetrics(version string) *metrics {
	m := &metrics{registry: prometheus.NewRegistry()}
	m.statements = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "millrace_statements_total", Help: "Statements that ended, by kind and result: ok, or the symbol of the error.",
	}, []string{"kind", "result"})
	m.duration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "millrace_statement_seconds", Help: "Time from the start of a statement to its last row sent.",
		Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800},
	}, []string{"kind"})
	m.rows = prometheus.NewCounter(prometheus.CounterOpts{Name: "millrace_rows_sent_total", Help: "Rows sent to clients."})
	m.slow = prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "millrace_slow_statements_total", Help: "Statements that took longer than long_query_time.",
	}, func() float64 { return float64(m.slowCount.Load()) })
	kept := prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "millrace_kept_plans_total", Help: "Look-ups by key that ran by the plan of an earlier execution.",
	}, func() float64 { return float64(m.keptPlans.Load()) })
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "millrace_build_info", Help: "1, labelled with the version of the program.", ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	m.registry.MustRegister(m.statements, m.duration, m.rows, m.slow, kept, build, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.scans = newScanMetrics(m.registry)
	return m
}

// gauge adds a number that is asked for when somebody looks.
func (m *metrics) gauge(name, help string, value func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
}

// statement counts one that ended.
func (m *metrics) statement(kind string, took time.Duration, rows int64, err error) {
	result := "ok"
	if err != nil {
		result = sqlerr.Engine.Symbol
		if e, ok := sqlerr.As(err); ok {
			result = e.Kind.Symbol
		}
	}
	m.statements.WithLabelValues(kind, result).Inc()
	m.duration.WithLabelValues(kind).Observe(took.Seconds())
	m.rows.Add(float64(rows))
}
