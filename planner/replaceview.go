package planner

import (
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/plan"
)

// ViewReplacer is a database that can replace a view in one step. For CREATE OR REPLACE VIEW the engine drops the view and creates it: who reads it in between
// finds none, two who replace it at once fail, and a query that cannot be kept leaves no view behind.
type ViewReplacer interface {
	sql.Database
	// ReplacingViews is the database with a CreateView that takes the place of a view of that name.
	ReplacingViews() sql.Database
}

func (x explainer) replaceView(ctx *sql.Context, v *plan.CreateView, r ViewReplacer, row sql.Row) (sql.RowIter, error) {
	n, err := v.WithDatabase(r.ReplacingViews())
	if err != nil {
		return nil, err
	}
	n.(*plan.CreateView).IsReplace = false // WithDatabase has made a copy
	return x.engine.Build(ctx, n, row)
}
