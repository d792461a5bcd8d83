package planner

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"
)

// drawn is the text of an operator, taken apart: the engine's operators only draw themselves together with what is below them.
type drawn struct {
	head string
	// items are the parts below the head, without the lines of the tree.
	items []string
}

// parseTree takes the drawing of sql.TreePrinter apart.
func parseTree(text string) drawn {
	var d drawn
	var head []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if item, ok := strings.CutPrefix(line, " ├─ "); ok {
			d.items = append(d.items, item)
		} else if item, ok := strings.CutPrefix(line, " └─ "); ok {
			d.items = append(d.items, item)
		} else if n := len(d.items); n > 0 {
			line = strings.TrimPrefix(strings.TrimPrefix(line, " │  "), "    ")
			d.items[n-1] += "\n" + line
		} else {
			head = append(head, line)
		}
	}
	d.head = strings.Join(head, " ")
	return d
}

func (d drawn) String() string {
	p := sql.NewTreePrinter()
	// The printer fails only when it is used in the wrong order.
	_ = p.WriteNode("%s", d.head)
	_ = p.WriteChildren(d.items...)
	return p.String()
}

// stand is what an operator is drawn with in the place of a child or of the query of a subquery: otherwise the child would be drawn too, and a
// Scan would ask the cluster each time.
type stand struct {
	sql.Node
	token string
}

// String implements sql.Node.
func (s stand) String() string { return s.token }

// DebugString implements sql.DebugStringer.
func (s stand) DebugString(*sql.Context) string { return s.token }

// Describe implements sql.Describable.
func (s stand) Describe(*sql.Context, sql.DescribeOptions) string { return s.token }

// childToken stands for child i. No text of a statement holds it: control characters are escaped in literals.
func childToken(i int) string { return fmt.Sprintf("\x00child %d\x00", i) }

func subqueryToken(i int) string { return fmt.Sprintf("\x00subquery %d\x00", i) }

// subqueryText is the engine's drawing of a subquery inside an expression.
var subqueryText = regexp.MustCompile(`(?s)Subquery\n[^\x00]*\x00subquery (\d+)\x00(?:\n(?: │  |    )*)?`)

// operator draws n alone. The item place[i] stands for child i; -1 means that n does not show this child.
func operator(ctx *sql.Context, n sql.Node) (d drawn, place []int, err error) {
	alone, _, err := eachChild(ctx, n, func(i int, child sql.Node) (sql.Node, transform.TreeIdentity, error) {
		return stand{child, childToken(i)}, transform.NewTree, nil
	})
	if err != nil {
		return drawn{}, nil, err
	}
	found := 0
	alone, _, err = eachSubquery(ctx, alone, func(_ *sql.Context, sq *plan.Subquery) (sql.Node, transform.TreeIdentity, error) {
		found++
		return stand{sq.Query, subqueryToken(found)}, transform.NewTree, nil
	})
	if err != nil {
		return drawn{}, nil, err
	}
	d = parseTree(subqueryText.ReplaceAllString(alone.String(), "Subquery $1"))
	for i := range n.Children() {
		place = append(place, slices.Index(d.items, childToken(i)))
	}
	return d, place, nil
}

// analyzedTree is the plan with what p has found out about its operators.
func analyzedTree(ctx *sql.Context, n sql.Node, p *profile) (string, error) {
	f := p.figures(n)
	if s, ok := n.(*Scan); ok {
		return s.tree(actualLines(f)), nil
	}
	d, place, err := operator(ctx, n)
	if err != nil {
		return "", err
	}
	d.head += actual(n, f, p)
	for i, child := range n.Children() {
		text, err := analyzedTree(ctx, child, p)
		if err != nil {
			return "", err
		}
		if place[i] >= 0 {
			d.items[place[i]] = text
		} else {
			d.items = append(d.items, text)
		}
	}
	for i, sq := range subqueries(ctx, n) {
		text, err := analyzedTree(ctx, sq.Query, p)
		if err != nil {
			return "", err
		}
		d.items = append(d.items, drawn{fmt.Sprintf("Subquery %d", i+1), []string{text}}.String())
	}
	if f != nil {
		d.items = append(d.items, f.reads().lines()...)
	}
	return d.String(), nil
}

