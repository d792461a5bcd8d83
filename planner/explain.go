package planner

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"

	"millrace/internal/scan"
	"millrace/streaming/store"
)

// String implements sql.Node: the scan as a tree, for EXPLAIN.
func (s *Scan) String() string { return s.tree(nil) }

// DebugString implements sql.DebugStringer.
func (s *Scan) DebugString(*sql.Context) string { return s.tree(nil) }

// Describe implements sql.Describable. It also asks the cluster what would be read now; when that fails it says so, as the plan is
// right all the same.
func (s *Scan) Describe(ctx *sql.Context, _ sql.DescribeOptions) string {
	splits, partial, err := s.openSplits(ctx)
	switch {
	case err != nil:
		return s.tree([]string{"splits: not known, " + firstLine(err.Error())})
	case live(ctx, s.table):
		return s.tree(describeTail(splits))
	case s.isStored():
		return s.tree(describeStored(splits, partial))
	default:
		return s.tree(describeSplits(splits))
	}
}

// openSplits asks the cluster what s would read now, and a store whether it would compute partial results.
func (s *Scan) openSplits(ctx *sql.Context) (splits []scan.Split, partial bool, err error) {
	src, err := s.open(ctx, nil, nil)
	if err != nil {
		return nil, false, err
	}
	defer src.Close()
	return append([]scan.Split(nil), src.Splits()...), store.Aggregated(src), nil
}

// describeTail lists where a read that follows topics begins.
func describeTail(splits []scan.Split) []string {
	lines := []string{fmt.Sprintf("live tail: %d partitions, and those that come to be; as of now it begins at", len(splits))}
	return listSplits(lines, splits)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// splitsShown is how many splits EXPLAIN lists.
const splitsShown = 8

// partialsLine says that the batches of a source are partial results.
const partialsLine = "partial aggregates: computed by the store, and merged here"

// describeStored sums up what is read of a stored table.
func describeStored(splits []scan.Split, partial bool) (lines []string) {
	rows := int64(0)
	for _, x := range splits {
		rows += x.Range.To - x.Range.From
	}
	if partial {
		lines = append(lines, partialsLine)
	}
	return append(lines, fmt.Sprintf("splits: %d with %d rows, as of now", len(splits), rows))
}

func describeSplits(splits []scan.Split) []string {
	offsets := int64(0)
	for _, x := range splits {
		offsets += x.Range.To - x.Range.From
	}
	return listSplits([]string{fmt.Sprintf("splits: %d with %d offsets, as of now", len(splits), offsets)}, splits)
}

// listSplits adds the first few splits to lines.
func listSplits(lines []string, splits []scan.Split) []string {
	for i, x := range splits {
		if i == splitsShown {
			lines = append(lines, fmt.Sprintf("… and %d more", len(splits)-i))
			break
		}
		lines = append(lines, "split: "+x.String())
	}
	return lines
}

// tree prints s; splits are lines to add.
func (s *Scan) tree(splits []string) string {
	lines := append([]string(nil), s.about...)
	if b := s.boundsText(); b != "" {
		lines = append(lines, "bounds: "+b)
	}
	for _, p := range s.predicates {
		lines = append(lines, fmt.Sprintf("predicate: %s %s", p.text, p.pushed))
	}
	for _, a := range s.aggregates {
		lines = append(lines, "aggregate: "+a.text)
	}
	if s.keys != nil {
		lines = append(lines, "group by: "+strings.Join(s.keyTexts, ", "))
	}
	for _, h := range s.havingTexts {
		lines = append(lines, "having: "+h)
	}
	if s.computesColumns() {
		lines = append(lines, "columns: "+listOf(s.columns()))
	}
	if s.plan != nil {
		line := "reads: " + s.reads()
		if s.aggregated() {
			line += s.backwards()
		}
		lines = append(lines, line)
	}
	if len(s.order) > 0 {
		keys := make([]string, len(s.order))
		for i, k := range s.order {
			keys[i] = k.String()
		}
		line := "order: " + strings.Join(keys, ", ")
		lines = append(lines, line+s.backwards())
	}
	if s.limit >= 0 {
		lines = append(lines, fmt.Sprintf("limit: %d", s.limit))
	}
	if s.offset > 0 {
		lines = append(lines, fmt.Sprintf("offset: %d", s.offset))
	}
	if s.kept != nil {
		lines = append(lines, "runs more than once: rows are kept")
	}
	lines = append(lines, splits...)
	p := sql.NewTreePrinter()
	// The printer fails only when it is used in the wrong order.
	_ = p.WriteNode("Scan(%s)", s.table.Name())
	_ = p.WriteChildren(lines...)
	return p.String()
}

// backwards says that the source begins at the end, if it does.
func (s *Scan) backwards() string {
	n, ok := s.newest()
	switch {
	case !ok:
		return ""
	case n.By == scan.Timestamp:
		return ", read backwards from the end, trusted"
	default:
		return ", read backwards from the end"
	}
}

// boundsText is what of the topics is read, empty for all of them.
func (s *Scan) boundsText() string {
	d := s.domain
	if d.unbounded() {
		return ""
	}
	text := d.String()
	if d.until != math.MaxInt64 && s.plan != nil {
		text += map[bool]string{true: ", trusted", false: " (LogAppendTime only)"}[s.trusted]
	}
	return text
}

// computesColumns reports whether the columns are others than the keys and aggregates.
func (s *Scan) computesColumns() bool {
	return !s.aggregated() || slices.ContainsFunc(s.outputs, func(o output) bool { return o.result < 0 && !o.unneeded })
}

// columns are the names of those that somebody needs.
func (s *Scan) columns() []string {
	var names []string
	for i, o := range s.outputs {
		if !o.unneeded {
			names = append(names, s.schema[i].Name)
		}
	}
	return names
}

func listOf(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// reads lists the fields that the source fills.
func (s *Scan) reads() string {
	names := s.inputNames()
	switch {
	case len(names) == 0 && s.isStored():
		return "the number of rows"
	case len(names) == 0:
		return "batch headers, where they tell the number of records"
	}
	if s.request.Extremes {
		return strings.Join(names, ", ") + " from batch headers, where they are exact"
	}
	return strings.Join(names, ", ")
}
