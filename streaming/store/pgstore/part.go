package pgstore

import (
	"context"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"millrace/streaming/store"
)

// newPart creates a part for a schema. Until a transaction adopts it, it is garbage: a process that dies leaves nothing that is not cleared away.
func (s *Store) newPart(ctx context.Context, c *pgx.Conn, schema *store.Schema) (p part, err error) {
	if p.Number, err = s.numbers(ctx, c, 1); err != nil {
		return p, err
	}
	var b strings.Builder
	b.WriteString("create table " + s.names.rows(p.Number) + " (n bigint not null")
	for i := range schema.Columns {
		col := &schema.Columns[i]
		p.Columns = append(p.Columns, partColumn{col.ID, col.Type.Kind})
		b.WriteString(", c" + strconv.FormatUint(uint64(col.ID), 10) + " " + sqlType(col.Type.Kind))
	}
	if !s.brin {
		b.WriteString(", primary key (n)")
	}
	b.WriteByte(')')
	if _, err := c.Exec(ctx, s.sql("insert into {garbage} (part, since) values ($1, now())"), p.Number); err != nil {
		return p, err
	}
	if s.brin {
		b.WriteString("; " + s.index(&p, schema))
	}
	// Both in one step: nobody drops a table while it gets its index.
	_, err = c.PgConn().Exec(ctx, b.String()).ReadAll()
	return p, err
}

// adopt takes parts out of the garbage, within a transaction.
func (s *Store) adopt(ctx context.Context, c *pgx.Conn, parts ...int64) error {
	tag, err := c.Exec(ctx, s.sql("delete from {garbage} where part = any($1) and since > '-infinity'"), parts)
	if err == nil && tag.RowsAffected() != int64(len(parts)) {
		err = errStale // they have waited for so long that they are being cleared away
	}
	return err
}

// discard makes garbage of parts, within a transaction.
func (s *Store) discard(ctx context.Context, c *pgx.Conn, parts []part) error {
	for _, p := range parts {
		if _, err := c.Exec(ctx, s.sql("insert into {garbage} (part, since) values ($1, now())"), p.Number); err != nil {
			return err
		}
	}
	return nil
}

// hold keeps commits and other changes of a family away until the end of the transaction.
func (s *Store) hold(ctx context.Context, c *pgx.Conn, family int64) error {
	tag, err := c.Exec(ctx, s.sql("update {families} set step = step + 1 where number = $1"), family)
	if err == nil && tag.RowsAffected() != 1 {
		err = errStale
	}
	return err
}
