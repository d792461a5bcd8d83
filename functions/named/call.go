package named

import (
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
)

// Call is what the nodes of all table functions have in common: a function's name, a database, arguments, and no node below. It is for embedding; the node
// adds what makes another node of it. It is immutable.
type Call struct {
	function string
	db       sql.Database
	exprs    []sql.Expression
}

// NewCall is a call of a function with arguments, in a database, which may be nil.
func NewCall(function string, db sql.Database, exprs []sql.Expression) Call {
	return Call{function, db, exprs}
}

// In is the call in another database.
func (c *Call) In(db sql.Database) Call { return Call{c.function, db, c.exprs} }

// DatabaseName is the name of the database, empty without one.
func (c *Call) DatabaseName() string {
	if c.db == nil {
		return ""
	}
	return c.db.Name()
}

// Leaf is the WithChildren of n, the node of the call: it has no children.
func (c *Call) Leaf(n sql.Node, children []sql.Node) (sql.Node, error) {
	if len(children) != 0 {
		return nil, sql.ErrInvalidChildrenNumber.New(n, len(children), 0)
	}
	return n, nil
}

// With is the WithExpressions of n, the node of the call: instance makes a node of as many other arguments.
func (c *Call) With(ctx *sql.Context, n sql.Node, exprs []sql.Expression, instance func(*sql.Context, sql.Database, []sql.Expression) (sql.Node, error)) (sql.Node, error) {
	if len(exprs) != len(c.exprs) {
		return nil, sql.ErrInvalidChildrenNumber.New(n, len(exprs), len(c.exprs))
	}
	return instance(ctx, c.db, exprs)
}

// Name implements sql.Nameable.
func (c *Call) Name() string { return c.function }

// String implements sql.Node. It shows no argument: some are secret.
func (c *Call) String() string { return c.function }

// Database implements sql.Databaser.
func (c *Call) Database() sql.Database { return c.db }

// Expressions implements sql.Expressioner.
func (c *Call) Expressions() []sql.Expression { return c.exprs }

// Resolved implements sql.Node.
func (c *Call) Resolved() bool { return expression.ExpressionsResolved(c.exprs...) }

// Children implements sql.Node.
func (c *Call) Children() []sql.Node { return nil }
