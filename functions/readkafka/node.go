package readkafka

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/dolthub/go-mysql-server/sql"

	"millrace/functions/named"
	"millrace/internal/kafka"
	"millrace/internal/memory"
	"millrace/internal/scan"
	"millrace/planner"
)

// Name is the name of the function in SQL.
const Name = "read_kafka"

// Privilege is the dynamic privilege that a user needs to call the function.
const Privilege = "KAFKA_READ"

// Env is what the server gives every call.
type Env struct {
	ArgsEnv
	// Pool holds the connections. It outlives the nodes.
	Pool *kafka.Pool
	// Registries holds the clients of schema registries; nil where there are none. It outlives the nodes.
	Registries *Registries
	// Privileges, when not nil, gives what checks the privileges of a session's user: finding the columns may ask a broker or a registry.
	Privileges func() sql.PrivilegedOperationChecker
	// Observe, when not nil, is given each source that a call opens and the request that it was opened for, and gives the source to use instead: the server
	// counts what scans read and hold, and the bad data that is met.
	Observe func(ctx *sql.Context, src scan.Source, req scan.Request) scan.Source
	// Memory, when not nil, is what a sink takes the memory from for rows that wait to be acknowledged: a part of what the statement under ctx may have.
	Memory func(ctx context.Context) *memory.Budget
	// Decided, when not nil, is told the columns of each call once they are known: who misspells one can then be told which was meant.
	Decided func(ctx *sql.Context, columns []string)
}

// Node is a call of read_kafka in a plan. It is immutable.
type Node struct {
	named.Call
	env Env
	// named are the arguments by name.
	named []named.Arg
	// bound are the arguments, when all were known at planning; nil with a parameter or a user variable.
	bound *Args
	// format and layout are what decides the columns, and the columns.
	format Format
	layout *layout
	// undecided is set while an argument that decides the columns is a parameter without a value.
	undecided bool
	// warned is shared by the copies of a call: its warnings are shown once in a statement.
	warned *atomic.Bool
}

var (
	_ planner.Table                = (*Node)(nil)
	_ planner.TimeOrdered          = (*Node)(nil)
	_ sql.ExecSourceRel            = (*Node)(nil)
	_ sql.AuthorizationCheckerNode = (*Node)(nil)
)

// New is the function to register as Name with the engine's provider of table functions.
func New(env Env) sql.TableFunction { return &Node{Call: named.NewCall(Name, nil, nil), env: env} }

// NewInstance implements sql.TableFunction: a call with its arguments.
func (n *Node) NewInstance(ctx *sql.Context, db sql.Database, args []sql.Expression) (sql.Node, error) {
	return n.instance(ctx, db, args, nil)
}

// instance makes a call. before is the same call with other arguments, nil for none: columns that it has found need not be looked for again.
func (n *Node) instance(ctx *sql.Context, db sql.Database, args []sql.Expression, before *Node) (sql.Node, error) {
	call := &Node{Call: named.NewCall(Name, db, args), env: n.env, warned: new(atomic.Bool)}
	var err error
	if call.named, err = named.Args(ctx, Name, Name+"(bootstrapServers => 'broker:9092', subscribe => 'topic')", args); err != nil {
		return nil, err
	}
	for _, a := range call.named {
		if err := CheckName(a.Name); err != nil {
			return nil, err
		}
	}
	if err := call.decide(ctx, before); err != nil {
		return nil, err
	}
	if n.env.Decided != nil {
		n.env.Decided(ctx, call.columns())
	}
	if !named.Constant(args) {
		return call, nil
	}
	call.bound, err = call.bind(ctx)
	return call, err
}

// decide fixes the columns. While that takes a parameter that has no value, the columns of raw records are offered, all of them.
func (n *Node) decide(ctx *sql.Context, before *Node) error {
	var deciding []named.Arg
	for _, a := range n.named {
		if !DecidesColumns(a.Name) {
			continue
		}
		if named.HasParameter(a.Value) {
			n.undecided = true
			n.layout = rawLayout(n.DatabaseName(), true, true)
			return nil
		}
		deciding = append(deciding, a)
	}
	pairs, err := named.Pairs(ctx, deciding)
	if err != nil {
		return err
	}
	values, err := Arguments.Bind(pairs, n.streams())
	if err != nil {
		return err
	}
	f, err := bindFormat(values, n.env.In(ctx))
	if err != nil {
		return err
	}
	if before != nil && !before.undecided && before.format == f {
		n.format, n.layout = f, before.layout
		return nil
	}
	n.format = f
	if f.asks() && n.env.Privileges != nil && !Allowed(ctx, n.env.Privileges(), n.named) {
		// The engine refuses the call once it is made; until then it must not reach out for who may not make it.
		n.layout = rawLayout(n.DatabaseName(), true, true)
		return nil
	}
	if f.needsTopic() && slices.ContainsFunc(n.named, func(a named.Arg) bool { return named.HasParameter(a.Value) }) {
		n.undecided = true
		n.layout = rawLayout(n.DatabaseName(), true, true)
		return nil
	}
	n.layout, err = n.decoding(ctx)
	return err
}

