package planner

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dolthub/go-mysql-server/sql"

	"millrace/internal/scan"
)

// The document of EXPLAIN FORMAT=JSON. Its keys are a promise to those who read it by program, see docs/explain.md: they may become more, they
// do not change. What is not known or does not apply is left out.
type (
	explainDocument struct {
		// Version changes when a key changes its meaning.
		Version int `json:"version"`
		// Rows and TimeMS are those of the whole query, with ANALYZE.
		Rows   *int64           `json:"rows,omitempty"`
		TimeMS *milliseconds    `json:"time_ms,omitempty"`
		Plan   *explainOperator `json:"plan"`
	}

	explainOperator struct {
		Operator   string             `json:"operator"`
		Text       string             `json:"text,omitempty"`
		Details    []string           `json:"details,omitempty"`
		Scan       *explainScan       `json:"scan,omitempty"`
		Actual     *explainActual     `json:"actual,omitempty"`
		Children   []*explainOperator `json:"children,omitempty"`
		Subqueries []*explainOperator `json:"subqueries,omitempty"`
	}

	explainScan struct {
		Function   string             `json:"function"`
		Arguments  []string           `json:"arguments,omitempty"`
		Bounds     string             `json:"bounds,omitempty"`
		Predicates []explainPredicate `json:"predicates,omitempty"`
		Aggregates []string           `json:"aggregates,omitempty"`
		GroupBy    []string           `json:"group_by,omitempty"`
		// PartialAggregates says that the store computes them of its rows, and the scan merges them.
		PartialAggregates bool           `json:"partial_aggregates,omitempty"`
		Having            []string       `json:"having,omitempty"`
		Columns           []string       `json:"columns,omitempty"`
		Reads             []string       `json:"reads"`
		Order             []string       `json:"order,omitempty"`
		Backwards         bool           `json:"backwards,omitempty"`
		Limit             *int64         `json:"limit,omitempty"`
		Offset            int64          `json:"offset,omitempty"`
		KeepsRows         bool           `json:"keeps_rows,omitempty"`
		Live              bool           `json:"live,omitempty"`
		Splits            *explainSplits `json:"splits,omitempty"`
	}

	explainPredicate struct {
		Text   string `json:"text"`
		Pushed string `json:"pushed"`
	}

	explainSplits struct {
		Count   int            `json:"count"`
		Offsets *int64         `json:"offsets,omitempty"`
		First   []explainSplit `json:"first,omitempty"`
		Error   string         `json:"error,omitempty"`
	}

	explainSplit struct {
		Topic     string `json:"topic"`
		Partition int32  `json:"partition"`
		From      int64  `json:"from"`
		To        *int64 `json:"to,omitempty"`
	}

	explainActual struct {
		Loops   int64          `json:"loops"`
		Reused  int64          `json:"reused,omitempty"`
		RowsIn  *int64         `json:"rows_in,omitempty"`
		RowsOut int64          `json:"rows_out"`
		TimeMS  milliseconds   `json:"time_ms"`
		Lanes   []explainLanes `json:"lanes,omitempty"`
		Source  *explainSource `json:"source,omitempty"`
	}

	// explainLanes is an operator inside a scan, over all its lanes.
	explainLanes struct {
		Operator string       `json:"operator"`
		RowsIn   int64        `json:"rows_in"`
		RowsOut  int64        `json:"rows_out"`
		TimeMS   milliseconds `json:"time_ms"`
	}

	explainSource struct {
		Splits         int64 `json:"splits"`
		SplitsDone     int64 `json:"splits_done"`
		Offsets        int64 `json:"offsets"`
		OffsetsDone    int64 `json:"offsets_done"`
		Records        int64 `json:"records"`
		BatchesRead    int64 `json:"batches_read"`
		BatchesSkipped int64 `json:"batches_skipped"`
		BatchesCounted int64 `json:"batches_counted"`
		BytesFetched   int64 `json:"bytes_fetched"`
		BytesDecoded   int64 `json:"bytes_decoded"`
		Requests       int64 `json:"requests"`
		Retries        int64 `json:"retries"`
		ReadAheadBytes int64 `json:"read_ahead_bytes"`
		StateBytes     int64 `json:"state_bytes"`
		PeakBytes      int64 `json:"peak_bytes"`
		SpilledBytes   int64 `json:"spilled_bytes"`
		BadRecords     int64 `json:"bad_records"`
		BadValues      int64 `json:"bad_values"`
		DroppedRecords int64 `json:"dropped_records"`
		// RedistributeLanes is there when others than the lanes that read have computed.
		RedistributeLanes int64 `json:"redistribute_lanes,omitempty"`
	}
)

// explainVersion is the version of the document.
const explainVersion = 1

// milliseconds are written with three digits behind the point.
type milliseconds time.Duration

// MarshalJSON implements json.Marshaler.
func (m milliseconds) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%.3f", float64(m)/float64(time.Millisecond)), nil
}

