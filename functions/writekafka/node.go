package writekafka

import (
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
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
	env   readkafka.Env
	db    sql.Database
	exprs []sql.Expression
	args  []named.Arg
}

var (
	_ sql.TableFunction            = (*Node)(nil)
	_ sql.ExecSourceRel            = (*Node)(nil)
	_ sql.AuthorizationCheckerNode = (*Node)(nil)
)

// New is the function to register as Name with the engine's provider of table functions.
func New(env readkafka.Env) sql.TableFunction { return &Node{env: env} }

// NewInstance implements sql.TableFunction: a call with its arguments.
func (n *Node) NewInstance(ctx *sql.Context, db sql.Database, exprs []sql.Expression) (sql.Node, error) {
	call := &Node{env: n.env, db: db, exprs: exprs}
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
	db := ""
	if n.db != nil {
		db = n.db.Name()
	}
	return sql.Schema{{Name: "rows", Type: types.Int64, Source: Name, DatabaseSource: db}}
}

// Resolved implements sql.Node.
func (n *Node) Resolved() bool { return expression.ExpressionsResolved(n.exprs...) }

// IsReadOnly implements sql.Node.
func (n *Node) IsReadOnly() bool { return false }

// Children implements sql.Node.
func (n *Node) Children() []sql.Node { return nil }

// WithChildren implements sql.Node.
func (n *Node) WithChildren(_ *sql.Context, children ...sql.Node) (sql.Node, error) {
	if len(children) != 0 {
		return nil, sql.ErrInvalidChildrenNumber.New(n, len(children), 0)
	}
	return n, nil
}

// Expressions implements sql.Expressioner.
func (n *Node) Expressions() []sql.Expression { return n.exprs }

// WithExpressions implements sql.Expressioner.
func (n *Node) WithExpressions(ctx *sql.Context, exprs ...sql.Expression) (sql.Node, error) {
	if len(exprs) != len(n.exprs) {
		return nil, sql.ErrInvalidChildrenNumber.New(n, len(exprs), len(n.exprs))
	}
	return n.NewInstance(ctx, n.db, exprs)
}

// Name implements sql.Nameable.
func (n *Node) Name() string { return Name }

// Database implements sql.Databaser.
func (n *Node) Database() sql.Database { return n.db }

// WithDatabase implements sql.Databaser.
func (n *Node) WithDatabase(db sql.Database) (sql.Node, error) {
	c := *n
	c.db = db
	return &c, nil
}

// String implements sql.Node. It shows no argument: some are secret.
func (n *Node) String() string { return Name }
