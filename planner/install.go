package planner

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer"
	"github.com/dolthub/go-mysql-server/sql/expression/function"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/memory"
	"millrace/internal/spill"
	"millrace/planner/agg"
	"millrace/planner/expr"
)

// ourRule is the id of all our rules. The engine makes a text of the id of each rule that it applies, which for one that it does not know costs more than
// the rule; the id of a check of CREATE TABLE is one that it knows and never leaves out.
const ourRule = analyzer.ValidateCreateTableId

// pushdownVariable is the system variable that turns the rule off.
const pushdownVariable = "pushdown"

// Options bound what scans may use.
type Options struct {
	// Memory is what all statements share; nil is no bound. MemoryBytes bounds one statement, 0 for no bound: what its scans read ahead, their groups,
	// sorted rows, and rows that wait or are kept.
	Memory      *memory.Budget
	MemoryBytes int64
	// Temp is where groups and sorted rows go that memory has no room for; without it such a statement fails with SCAN_MEMORY.
	Temp *spill.Space
	// SpillBytes is the least that is written there at once; 0 is for package ops to say.
	SpillBytes int
	// KeepBytes bounds the rows that are kept of a scan that a statement runs more than once; 0 for 64 MiB.
	KeepBytes int64
}

// Install adds the planner's rules to an analyzer that is fully configured: pushdown comes after all of the engine's, and
// EXPLAIN ANALYZE and FORMAT=JSON are ours. Call it once for each analyzer.
func Install(a *analyzer.Analyzer) { InstallWith(a, Options{}) }

// InstallWith is Install with options.
func InstallWith(a *analyzer.Analyzer, o Options) {
	RegisterVariables()
	agg.RegisterNames()
	analyzeWhole()
	if o.KeepBytes == 0 {
		o.KeepBytes = 64 << 20
	}
	before := &analyzer.Batch{Desc: "corrections", Iterations: 1, Rules: []analyzer.Rule{
		{Id: ourRule, Apply: correctNullability},
		{Id: ourRule, Apply: compareInstants},
		{Id: ourRule, Apply: correctComparisons},
		{Id: ourRule, Apply: keepPerRow},
		{Id: ourRule, Apply: correctLimits},
	}}
	after := &analyzer.Batch{Desc: "pushdown", Iterations: 1, Rules: []analyzer.Rule{
		{Id: ourRule, Apply: o.apply},
	}}
	a.Batches = slices.Concat([]*analyzer.Batch{before}, o.sparingLookups(checkingGroups(a.Batches)), []*analyzer.Batch{after})
	a.ExecBuilder.PriorityBuilder = explainer{a.ExecBuilder, &o}
}

// analyzeWhole has the engine apply all rules to every statement. A SELECT of one table without more than a WHERE goes through a short list of its own
// otherwise, which ours are not in; the engine leaves that list where AlwaysBeforeDefault has a rule. It is also the only place for a rule of DELETE.
var analyzeWhole = sync.OnceFunc(func() {
	analyzer.AlwaysBeforeDefault = append(analyzer.AlwaysBeforeDefault, analyzer.Rule{Id: ourRule, Apply: deleteAll})
})

// Functions are the engine's functions that the planner replaces by correct ones, and those that Operators makes. The database provider must offer them,
// before the engine's own, as a sql.FunctionProvider.
func Functions() []sql.Function {
	list := []sql.Function{sql.Function1{Name: "sum", Fn: agg.NewSum}, sql.Function1{Name: "avg", Fn: agg.NewAvg}}
	for name, kind := range map[string]agg.Kind{
		"std": agg.StdDevPop, "stddev": agg.StdDevPop, "stddev_pop": agg.StdDevPop, "stddev_samp": agg.StdDevSamp,
		"variance": agg.VarPop, "var_pop": agg.VarPop, "var_samp": agg.VarSamp,
	} {
		list = append(list, sql.Function1{Name: name, Fn: agg.NewSpread(kind)})
	}
	for name, build := range map[string]func(*sql.Context, sql.Expression, sql.Expression) sql.Expression{"left": function.NewLeft, "right": function.NewRight} {
		list = append(list, sql.Function2{Name: name, Fn: func(ctx *sql.Context, text, n sql.Expression) sql.Expression {
			return expr.NewSlice(ctx, build(ctx, text, n))
		}})
	}
	list = append(list, sql.FunctionN{Name: decimalFunction, Fn: expr.NewDecimalCast}, sql.FunctionN{Name: "round", Fn: func(ctx *sql.Context, args ...sql.Expression) (sql.Expression, error) {
		e, err := function.NewRound(ctx, args...)
		if err != nil {
			return nil, err
		}
		return expr.NewRounded(e), nil
	}})
	list = append(list, sql.Function1{Name: "json_unquote", Fn: expr.NewUnquote}, sql.Function1{Name: "reverse", Fn: func(ctx *sql.Context, text sql.Expression) sql.Expression {
		return expr.NewSlice(ctx, function.NewReverse(ctx, text))
	}})
	list = append(list, extremeFunction("greatest", true, function.NewGreatest), extremeFunction("least", false, function.NewLeast))
	for operator, name := range arithmeticFunctions {
		list = append(list, sql.Function2{Name: name, Fn: func(ctx *sql.Context, l, r sql.Expression) sql.Expression {
			return expr.NewArithmetic(ctx, operator[0], l, r)
		}})
	}
	return list
}

func extremeFunction(name string, greatest bool, build sql.CreateFuncNArgs) sql.Function {
	return sql.FunctionN{Name: name, Fn: func(ctx *sql.Context, args ...sql.Expression) (sql.Expression, error) {
		call, err := build(ctx, args...)
		if err != nil {
			return nil, err
		}
		return expr.NewExtreme(ctx, call, greatest), nil
	}}
}

// RegisterVariables makes the system variables of this package known. It may be called again.
var RegisterVariables = sync.OnceFunc(func() {
	sql.SystemVariables.AddSystemVariables([]sql.SystemVariable{
		&sql.MysqlSystemVariable{
			Name:              pushdownVariable,
			Scope:             sql.GetMysqlScope(sql.SystemVariableScope_Both),
			Dynamic:           true,
			SetVarHintApplies: true,
			Type:              types.NewSystemEnumType(pushdownVariable, "off", "on"),
			Default:           "on",
		},
	})
})

// enabled reports whether the session wants the rule.
func enabled(ctx *sql.Context) (bool, error) {
	v, err := ctx.GetSessionVariable(ctx, pushdownVariable)
	if err != nil {
		if sql.ErrUnknownSystemVariable.Is(err) {
			return true, nil
		}
		return false, fmt.Errorf("read @@%s: %w", pushdownVariable, err)
	}
	return v != "off", nil
}

// assignIndexes is the id of the engine's rule that fixes the positions of columns. Where it runs, ours may: every other run of the
// batches is over a part of a plan whose positions are still to change.
var assignIndexes = sync.OnceValues(func() (analyzer.RuleId, error) {
	i := slices.IndexFunc(analyzer.OnceAfterAll, func(r analyzer.Rule) bool { return strings.EqualFold(r.Id.String(), "assignExecIndexes") })
	if i < 0 {
		return 0, fmt.Errorf("planner: this version of the engine has no rule assignExecIndexes")
	}
	return analyzer.OnceAfterAll[i].Id, nil
})