// document is the plan n as JSON; p is nil when it has not run.
func document(ctx *sql.Context, n sql.Node, p *profile) (string, error) {
	root, err := describeOperator(ctx, n, p)
	if err != nil {
		return "", err
	}
	d := explainDocument{Version: explainVersion, Plan: root}
	if p != nil {
		total := milliseconds(p.total)
		d.Rows, d.TimeMS = &p.rows, &total
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // predicates are full of < and >
	e.SetIndent("", "  ")
	if err := e.Encode(d); err != nil {
		return "", fmt.Errorf("explain: %w", err)
	}
	return strings.TrimRight(b.String(), "\n"), nil
}

func describeOperator(ctx *sql.Context, n sql.Node, p *profile) (*explainOperator, error) {
	f := p.figures(n)
	if s, ok := n.(*Scan); ok {
		return &explainOperator{Operator: "Scan", Scan: s.describe(ctx, f, p != nil), Actual: actualOf(n, f, p)}, nil
	}
	d, place, err := operator(ctx, n)
	if err != nil {
		return nil, err
	}
	name, _, _ := strings.Cut(d.head, "(")
	o := &explainOperator{Operator: strings.TrimSpace(name), Actual: actualOf(n, f, p)}
	if o.Operator != d.head {
		o.Text = d.head
	}
	for i, item := range d.items {
		if !slices.Contains(place, i) {
			o.Details = append(o.Details, item)
		}
	}
	for _, child := range n.Children() {
		c, err := describeOperator(ctx, child, p)
		if err != nil {
			return nil, err
		}
		o.Children = append(o.Children, c)
	}
	for _, sq := range subqueries(ctx, n) {
		c, err := describeOperator(ctx, sq.Query, p)
		if err != nil {
			return nil, err
		}
		o.Subqueries = append(o.Subqueries, c)
	}
	return o, nil
}

// describe is what s does. The splits are those that were read when the plan was analysed, else those that would be read now.
func (s *Scan) describe(ctx *sql.Context, f *figures, analyzed bool) *explainScan {
	x := &explainScan{
		Function: s.table.Name(), Arguments: s.about, Bounds: s.boundsText(), GroupBy: s.keyTexts, Having: s.havingTexts, Reads: []string{},
		Backwards: s.backwards() != "", Offset: s.offset, KeepsRows: s.kept != nil, Live: s.live,
	}
	for _, c := range s.predicates {
		x.Predicates = append(x.Predicates, explainPredicate{c.text.String(), c.pushed.String()})
	}
	for _, a := range s.aggregates {
		x.Aggregates = append(x.Aggregates, a.text)
	}
	if s.computesColumns() {
		x.Columns = s.columns()
	}
	x.Reads = s.inputNames()
	for _, k := range s.order {
		x.Order = append(x.Order, k.String())
	}
	if s.limit >= 0 {
		x.Limit = &s.limit
	}
	switch {
	case !analyzed:
		splits, partial, err := s.openSplits(ctx)
		x.PartialAggregates = partial
		if x.Splits = describeSplitList(splits, s.live); err != nil {
			x.Splits = &explainSplits{Error: firstLine(err.Error())}
		}
	case f != nil:
		if r := f.reads(); r != nil {
			x.Splits, x.PartialAggregates = describeSplitList(r.splits, s.live), r.partial
		}
	}
	return x
}

// describeSplitList describes splits; those of a live read have no end.
func describeSplitList(splits []scan.Split, live bool) *explainSplits {
	x := &explainSplits{Count: len(splits)}
	offsets := int64(0)
	for i, s := range splits {
		offsets += s.Range.To - s.Range.From
		if i >= splitsShown {
			continue
		}
		e := explainSplit{Topic: s.Topic, Partition: s.Partition, From: s.Range.From}
		if !live {
			to := s.Range.To
			e.To = &to
		}
		x.First = append(x.First, e)
	}
	if !live {
		x.Offsets = &offsets
	}
	return x
}

// actualOf is what an operator has done, nil when the plan was not analysed or the operator did not run by itself.
func actualOf(n sql.Node, f *figures, p *profile) *explainActual {
	if f == nil || f.loops.Load() == 0 {
		return nil
	}
	a := &explainActual{Loops: f.loops.Load(), Reused: f.reused.Load(), RowsOut: f.rows.Load(), TimeMS: milliseconds(f.nanos.Load())}
	if in, ok := rowsIn(n, p); ok {
		a.RowsIn = &in
	}
	r := f.reads()
	if r == nil {
		return a
	}
	for _, o := range r.operators {
		a.Lanes = append(a.Lanes, explainLanes{o.Name, o.RowsIn, o.RowsOut, milliseconds(o.Time)})
	}
	s := r.source
	a.Source = &explainSource{
		Splits: s.Splits, SplitsDone: s.SplitsDone, Offsets: s.Offsets, OffsetsDone: s.OffsetsDone, Records: s.Records,
		BatchesRead: s.Batches, BatchesSkipped: s.BatchesSkipped, BatchesCounted: s.BatchesCounted,
		BytesFetched: s.BytesFetched, BytesDecoded: s.BytesDecoded, Requests: s.Requests, Retries: s.Retries,
		ReadAheadBytes: r.held.readAhead, StateBytes: r.held.state, PeakBytes: r.held.peak, SpilledBytes: r.held.spilled,
		BadRecords: r.faults.Records, BadValues: r.faults.Fields, DroppedRecords: r.faults.Dropped,
		RedistributeLanes: s.RedistributeLanes,
	}
	return a
}
