package planner

import (
	"errors"
	"io"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/mysql_db"
	"github.com/dolthub/go-mysql-server/sql/plan"
)

// createSelect runs CREATE TABLE … AS SELECT. The engine makes the table, fills it, and leaves it there empty when that fails.
func (x explainer) createSelect(ctx *sql.Context, n *plan.TableCopier, row sql.Row) (sql.RowIter, error) {
	create, ok := n.Destination.(*plan.CreateTable)
	if !ok {
		return nil, nil
	}
	_, existed, err := n.Database().GetTableInsensitive(ctx, create.Name())
	if err != nil {
		return nil, err
	}
	iter, err := n.ProcessCreateTable(ctx, x.engine, row)
	if existed || sql.ErrTableAlreadyExists.Is(err) { // the table of somebody else, who may have made it just now
		return iter, err
	}
	c := &createdIter{RowIter: iter, db: n.Database(), table: create.Name()}
	if err != nil {
		return nil, c.failed(ctx, err)
	}
	return c, nil
}

// createdIter drops the table that it fills unless it comes to its end.
type createdIter struct {
	sql.RowIter
	db    sql.Database
	table string
	done  bool
}

var _ sql.MutableRowIter = (*createdIter)(nil)

// GetChildIter implements sql.MutableRowIter: the engine puts what counts the rows between the two.
func (c *createdIter) GetChildIter() sql.RowIter { return c.RowIter }

// WithChildIter implements sql.MutableRowIter.
func (c *createdIter) WithChildIter(child sql.RowIter) sql.RowIter {
	n := *c
	n.RowIter = child
	return &n
}

// Next implements sql.RowIter.
func (c *createdIter) Next(ctx *sql.Context) (sql.Row, error) {
	row, err := c.RowIter.Next(ctx)
	switch {
	case errors.Is(err, io.EOF):
		c.done = true
	case err != nil && !c.done:
		// Not only on Close: the engine forgets to close some iterators when a statement fails.
		err = c.failed(ctx, err)
	}
	return row, err
}

// Close implements sql.RowIter.
func (c *createdIter) Close(ctx *sql.Context) error {
	err := c.RowIter.Close(ctx)
	if !c.done {
		err = c.failed(ctx, err)
	}
	return err
}

// failed drops the table and gives err, with what may keep the table from being dropped.
func (c *createdIter) failed(ctx *sql.Context, err error) error {
	if dropped := c.drop(ctx); dropped != nil {
		return errors.Join(err, dropped)
	}
	return err
}

// drop removes the table if it is there. It may be called again.
func (c *createdIter) drop(ctx *sql.Context) error {
	db := c.db
	if privileged, ok := db.(mysql_db.PrivilegedDatabase); ok {
		db = privileged.Unwrap()
	}
	t, ok, err := db.GetTableInsensitive(ctx, c.table)
	if err != nil || !ok {
		return err
	}
	dropper, ok := db.(sql.TableDropper)
	if !ok {
		return nil
	}
	return dropper.DropTable(ctx, t.Name())
}
