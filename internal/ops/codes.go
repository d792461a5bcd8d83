package ops

import (
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
	t.codes.combine(cols, sel, groups)
	known := t.codes.groups
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

// views gives key c the views that its vector lacks.
func (t *keys) views(c int, v *column.Vector) *column.Vector {
	if t.expanded == nil {
		t.expanded = make([]column.Vector, len(t.types))
	}
	e := &t.expanded[c]
	e.Type, e.Valid, e.Data, e.Codes, e.Dict = v.Type, v.Valid, v.Data, v.Codes, v.Dict
	e.Beg, e.End = e.Beg[:0], e.End[:0]
	e.Expand()
	return e
}

// ByCodes implements scan.Coder: a column that is a key, and nothing else, is only asked which rows are alike.
func (s *aggregateSink) ByCodes(c int) bool {
	isKey := func(e Expr) bool {
		ref, ok := e.(*columnRef)
		return ok && ref.index == c
	}
	p := s.stage.plan
	if p.position != nil || !slices.ContainsFunc(p.groupBy, isKey) {
		return false
	}
	others := slices.Concat(p.filter, slices.DeleteFunc(slices.Clone(p.groupBy), isKey))
	for _, a := range p.aggregates {
		others = append(others, a.arguments()...)
	}
	return !slices.ContainsFunc(others, func(e Expr) bool { return reads(e, c) })
}

// reads reports whether e is computed of a column.
func reads(e Expr, c int) bool {
	if ref, ok := e.(*columnRef); ok {
		return ref.index == c
	}
	return slices.ContainsFunc(e.operands(), func(o Expr) bool { return reads(o, c) })
}
