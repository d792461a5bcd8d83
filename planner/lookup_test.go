package planner

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	sqle "github.com/dolthub/go-mysql-server"
	"github.com/dolthub/go-mysql-server/memory"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/planbuilder"
	"github.com/dolthub/go-mysql-server/sql/transform"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/sqltypes"

	"millrace/internal/column"
	"millrace/internal/scan"
)

// shelf is a stored table that can be planned and not read.
type shelf struct{}

func (shelf) Name() string                                                   { return "t" }
func (shelf) String() string                                                 { return "t" }
func (shelf) Collation() sql.CollationID                                     { return sql.Collation_Default }
func (shelf) Partitions(*sql.Context) (sql.PartitionIter, error)             { return nil, errShelf }
func (shelf) PartitionRows(*sql.Context, sql.Partition) (sql.RowIter, error) { return nil, errShelf }
func (shelf) OpenStored(*sql.Context, StoredRequest) (scan.Source, error)    { return nil, errShelf }
func (shelf) SkipIndexCosting() bool                                         { return true }
func (shelf) GetIndexes(*sql.Context) ([]sql.Index, error)                   { return nil, nil }
func (shelf) IndexedAccess(*sql.Context, sql.IndexLookup) sql.IndexedTable   { return nil }
func (shelf) PreciseMatch() bool                                             { return false }
func (shelf) LookupForExpressions(*sql.Context, ...sql.Expression) (l sql.IndexLookup, _ *sql.FuncDepSet, _ sql.Expression, _ bool, err error) {
	return l, nil, nil, false, nil
}

var errShelf = errors.New("the rows of a shelf are not read")

func (shelf) Schema(*sql.Context) sql.Schema {
	var s sql.Schema
	for _, c := range []struct {
		name string
		typ  sql.Type
	}{{"id", types.Int64}, {"n", types.Int32}, {"name", types.MustCreateStringWithDefaults(sqltypes.VarChar, 32)}, {"f", types.Float64}, {"at", types.DatetimeMaxPrecision}, {"d", types.MustCreateColumnDecimalType(10, 2)}} {
		s = append(s, &sql.Column{Name: c.name, Type: c.typ, Nullable: c.name != "id", Source: "t", DatabaseSource: "shelves"})
	}
	return s
}

func (shelf) StoredColumns() []column.Field {
	return []column.Field{
		{Name: "id", Type: column.Type{Kind: column.Int64}}, {Name: "n", Type: column.Type{Kind: column.Int32}, Nullable: true, Width: 32}, {Name: "name", Type: column.Type{Kind: column.Text}, Nullable: true},
		{Name: "f", Type: column.Type{Kind: column.Float64}, Nullable: true}, {Name: "at", Type: column.Type{Kind: column.Timestamp, Scale: 6}, Nullable: true},
		{Name: "d", Type: column.Type{Kind: column.Decimal, Precision: 10, Scale: 2}, Nullable: true},
	}
}

// shelves is a database of one table.
type shelves struct{}

func (shelves) Name() string { return "shelves" }
func (shelves) GetTableInsensitive(_ *sql.Context, name string) (sql.Table, bool, error) {
	return shelf{}, strings.EqualFold(name, "t"), nil
}
func (shelves) GetTableNames(*sql.Context) ([]string, error) { return []string{"t"}, nil }

// newShelves makes an engine over shelves. The rules that look-ups are spared are applied to them when watch is not nil, which is told of each.
func newShelves(t *testing.T, watch func(rule string, before, after sql.Node, err error)) (*sqle.Engine, *sql.Context) {
	t.Helper()
	pro := memory.NewDBProvider(shelves{})
	a := analyzer.NewBuilder(pro).AddOverrides(sql.EngineOverrides{Builder: sql.BuilderOverrides{Parser: parser{sql.NewMysqlParser()}}}).Build()
	whole := a.Batches
	Install(a)
	if watch != nil {
		for i, b := range whole {
			rules := slices.Clone(b.Rules)
			for k, r := range rules {
				if slices.Contains(notForLookups, r.Id.String()) {
					rules[k].Apply = func(ctx *sql.Context, a *analyzer.Analyzer, n sql.Node, scope *plan.Scope, sel analyzer.RuleSelector, flags *sql.QueryFlags) (sql.Node, transform.TreeIdentity, error) {
						lookup := isLookup(n)
						after, same, err := r.Apply(ctx, a, n, scope, sel, flags)
						if lookup {
							watch(r.Id.String(), n, after, err)
						}
						return after, same, err
					}
				}
			}
			whole[i] = &analyzer.Batch{Desc: b.Desc, Iterations: b.Iterations, Rules: rules}
		}
		a.Batches = slices.Concat(a.Batches[:1], whole, a.Batches[len(a.Batches)-1:])
	}
	e := sqle.New(a, &sqle.Config{})
	t.Cleanup(func() { _ = e.Close() })
	session := memory.NewSession(sql.NewBaseSession(), pro)
	session.SetCurrentDatabase("shelves")
	return e, sql.NewContext(context.Background(), sql.WithSession(session), sql.WithProcessList(sqle.NewProcessList()))
}