// actual is what the engine's operator n has done: empty when it did not run by itself.
func actual(n sql.Node, f *figures, p *profile) string {
	if f == nil || f.loops.Load() == 0 {
		return ""
	}
	in := ""
	if rows, ok := rowsIn(n, p); ok {
		in = fmt.Sprintf("rows in %d, ", rows)
	}
	return fmt.Sprintf("  [%sout %d, time %s%s]", in, f.rows.Load(), ShortTime(time.Duration(f.nanos.Load())), f.again())
}

// rowsIn is what the operators below n gave to it, false when there are none or some of them are unknown.
func rowsIn(n sql.Node, p *profile) (rows int64, ok bool) {
	for _, child := range n.Children() {
		f := p.figures(child)
		if f == nil {
			return 0, false
		}
		rows, ok = rows+f.rows.Load(), true
	}
	return rows, ok
}

// again says how often an operator ran, when that was more than once.
func (f *figures) again() string {
	text := ""
	if loops := f.loops.Load(); loops > 1 {
		text = fmt.Sprintf(", loops %d", loops)
	}
	if n := f.reused.Load(); n > 0 {
		text += fmt.Sprintf(", of them %d with rows that were kept", n)
	}
	return text
}

// actualLines is what a scan has done.
func actualLines(f *figures) []string {
	if f == nil || f.loops.Load() == 0 {
		return []string{"run: never"}
	}
	line := fmt.Sprintf("run: rows out %d, time %s%s", f.rows.Load(), ShortTime(time.Duration(f.nanos.Load())), f.again())
	return append([]string{line}, f.reads().lines()...)
}

// lines are what was read, none for nothing.
func (s *scanFigures) lines() (lines []string) {
	if s == nil {
		return nil
	}
	for _, o := range s.operators {
		lines = append(lines, fmt.Sprintf("%s: rows in %d, out %d, time %s over all lanes", o.Name, o.RowsIn, o.RowsOut, ShortTime(o.Time)))
	}
	if s.partial {
		lines = append(lines, partialsLine)
	}
	x, h := s.source, s.held
	lines = append(lines,
		fmt.Sprintf("source: %d of %d splits, %d of %d offsets, %d records", x.SplitsDone, x.Splits, x.OffsetsDone, x.Offsets, x.Records),
		fmt.Sprintf("batches: %d read, %d skipped, %d counted", x.Batches, x.BatchesSkipped, x.BatchesCounted),
		fmt.Sprintf("bytes: %d fetched, %d decoded", x.BytesFetched, x.BytesDecoded),
		fmt.Sprintf("requests: %d, retries: %d", x.Requests, x.Retries),
		fmt.Sprintf("memory: %d bytes to read ahead, %d bytes of groups and sorted rows, %d bytes in all", h.readAhead, h.state, h.peak))
	if x.RedistributeLanes > 0 {
		lines = append(lines, fmt.Sprintf("redistribute: lanes that compute: %d", x.RedistributeLanes))
	}
	if b := s.faults; b.Any() {
		lines = append(lines, fmt.Sprintf("bad data: %d records not decoded, %d values not of their column's type, %d records left out", b.Records, b.Fields, b.Dropped))
	}
	if h.spilled > 0 {
		lines = append(lines, fmt.Sprintf("spilled: %d bytes to temporary files", h.spilled))
	}
	return lines
}

// ShortTime shows a duration with as many digits as anybody needs.
func ShortTime(d time.Duration) string {
	switch {
	case d >= time.Second:
		return d.Round(time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(time.Microsecond).String()
	default:
		return d.String()
	}
}
