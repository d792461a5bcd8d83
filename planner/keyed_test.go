package planner

import (
	"slices"
	"testing"

	"millrace/streaming/store"
)

// What is kept of a plan, run with other keys, asks the store for what a new plan would ask.
func TestKeptLookupsAskForWhatNewPlansAsk(t *testing.T) {
	e, ctx := newShelves(t, nil)
	for _, c := range []struct {
		first, other string
		keys, with   []Key
	}{
		{"SELECT name FROM t WHERE id = 5", "SELECT name FROM t WHERE id = -70000", []Key{{"id", int64(5)}}, []Key{{"id", int64(-70000)}}},
		{"SELECT * FROM t WHERE name = 'a' AND n = 3", "SELECT * FROM t WHERE name = '' AND n = 4000000000", []Key{{"NAME", "a"}, {"n", int64(3)}}, []Key{{"name", ""}, {"n", int64(4000000000)}}},
		{"SELECT n, id FROM t AS x WHERE x.name = 'a' LIMIT 2", "SELECT n, id FROM t AS x WHERE x.name = 'é' LIMIT 2", []Key{{"name", "a"}}, []Key{{"name", "é"}}},
	} {
		plans := make([]*Scan, 2)
		for i, query := range []string{c.first, c.other} {
			n, err := analyzed(e, ctx, query)
			if err != nil {
				t.Fatal(err)
			}
			plans[i] = n.(*Scan)
		}
		l, ok := KeepLookup(ctx, plans[0], shelf{}, c.keys)
		if !ok {
			t.Errorf("%s is not kept", c.first)
			continue
		}
		var values []any
		for _, k := range c.with {
			values = append(values, k.Value)
		}
		got, want := l.with(values), plans[1]
		if !slices.Equal(got.stored.Columns, want.stored.Columns) || got.stored.Limit != want.stored.Limit || !slices.EqualFunc(got.stored.Where, want.stored.Where, func(a, b store.Condition) bool { return sameCondition(a, b) }) {
			t.Errorf("%s\nkept: %+v\nnew:  %+v", c.other, got.stored, want.stored)
		}
		if got.limit != want.limit || !slices.Equal(got.from, want.from) {
			t.Errorf("%s: limit %d of %v, want %d of %v", c.other, got.limit, got.from, want.limit, want.from)
		}
	}
}

// Keys that are not all that a plan depends on keep nothing.
func TestOtherPlansAreNotKept(t *testing.T) {
	e, ctx := newShelves(t, nil)
	id := []Key{{"id", int64(5)}}
	for query, keys := range map[string][]Key{
		"SELECT name FROM t WHERE id = 6":                                    id,
		"SELECT name FROM t WHERE id = 5 AND n = 1":                          id,
		"SELECT name FROM t WHERE id = 5 AND id = 5":                         {{"id", int64(5)}, {"id", int64(5)}},
		"SELECT name FROM t WHERE n = 5":                                     id,
		"SELECT name FROM t WHERE id >= 5":                                   id,
		"SELECT name FROM t WHERE id = 5 OR id = 5":                          id,
		"SELECT name FROM t":                                                 nil,
		"SELECT name FROM t WHERE id = 5 ORDER BY n LIMIT 3":                 id,
		"SELECT count(*) FROM t WHERE id = 5":                                id,
		"SELECT n + 1 FROM t WHERE id = 5":                                   id,
		"SELECT x.name FROM (SELECT id, 1 AS name FROM t) AS x WHERE id = 5": id,
		"SELECT name FROM t WHERE f = 5":                                     {{"f", int64(5)}},
		"SELECT name FROM t WHERE d = 5":                                     {{"d", int64(5)}},
		"SELECT name FROM t WHERE id = '5'":                                  {{"id", "5"}},
		"SELECT name FROM t WHERE name = 5":                                  {{"name", int64(5)}},
		"SELECT name FROM t WHERE missing = 5":                               {{"missing", int64(5)}},
	} {
		n, err := analyzed(e, ctx, query)
		if err != nil {
			continue
		}
		if _, ok := KeepLookup(ctx, n, shelf{}, keys); ok {
			t.Errorf("%s is kept with %v", query, keys)
		}
	}
}

func TestLookupsTakeValuesOfTheirClass(t *testing.T) {
	e, ctx := newShelves(t, nil)
	n, err := analyzed(e, ctx, "SELECT name FROM t WHERE id = 5 AND name = 'a'")
	if err != nil {
		t.Fatal(err)
	}
	l, ok := KeepLookup(ctx, n, shelf{}, []Key{{"id", int64(5)}, {"name", "a"}})
	if !ok {
		t.Fatal("the plan is not kept")
	}
	if _, ok := KeepLookup(ctx, n, nil, []Key{{"id", int64(5)}, {"name", "a"}}); ok {
		t.Error("the plan is kept for another table")
	}
	if !l.Takes([]any{int64(-1), ""}) {
		t.Error("an integer and a text are refused")
	}
	for _, values := range [][]any{nil, {int64(1)}, {"1", "a"}, {int64(1), int64(1)}, {nil, "a"}, {1.0, "a"}, {int64(1), "a", "b"}} {
		if l.Takes(values) {
			t.Errorf("%v are taken", values)
		}
	}
}
