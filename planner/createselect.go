package planner

import (
	"errors"
	"fmt"
	"io"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/mysql_db"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/sqlerr"
)

// createSelect runs CREATE TABLE … AS SELECT. The engine makes the table, fills it, and leaves it there empty when that fails; with IF NOT EXISTS it adds the rows to a table that is there. Here, as in
// MySQL, such a table stays as it is, also one that somebody has made just now.
func (x explainer) createSelect(ctx *sql.Context, n *plan.TableCopier, row sql.Row) (sql.RowIter, error) {
	create, ok := n.Destination.(*plan.CreateTable)
	if !ok {
		return nil, nil
	}
	_, exists, err := n.Database().GetTableInsensitive(ctx, create.Name())
	if err != nil {
		return nil, err
	}
	var iter sql.RowIter
	if exists {
		err = sql.ErrTableAlreadyExists.New(create.Name())
	} else {
		certain := plan.NewCreateTable(create.Database(), create.Name(), false, create.Temporary(), &plan.TableSpec{
			Schema: create.PkSchema(), IdxDefs: create.Indexes(), FkDefs: create.ForeignKeys(), ChDefs: create.Checks(), Collation: create.Collation, TableOpts: create.TableOpts,
		})
		iter, err = plan.NewTableCopier(n.Database(), certain, n.Source, plan.CopierProps{}).ProcessCreateTable(ctx, x.engine, row)
	}
	switch {
	case sql.ErrTableAlreadyExists.Is(err) && create.IfNotExists():
		ctx.Session.Warn(&sql.Warning{Level: "Note", Code: int(sqlerr.TableExists.Errno), Message: fmt.Sprintf("table '%s' exists", create.Name())})
		return sql.RowsToRowIter(sql.NewRow(types.NewOkResult(0))), nil
	case sql.ErrTableAlreadyExists.Is(err):
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