// analyzed is the plan of a query.
func analyzed(e *sqle.Engine, ctx *sql.Context, query string) (sql.Node, error) {
	bound, _, _, flags, err := planbuilder.New(ctx, e.Analyzer.Catalog, nil).Parse(query, nil, false)
	if err != nil {
		return nil, err
	}
	return e.Analyzer.Analyze(ctx, bound, nil, flags)
}

// Each rule that look-ups are spared would have left every one as it is, and the plan is the same as by all rules.
func TestRulesThatLookupsAreSparedDoNothing(t *testing.T) {
	applied := map[string]int{}
	query := ""
	var whole *sqle.Engine
	var wholeCtx *sql.Context
	whole, wholeCtx = newShelves(t, func(rule string, before, after sql.Node, err error) {
		applied[rule]++
		if err != nil {
			t.Errorf("%s: %s refuses it: %v", query, rule, err)
		} else if was, is := wholeText(wholeCtx, flat(t, wholeCtx, before)), wholeText(wholeCtx, flat(t, wholeCtx, after)); was != is {
			t.Errorf("%s: %s makes of\n%s\nthis:\n%s", query, rule, was, is)
		}
	})
	short, shortCtx := newShelves(t, nil)
	rnd := rand.New(rand.NewPCG(1, 2))
	scans := 0
	queries := 200
	if os.Getenv("CI") == "true" {
		queries = 1000
	}
	for range queries {
		query = randomLookup(rnd)
		want, wantErr := analyzed(whole, wholeCtx, query)
		got, gotErr := analyzed(short, shortCtx, query)
		if fmt.Sprint(wantErr) != fmt.Sprint(gotErr) {
			t.Fatalf("%s: %v by all rules, %v", query, wantErr, gotErr)
		}
		if wantErr != nil {
			continue
		}
		if w, g := wholeText(wholeCtx, want), wholeText(shortCtx, got); w != g {
			t.Fatalf("%s: by all rules\n%s\nelse\n%s", query, w, g)
		}
		a, isScan := want.(*Scan)
		b, both := got.(*Scan)
		if isScan != both {
			t.Fatalf("%s: %T by all rules, else %T", query, want, got)
		}
		if !isScan {
			continue
		}
		scans++
		for what, pair := range map[string][2]any{
			"request": {a.stored, b.stored}, "pipeline": {a.plan.String(), b.plan.String()}, "schema": {a.schema, b.schema}, "places": {a.from, b.from}, "limit": {a.limit, b.limit}, "offset": {a.offset, b.offset},
		} {
			if !reflect.DeepEqual(pair[0], pair[1]) {
				t.Fatalf("%s: %s is %v by all rules, %v", query, what, pair[0], pair[1])
			}
		}
	}
	if scans < queries/4 {
		t.Errorf("%d of %d look-ups are scans", scans, queries)
	}
	for _, name := range notForLookups {
		if applied[name] < queries/2 {
			t.Errorf("rule %s was applied to %d look-ups: has the engine such a rule?", name, applied[name])
		}
	}
}

func wholeText(ctx *sql.Context, n sql.Node) string { return sql.DebugString(ctx, n) }