// columns are the names of the columns.
func (n *Node) columns() []string {
	names := make([]string, len(n.layout.schema))
	for i, c := range n.layout.schema {
		names[i] = c.Name
	}
	return names
}

// bind evaluates the arguments.
func (n *Node) bind(ctx *sql.Context) (*Args, error) {
	pairs, err := named.Pairs(ctx, n.named)
	if err != nil {
		return nil, err
	}
	args, err := Bind(pairs, n.env.In(ctx))
	if err != nil {
		return nil, err
	}
	return args, nil
}

// SchemaDecided reports whether the columns are known. They are not while PREPARE has no value for a parameter that decides them.
func (n *Node) SchemaDecided() bool { return !n.undecided }

// Args gives the arguments, evaluated now when they were not known before.
func (n *Node) Args(ctx *sql.Context) (*Args, error) {
	if n.bound != nil {
		return n.bound, nil
	}
	return n.bind(ctx)
}

// CheckAuth implements sql.AuthorizationCheckerNode: the engine itself lets everybody call a table function.
func (n *Node) CheckAuth(ctx *sql.Context, checker sql.PrivilegedOperationChecker) bool {
	return Allowed(ctx, checker, n.named)
}

// Layout implements planner.Table.
func (n *Node) Layout() planner.Layout { return n.layout.Layout }

// Hidden reports whether SELECT * leaves a column out.
func (n *Node) Hidden(name string) bool { return n.layout.hidden[strings.ToLower(name)] }

// Open implements planner.Table.
func (n *Node) Open(ctx *sql.Context, req scan.Request) (scan.Source, error) {
	if open := sourceOf(ctx); open != nil {
		return open(ctx, req)
	}
	args, err := n.Args(ctx)
	if err != nil {
		return nil, err
	}
	if n.warned.CompareAndSwap(false, true) {
		for _, w := range args.Warnings {
			ctx.Warn(planner.WarningCode, "%s", w)
		}
	}
	cluster, err := n.env.Pool.Cluster(ctx, args.Cluster)
	if err != nil {
		return nil, err
	}
	src, err := plan(ctx, cluster, args, req)
	if err != nil || n.env.Observe == nil {
		return src, err
	}
	return n.env.Observe(ctx, src, req), nil
}

// plan fixes what is read.
func plan(ctx *sql.Context, cluster *kafka.Cluster, args *Args, req scan.Request) (scan.Source, error) {
	if args.Stream {
		if args.Mirror.On {
			ctx.Warn(planner.WarningCode, "'commitOffsets' is ignored: it is for streaming tables, and a SELECT has no positions to show")
		}
		return cluster.Tail(ctx, args.Spec, req, kafka.TailOptions{DiscoveryInterval: args.DiscoveryInterval})
	}
	snapshot, err := cluster.SnapshotFor(ctx, args.Spec.Select)
	if err != nil {
		return nil, err
	}
	spec := args.Spec
	spec.TimestampSkew = args.TimestampSkew
	if req.Lanes == 0 {
		req.Lanes = args.Readers
	}
	src, err := snapshot.Plan(ctx, spec, req)
	if err != nil || args.Computing == 0 || req.Ordered || req.Limit >= 0 || req.Newest != nil {
		return src, err
	}
	return scan.Redistribute(src, args.Computing, req.Memory), nil
}

// WithStatement begins a statement: all references to a topic under the context that it returns see the same partitions, with the same ends. Each execution
// of a statement needs its own.
func WithStatement(ctx context.Context) context.Context { return kafka.WithStatement(ctx) }

// TimeOrdered implements planner.TimeOrdered.
func (n *Node) TimeOrdered(ctx *sql.Context) bool {
	args, err := n.Args(ctx)
	return err == nil && args.TimestampSkew != nil
}

// Describe implements planner.Table.
func (n *Node) Describe(ctx *sql.Context) []string {
	args, err := n.Args(ctx)
	if err != nil {
		return []string{"arguments: not known yet"}
	}
	var lines []string
	for _, s := range args.Settings() {
		lines = append(lines, s.Name+": "+s.Value)
	}
	return lines
}

// RowIter implements sql.ExecSourceRel: the call as it runs when nothing is pushed into it.
func (n *Node) RowIter(ctx *sql.Context, _ sql.Row) (sql.RowIter, error) {
	return planner.FullScan(ctx, n)
}

// Schema implements sql.Node.
func (n *Node) Schema(*sql.Context) sql.Schema { return n.layout.schema }

// IsReadOnly implements sql.Node.
func (n *Node) IsReadOnly() bool { return true }

// WithChildren implements sql.Node.
func (n *Node) WithChildren(_ *sql.Context, children ...sql.Node) (sql.Node, error) {
	return n.Leaf(n, children)
}

// WithExpressions implements sql.Expressioner.
func (n *Node) WithExpressions(ctx *sql.Context, exprs ...sql.Expression) (sql.Node, error) {
	return n.With(ctx, n, exprs, func(ctx *sql.Context, db sql.Database, exprs []sql.Expression) (sql.Node, error) {
		return n.instance(ctx, db, exprs, n)
	})
}

// WithDatabase implements sql.Databaser.
func (n *Node) WithDatabase(db sql.Database) (sql.Node, error) {
	c := *n
	c.Call = n.In(db)
	return &c, nil
}
