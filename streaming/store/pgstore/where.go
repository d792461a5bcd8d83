package pgstore

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgtype"

	"millrace/internal/column"
	"millrace/streaming/store"
)

// mostRanges is how many ranges of a condition are written down; when there are more, only what encloses all of them.
const mostRanges = 200

// condition is SQL that holds for all rows that are wanted, and perhaps for others: numbers in it are literals, texts and doubles are parameters.
type condition struct {
	sql    strings.Builder
	values [][]byte
	oids   []uint32
	// none says that no row can be wanted.
	none bool
	// weak says that it holds for rows that are not wanted, too.
	weak bool
}

// and begins another term.
func (c *condition) and(term string) { c.sql.WriteString(" and " + term) }

// parameter adds a value and gives its name.
func (c *condition) parameter(oid uint32, value []byte) string {
	if value == nil {
		value = []byte{} // nil would be NULL
	}
	c.values, c.oids = append(c.values, value), append(c.oids, oid)
	return "$" + strconv.Itoa(len(c.values))
}

// where adds what conditions say of the rows of a part.
func (c *condition) where(t *table, p *part, conditions []store.Condition) {
	for i := range conditions {
		w := &conditions[i]
		col := &t.schema.Columns[w.Column]
		kind, there := p.find(col.ID)
		switch {
		case !there:
			c.none = c.none || !w.Holds(col.Type.Kind, col.Default)
		case col.Type.Kind == column.JSON:
			c.weak = true
		default:
			c.set(columnName(col.ID), kind, w)
		}
	}
}

// columnName is the name of a column in a part.
func columnName(id uint32) string { return "c" + strconv.FormatUint(uint64(id), 10) }

// set adds the term that a column of a kind is in the set of w.
func (c *condition) set(name string, kind column.Kind, w *store.Condition) {
	var terms []string
	if w.Null {
		terms = append(terms, name+" is null")
	}
	ranges := w.Ranges
	if len(ranges) > mostRanges {
		ranges, c.weak = []store.Range{enclosing(kind, ranges)}, true
	}
	switch {
	case kind == column.Bool:
		for _, x := range []bool{false, true} {
			if w.Holds(kind, store.Int(int64(b2i(x)))) {
				terms = append(terms, name+" = "+strconv.FormatBool(x))
			}
		}
	default:
		for i := range ranges {
			r := c.within(name, kind, &ranges[i])
			if r == "" { // every value is in it, but NULL
				r = name + " is not null"
			}
			terms = append(terms, r)
		}
		if kind == column.Float64 && len(ranges) > 0 { // which is in the set by contract
			terms = append(terms, name+" = 'NaN'")
		}
	}
	if len(terms) == 0 {
		c.none = true
		return
	}
	c.and("(" + strings.Join(terms, " or ") + ")")
}

// enclosing is a range that holds all of ranges.
func enclosing(k column.Kind, ranges []store.Range) store.Range {
	out := ranges[0]
	for _, r := range ranges[1:] {
		if r.Min.IsNull() || !out.Min.IsNull() && store.Compare(k, r.Min, out.Min) <= 0 {
			out.Min, out.MinOpen = r.Min, false
		}
		if r.Max.IsNull() || !out.Max.IsNull() && store.Compare(k, r.Max, out.Max) >= 0 {
			out.Max, out.MaxOpen = r.Max, false
		}
	}
	out.MinOpen, out.MaxOpen = false, false
	return out
}

// within is the term of a range, empty when it has no bounds that can be said.
func (c *condition) within(name string, kind column.Kind, r *store.Range) string {
	if r.Single(kind) {
		if v, ok := c.value(kind, r.Min); ok {
			return name + " = " + v
		}
	}
	var terms []string
	bound := func(v store.Value, open bool, operator string) {
		if v.IsNull() {
			return
		}
		x, ok := c.value(kind, v)
		if !ok {
			c.weak = true
			return
		}
		if !open {
			operator += "="
		}
		terms = append(terms, name+" "+operator+" "+x)
	}
	bound(r.Min, r.MinOpen, ">")
	bound(r.Max, r.MaxOpen, "<")
	switch len(terms) {
	case 0:
		return ""
	case 1:
		return terms[0]
	default:
		return "(" + strings.Join(terms, " and ") + ")"
	}
}

// value is a value as SQL has it; ok is false when it cannot be said.
func (c *condition) value(k column.Kind, v store.Value) (sql string, ok bool) {
	switch {
	case !v.Fits(k):
		return "", false
	case k == column.Uint64:
		return strconv.FormatUint(uint64(v.Int64()), 10) + "::numeric", true
	case k == column.Float64:
		return c.parameter(pgtype.Float8OID, binary.BigEndian.AppendUint64(nil, math.Float64bits(v.Float64()))), true
	case k == column.Decimal:
		b, ok := appendNumeric(nil, []byte(v.Bytes()))
		if !ok {
			return "", false
		}
		return c.parameter(pgtype.NumericOID, b), true
	case k == column.Text:
		if !utf8.ValidString(v.Bytes()) {
			return "", false
		}
		return c.parameter(pgtype.TextOID, appendEscaped(nil, []byte(v.Bytes()))), true
	case k == column.Bytes:
		return c.parameter(pgtype.ByteaOID, []byte(v.Bytes())), true
	case v.Int64() == math.MinInt64: // its digits alone are no bigint
		return "(-9223372036854775807-1)", true
	default:
		return "(" + strconv.FormatInt(v.Int64(), 10) + ")::bigint", true
	}
}

// alive adds that rows from first to end have not expired. It reports whether anything had to be added.
func (c *condition) alive(t *table, p *part, first int64) (hides bool) {
	for _, x := range t.expiries {
		if x.UpTo <= first {
			continue
		}
		hides = true
		upTo := "n >= " + strconv.FormatInt(x.UpTo, 10)
		kind, there := p.find(x.Column)
		if there {
			bound, _ := new(condition).value(kind, store.Int(x.Before))
			name := columnName(x.Column)
			c.and("(" + upTo + " or " + name + " is null or " + name + " >= " + bound + ")")
			continue
		}
		if col := t.column(x.Column); col != nil && !col.Default.IsNull() && store.Compare(col.Type.Kind, col.Default, store.Int(x.Before)) < 0 {
			c.and(upTo)
		}
	}
	return hides
}

// numbers adds a range of row numbers.
func (c *condition) numbers(from, to int64) {
	c.sql.WriteString("n >= " + strconv.FormatInt(from, 10) + " and n < " + strconv.FormatInt(to, 10))
}

// clone copies c, so that it can be added to.
func (c *condition) clone() *condition {
	n := &condition{values: slices.Clone(c.values), oids: slices.Clone(c.oids), none: c.none, weak: c.weak}
	n.sql.WriteString(c.sql.String())
	return n
}