// flat is a plan whose filters nest AND in one way: the engine changes it when it moves a filter to where it is already.
func flat(t *testing.T, ctx *sql.Context, n sql.Node) sql.Node {
	n, _, err := transform.Node(ctx, n, func(ctx *sql.Context, n sql.Node) (sql.Node, transform.TreeIdentity, error) {
		f, ok := n.(*plan.Filter)
		if !ok {
			return n, transform.SameTree, nil
		}
		return plan.NewFilter(ctx, expression.JoinAnd(expression.SplitConjunction(ctx, f.Expression)...), f.Child), transform.NewTree, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Plans of other shapes are no look-ups.
func TestOtherPlansGoThroughAllRules(t *testing.T) {
	for _, query := range []string{
		"SELECT count(*) FROM t", "SELECT n FROM t GROUP BY n", "SELECT DISTINCT n FROM t", "SELECT a.id FROM t a JOIN t b ON a.id = b.id", "SELECT id FROM t WHERE id = (SELECT max(id) FROM t)",
		"SELECT id FROM (SELECT id FROM t) x", "SELECT id FROM t UNION SELECT n FROM t", "SELECT upper(name) FROM t", "SELECT id FROM t WHERE (id, n) IN ((1, 2))", "SELECT id FROM t WHERE (id, n) = (1, 2)",
		"SELECT id FROM t HAVING id > 3", "WITH x AS (SELECT id FROM t) SELECT * FROM x", "SELECT row_number() OVER (ORDER BY id) FROM t", "SELECT 1", "SELECT id FROM t WHERE at > now() - INTERVAL 1 DAY",
	} {
		e, ctx := newShelves(t, nil)
		bound, _, _, _, err := planbuilder.New(ctx, e.Analyzer.Catalog, nil).Parse(query, nil, false)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		if isLookup(bound) {
			t.Errorf("%s is taken for a look-up", query)
		}
	}
}

// randomLookup is a query that is a look-up nearly always: some have what makes them none, and some are wrong.
func randomLookup(rnd *rand.Rand) string {
	name := []string{"t", "t AS x", "shelves.t"}[rnd.IntN(3)]
	columns := []string{"id", "n", "name", "f", "at", "d"}
	pick := func(from ...string) string { return from[rnd.IntN(len(from))] }
	constant := func() string {
		return pick("1", "0", "-5", "2.5", "'abc'", "'7'", "NULL", "TRUE", "'2026-01-02'", "'2026-01-02 03:04:05.678'", "18446744073709551615", "1e3", "''", "x'61'")
	}
	var predicate func(depth int) string
	predicate = func(depth int) string {
		c := pick(columns...)
		switch k := rnd.IntN(12); {
		case k < 4:
			return c + pick(" = ", " <> ", " < ", " <= ", " > ", " >= ", " <=> ") + constant()
		case k == 4:
			return constant() + pick(" = ", " < ", " >= ") + c
		case k == 5:
			return c + pick(" IS NULL", " IS NOT NULL")
		case k == 6:
			return c + pick(" BETWEEN ", " NOT BETWEEN ") + constant() + " AND " + constant()
		case k == 7:
			return c + pick(" IN (", " NOT IN (") + constant() + pick("", ", "+constant(), ", 3, 4, 5") + ")"
		case k == 8:
			return pick(c+" = "+pick(columns...), constant(), "1 = 1", "length(name) > 2", "n + 1 = 3", "name LIKE 'a%'")
		case depth > 2:
			return c + " = 1"
		case k == 9:
			return "NOT (" + predicate(depth+1) + ")"
		default:
			return "(" + predicate(depth+1) + pick(" AND ", " OR ", " AND ") + predicate(depth+1) + ")"
		}
	}
	var list []string
	for range 1 + rnd.IntN(4) {
		list = append(list, pick(columns...)+pick("", "", fmt.Sprintf(" AS c%d", rnd.IntN(3))))
	}
	if rnd.IntN(20) == 0 {
		list = append(list, pick("1", "'a' AS k", "nowhere", "*", "n + 1"))
	}
	q := "SELECT " + strings.Join(list, ", ") + " FROM " + name
	if rnd.IntN(6) > 0 {
		q += " WHERE " + predicate(0)
	}
	if rnd.IntN(3) == 0 {
		q += " ORDER BY " + pick(columns...) + pick("", " DESC") + pick("", ", "+pick(columns...))
	}
	if rnd.IntN(3) == 0 {
		q += " LIMIT " + pick("0", "1", "10") + pick("", " OFFSET 2")
	}
	return q
}
