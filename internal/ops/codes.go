package ops

import (
	"fmt"
	"slices"

	"millrace/internal/column"
)

// codeGroups finds the groups of rows by the codes of their keys. As long as the dictionaries are the same, which a source of segments sees to, a combination of
// values is looked up once and not once a row.
type codeGroups struct {
	dicts []*column.Dictionary
	// groups are by combination, unknown where none has been seen. A key has one value more than its dictionary, NULL.
	groups []int32
	// sizes are the numbers of values of the keys.
	sizes []int32
}

const unknown = -1

// mostCombinations bounds codeGroups: a table of them has to fit a processor's cache, and to be filled for each dictionary.
const mostCombinations = column.MaxCodes + 1

// begin prepares for rows of cols. It reports false for rows whose groups cannot be found by codes.
func (c *codeGroups) begin(cols []*column.Vector) bool {
	known := len(c.dicts) == len(cols)
	combinations := 1
	for i, v := range cols {
		if v.Dict == nil {
			return false
		}
		known = known && c.dicts[i] == v.Dict
		if combinations *= v.Dict.Len() + 1; combinations > mostCombinations {
			return false
		}
	}
	if known {
		return true
	}
	c.dicts, c.sizes = c.dicts[:0], c.sizes[:0]
	for _, v := range cols {
		c.dicts, c.sizes = append(c.dicts, v.Dict), append(c.sizes, int32(v.Dict.Len()+1))
	}
	c.groups = slices.Grow(c.groups[:0], combinations)[:combinations]
	for i := range c.groups {
		c.groups[i] = unknown
	}
	return true
}

// combine numbers the combination of each row, in list.
func (c *codeGroups) combine(cols []*column.Vector, sel, list []int32) {
	for j, v := range cols {
		size := c.sizes[j]
		switch {
		case sel == nil && v.Valid == nil && j == 0:
			for k, code := range v.Codes[:len(list)] {
				list[k] = int32(code)
			}
		case sel == nil && v.Valid == nil:
			for k, code := range v.Codes[:len(list)] {
				list[k] = list[k]*size + int32(code)
			}
		default:
			for k := range list {
				i, before := k, int32(0)
				if sel != nil {
					i = int(sel[k])
				}
				if j > 0 {
					before = list[k] * size
				}
				if v.IsNull(i) {
					list[k] = before + size - 1
				} else {
					list[k] = before + int32(v.Codes[i])
				}
			}
		}
	}
}

// assignCodes puts the group of each row into groups, where codes.begin has said that it can.
func (t *keys) assignCodes(cols []*column.Vector, sel, groups []int32) {
	known := t.codes.groups
	if v := cols[0]; len(cols) == 1 && sel == nil && v.Valid == nil { // a code is the combination
		for k, code := range v.Codes[:len(groups)] {
			g := known[code]
			if g == unknown {
				g = t.findCoded(cols, k)
				known[code] = g
			}
			groups[k] = g
		}
		return
	}
	t.codes.combine(cols, sel, groups)
	for k, combination := range groups {
		g := known[combination]
		if g == unknown {
			i := k
			if sel != nil {
				i = int(sel[k])
			}
			g = t.findCoded(cols, i)
			known[combination] = g
		}
		groups[k] = g
	}
}

// findCoded gives the group of a row by its values.
func (t *keys) findCoded(cols []*column.Vector, i int) int32 {
	if len(cols) == 1 {
		if cols[0].IsNull(i) {
			return t.nullGroup()
		}
		return t.find(cols[0].Decoded(i))
	}
	t.code = t.code[:0]
	for _, v := range cols {
		if v.IsNull(i) {
			t.code = appendNullKey(t.code)
		} else {
			t.code = appendViewKey(t.code, v.Decoded(i))
		}
	}
	return t.find(t.code)
}

// viewColumn is a column of views. Where it comes with codes alone, the rows that are asked for get their views: a filter by another column leaves few of them.
type viewColumn struct {
	index int
	lane  *lane
	out   column.Vector
	// batch is the one that all rows have got theirs of.
	batch int64
}

// views is the evaluator of a column of views, one for all who read it.
func (l *lane) views(index int) *viewColumn {
	id := fmt.Sprint("views of column ", index)
	c, ok := l.shared[id].(*viewColumn)
	if !ok {
		c = &viewColumn{index: index, lane: l, batch: -1}
		l.shared[id] = c
	}
	return c
}

func (c *viewColumn) eval(in *column.Batch, sel []int32) (*column.Vector, error) {
	v := &in.Cols[c.index]
	if !v.Coded() {
		return v, nil
	}
	out := &c.out
	if c.batch == c.lane.batch {
		return out, nil
	}
	addViews(out, v, sel) // who has asked for other rows of the batch before finds them as they were
	if sel == nil {
		c.batch = c.lane.batch
	}
	return out, nil
}

// addViews makes out what v is, with views of the rows of sel, all when nil. Views of other rows of v that it has stay.
func addViews(out, v *column.Vector, sel []int32) {
	n := len(v.Codes)
	out.Type, out.Valid, out.Data = v.Type, v.Valid, v.Data
	out.Beg, out.End = room(out.Beg, n), room(out.End, n)
	if sel == nil {
		v.Dict.Views(v.Codes, out.Beg, out.End)
		return
	}
	for _, i := range sel {
		code := v.Codes[i]
		out.Beg[i], out.End[i] = v.Dict.Beg[code], v.Dict.End[code]
	}
}

// bindKey binds a key of groups. One that is a column comes as it is, since groups are found by codes.
func (l *lane) bindKey(e Expr) evaluator {
	if c, ok := e.(*columnRef); ok {
		return columnEval(c.index)
	}
	return l.bind(e)
}

// TakesCodes implements scan.Coder.
func (s *aggregateSink) TakesCodes() bool { return true }

// TakesCodes implements scan.Coder.
func (s *sortSink) TakesCodes() bool { return true }

// TakesCodes implements scan.Coder.
func (s *projectSink) TakesCodes() bool { return true }
