package writekafka

import (
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/functions/named"
	"millrace/functions/readkafka"
	"millrace/internal/sqlerr"
)

// Name is the name of the sink in SQL.
const Name = "write_kafka"

// Privilege is the dynamic privilege that a user needs to write. A connection that the call names needs USAGE besides.
const Privilege = "KAFKA_WRITE"

// Node is a call of write_kafka. The engine knows it as a table function, which is how its arguments are read, checked and explained; as a table it cannot
// be read. It is immutable.
type Node struct {
	named.Call
	env  readkafka.Env
	args []named.Arg
}

var (
	_ sql.TableFunction            = (*Node)(nil)
	_ sql.ExecSourceRel            = (*Node)(nil)
	_ sql.AuthorizationCheckerNode = (*Node)(nil)
)

// New is the function to register as Name with the engine's provider of table functions.
func New(env readkafka.Env) sql.TableFunction {
	return &Node{Call: named.NewCall(Name, nil, nil), env: env}
}

// NewInstance implements sql.TableFunction: a call with its arguments.
func (n *Node) NewInstance(ctx *sql.Context, db sql.Database, exprs []sql.Expression) (sql.Node, error) {
	call := &Node{Call: named.NewCall(Name, db, exprs), env: n.env}
	var err error
	if call.args, err = named.Args(ctx, Name, Name+"(bootstrapServers => 'broker:9092', topic => 'topic')", exprs); err != nil {
		return nil, err
	}
	for _, a := range call.args {
		if a.Name == readkafka.StreamFlag {
			return nil, sqlerr.New(sqlerr.NotSupported, "'%s' has no STREAM: it is written to", Name).WithHint("leave STREAM out")
		}
		if err := CheckName(a.Name); err != nil {
			return nil, err
		}
	}
	if named.Constant(exprs) {
		if _, err := call.Args(ctx); err != nil {
			return nil, err
		}
	}
	return call, nil
}

// Args evaluates the arguments.
func (n *Node) Args(ctx *sql.Context) (*Args, error) {
	pairs, err := named.Pairs(ctx, n.args)
	if err != nil {
		return nil, err
	}
	return Bind(pairs, n.env.In(ctx))
}

// Env is what the call was made with.
func (n *Node) Env() readkafka.Env { return n.env }

// CheckAuth implements sql.AuthorizationCheckerNode. USAGE on a connection does not allow to write: it may have been granted to somebody who is to read.
func (n *Node) CheckAuth(ctx *sql.Context, checker sql.PrivilegedOperationChecker) bool {
	return checker.UserHasPrivileges(ctx, sql.NewDynamicPrivilegedOperation(Privilege))
}

// RowIter implements sql.ExecSourceRel.
func (n *Node) RowIter(*sql.Context, sql.Row) (sql.RowIter, error) {
	return nil, sqlerr.New(sqlerr.NotSupported, "'%s' cannot be read: it is a sink", Name).WithHint("INSERT INTO %s(…) SELECT … writes to a topic; read_kafka reads one", Name)
}

// Schema implements sql.Node: the number of rows written.
func (n *Node) Schema(*sql.Context) sql.Schema {
	return sql.Schema{{Name: "rows", Type: types.Int64, Source: Name, DatabaseSource: n.DatabaseName()}}
}

// IsReadOnly implements sql.Node.
func (n *Node) IsReadOnly() bool { return false }

// WithChildren implements sql.Node.
func (n *Node) WithChildren(_ *sql.Context, children ...sql.Node) (sql.Node, error) {
	return n.Leaf(n, children)
}

// WithExpressions implements sql.Expressioner.
func (n *Node) WithExpressions(ctx *sql.Context, exprs ...sql.Expression) (sql.Node, error) {
	return n.With(ctx, n, exprs, n.NewInstance)
}

// WithDatabase implements sql.Databaser.
func (n *Node) WithDatabase(db sql.Database) (sql.Node, error) {
	c := *n
	c.Call = n.In(db)
	return &c, nil
}
