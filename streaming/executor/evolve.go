package executor

import "context"

// compile gives the query. That of a table which stops for columns is made of the newest schema when somebody has just started, resumed or refreshed the table.
func (t *Table) compile(ctx context.Context) (Query, error) {
	q, err := t.Compile(ctx)
	if err != nil {
		return nil, err
	}
	t.followed = q.Read().Evolution
	t.mu.Lock()
	takes := t.evolves && t.followed == StopsForColumns && t.Evolve != nil
	t.evolves = false
	t.mu.Unlock()
	if !takes {
		return q, nil
	}
	q.Close()
	if err := t.evolve(ctx); err != nil {
		return nil, err
	}
	return t.Compile(ctx)
}

// evolve gives the table the columns of the newest schema.
func (t *Table) evolve(ctx context.Context) error {
	if err := t.Evolve(ctx); err != nil {
		return err
	}
	schema, err := t.Store.Schema(ctx, t.ID)
	if err != nil {
		return err
	}
	t.schema = schema
	return nil
}
