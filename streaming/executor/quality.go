package executor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// FlowProgress is the kind of events that say what expectations have counted.
const FlowProgress = "flow_progress"

// qualityEvery is the least time between two events on what expectations count while the table reads: the log keeps a bounded number of events.
const qualityEvery = time.Minute

// quality gathers what expectations count until it is reported: once a minute when there were violations, and when the table stops to read.
type quality struct {
	tallies  []Tally
	rows     int64
	dropped  int64
	failed   bool
	reported time.Time
}

func (q *quality) add(p *Progress) {
	if len(p.Expectations) == 0 || p.Records == 0 {
		return
	}
	q.rows += p.Rows
	q.dropped += p.Dropped
	for _, x := range p.Expectations {
		q.failed = q.failed || x.Failed > 0
		if i := slices.IndexFunc(q.tallies, func(y Tally) bool { return y.Name == x.Name }); i >= 0 {
			q.tallies[i].Passed += x.Passed
			q.tallies[i].Failed += x.Failed
		} else {
			q.tallies = append(q.tallies, x)
		}
	}
}

func (q *quality) due() bool { return q.failed && time.Since(q.reported) >= qualityEvery }

// DataQuality is what expectations have counted, in the words of Databricks' event log.
type DataQuality struct {
	Dropped      int64               `json:"dropped_records"`
	Expectations []ExpectationCounts `json:"expectations"`
}

// ExpectationCounts are the counts of one expectation.
type ExpectationCounts struct {
	Name    string `json:"name"`
	Dataset string `json:"dataset"`
	Passed  int64  `json:"passed_records"`
	Failed  int64  `json:"failed_records"`
}

// NewDataQuality puts counts on the rows of a table into words.
func NewDataQuality(table string, dropped int64, tallies []Tally) DataQuality {
	d := DataQuality{Dropped: dropped, Expectations: []ExpectationCounts{}}
	for _, x := range tallies {
		d.Expectations = append(d.Expectations, ExpectationCounts{x.Name, table, x.Passed, x.Failed})
	}
	return d
}

// report adds what was counted since the last time to the table's log.
func (t *Table) report() {
	q := &t.quality
	if len(q.tallies) == 0 {
		return
	}
	progress := map[string]any{"status": "RUNNING", "metrics": map[string]int64{"num_output_rows": q.rows}, "data_quality": NewDataQuality(t.name, q.dropped, q.tallies)}
	details, err := json.Marshal(map[string]any{FlowProgress: progress})
	if err != nil {
		panic(err) // names and numbers
	}
	var violated []string
	for _, x := range q.tallies {
		if x.Failed > 0 {
			violated = append(violated, fmt.Sprintf("%d of '%s'", x.Failed, x.Name))
		}
	}
	text := fmt.Sprintf("%d rows were written; no expectation was violated", q.rows)
	if len(violated) > 0 {
		text = fmt.Sprintf("%d rows were written, %d dropped; violations: %s", q.rows, q.dropped, strings.Join(violated, ", "))
	}
	t.addEvent(Event{Kind: FlowProgress, Text: text, Details: details})
	*q = quality{reported: time.Now()}
}
