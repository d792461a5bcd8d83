package kafkameta

import (
	"sync"
	"time"

	"github.com/dolthub/go-mysql-server/sql"

	"millrace/functions/named"
	"millrace/functions/readkafka"
	"millrace/internal/kafka"
	"millrace/internal/option"
	"millrace/internal/sqlerr"
	"millrace/planner"
)

// node is a call of a table function in a plan. It is immutable but for gathered.
type node struct {
	*Function
	named.Call
	env      readkafka.Env
	args     []named.Arg
	gathered *gathered
}

var (
	_ sql.TableFunction            = (*node)(nil)
	_ sql.ExecSourceRel            = (*node)(nil)
	_ sql.AuthorizationCheckerNode = (*node)(nil)
)

// call is an example of the arguments.
func (f *Function) call() string {
	if f.registryRows != nil {
		return "(schemaRegistryUrl => 'http://registry:8081')"
	}
	return "(bootstrapServers => 'broker:9092')"
}

// New gives the functions to register with the engine. They reach Kafka as read_kafka with env does.
func New(env readkafka.Env) []sql.TableFunction {
	var out []sql.TableFunction
	for _, f := range Functions() {
		out = append(out, &node{Function: f, Call: named.NewCall(f.Name, nil, nil), env: env})
	}
	return out
}

// NewInstance implements sql.TableFunction: a call with its arguments.
func (n *node) NewInstance(ctx *sql.Context, db sql.Database, exprs []sql.Expression) (sql.Node, error) {
	call := &node{Function: n.Function, Call: named.NewCall(n.Name(), db, exprs), env: n.env, gathered: new(gathered)}
	var err error
	if call.args, err = named.Args(ctx, n.Function.Name, n.Function.Name+n.Function.call(), exprs); err != nil {
		return nil, err
	}
	for _, a := range call.args {
		if a.Name == readkafka.StreamFlag {
			return nil, sqlerr.New(sqlerr.NotSupported, "'%s' has no STREAM: it shows what is there now", n.Function.Name).WithHint("leave STREAM out")
		}
		if n.Options.Lookup(a.Name) == nil {
			return nil, n.Options.Unknown(a.Name)
		}
	}
	if named.Constant(exprs) {
		if _, _, err := call.bind(ctx); err != nil {
			return nil, err
		}
	}
	return call, nil
}

// bind evaluates the arguments. The selection is checked here too, so that its errors are told at once.
func (n *node) bind(ctx *sql.Context) (*option.Values, kafka.Config, error) {
	pairs, err := named.Pairs(ctx, n.args)
	if err != nil {
		return nil, kafka.Config{}, err
	}
	if n.registryRows != nil {
		values, _, err := n.bindRegistry(ctx, pairs)
		return values, kafka.Config{}, err
	}
	values, config, err := readkafka.BindConnection(n.Options, pairs, n.env.In(ctx))
	if err == nil && n.Options.Lookup("subscribe") != nil {
		_, err = readkafka.BindSelection(values)
	}
	return values, config, err
}

// bindRegistry binds the arguments of a function that asks a schema registry.
func (n *node) bindRegistry(ctx *sql.Context, pairs []option.Pair) (*option.Values, *readkafka.Registry, error) {
	values, err := n.Options.Bind(pairs, false)
	if err != nil {
		return nil, nil, err
	}
	r, err := readkafka.BindRegistry(values, n.env, ctx)
	return values, r, err
}

// CheckAuth implements sql.AuthorizationCheckerNode: the engine itself lets everybody call a table function.
func (n *node) CheckAuth(ctx *sql.Context, checker sql.PrivilegedOperationChecker) bool {
	return readkafka.Allowed(ctx, checker, n.args)
}

// RowIter implements sql.ExecSourceRel.
func (n *node) RowIter(ctx *sql.Context, _ sql.Row) (sql.RowIter, error) {
	rows, err := n.gathered.get(ctx, n.gather)
	if err != nil {
		return nil, err
	}
	return sql.RowsToRowIter(rows...), nil
}

// gather asks the cluster, or the registry.
func (n *node) gather(ctx *sql.Context) ([]sql.Row, error) {
	if n.registryRows != nil {
		pairs, err := named.Pairs(ctx, n.args)
		if err != nil {
			return nil, err
		}
		values, r, err := n.bindRegistry(ctx, pairs)
		if err != nil {
			return nil, err
		}
		for _, w := range values.Warnings {
			ctx.Warn(planner.WarningCode, "%s", w)
		}
		return n.registryRows(ctx, r, values)
	}
	values, config, err := n.bind(ctx)
	if err != nil {
		return nil, err
	}
	cluster, err := n.env.Pool.Cluster(ctx, config)
	if err != nil {
		return nil, err
	}
	rows, warnings, err := n.rows(ctx, cluster, values)
	if err != nil {
		return nil, err
	}
	for _, w := range append(values.Warnings, warnings...) {
		ctx.Warn(planner.WarningCode, "%s", w)
	}
	return rows, nil
}

// gathered keeps the rows of a call for the statement that runs it: in a correlated subquery or on the inner side of a join it runs again and again,
// and every time sees the same cluster.
type gathered struct {
	mu      sync.Mutex
	process uint64
	start   time.Time
	rows    []sql.Row
	done    bool
}

func (g *gathered) get(ctx *sql.Context, gather func(*sql.Context) ([]sql.Row, error)) ([]sql.Row, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.done && g.process == ctx.Pid() && g.start.Equal(ctx.QueryTime()) {
		return g.rows, nil
	}
	rows, err := gather(ctx)
	if err != nil {
		return nil, err
	}
	g.rows, g.done, g.process, g.start = rows, true, ctx.Pid(), ctx.QueryTime()
	return rows, nil
}

// Name implements sql.Nameable.
func (n *node) Name() string { return n.Call.Name() }

// Schema implements sql.Node.
func (n *node) Schema(*sql.Context) sql.Schema { return n.schema(n.DatabaseName()) }

// IsReadOnly implements sql.Node.
func (n *node) IsReadOnly() bool { return true }

// WithChildren implements sql.Node.
func (n *node) WithChildren(_ *sql.Context, children ...sql.Node) (sql.Node, error) {
	return n.Leaf(n, children)
}

// WithExpressions implements sql.Expressioner.
func (n *node) WithExpressions(ctx *sql.Context, exprs ...sql.Expression) (sql.Node, error) {
	return n.With(ctx, n, exprs, n.NewInstance)
}

// WithDatabase implements sql.Databaser.
func (n *node) WithDatabase(db sql.Database) (sql.Node, error) {
	c := *n
	c.Call = n.In(db)
	return &c, nil
}
