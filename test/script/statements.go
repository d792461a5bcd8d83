package script

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/cockroachdb/datadriven"
	"github.com/go-sql-driver/mysql"
)

// exec runs statements that return no rows.
func (s *script) exec(input string) string {
	var out strings.Builder
	for statement := range strings.SplitSeq(input, ";\n") {
		statement = strings.TrimSuffix(strings.TrimSpace(statement), ";")
		if statement == "" {
			continue
		}
		res, err := s.db.Exec(statement)
		if err != nil {
			out.WriteString(failure(err) + "\n")
			continue
		}
		n, err := res.RowsAffected()
		if err != nil {
			out.WriteString(failure(err) + "\n")
			continue
		}
		fmt.Fprintf(&out, "ok %d\n", n)
	}
	return out.String()
}

// query runs a statement in the ways that must agree, and gives what the first of them gave.
func (s *script) query(t *testing.T, d *datadriven.TestData, input string) string {
	out := read(s.db, input, d.HasArg("types"))
	if d.HasArg("sorted") {
		out = sorted(out)
	}
	shown := out
	if d.HasArg("warnings") {
		shown += read(s.db, "SHOW WARNINGS", false)
	}
	if d.HasArg("once") {
		return shown
	}
	ordered := strings.Contains(strings.ToLower(input), "order by")
	agree := func(way, got string) {
		if !ordered {
			got, out = sorted(got), sorted(out)
		}
		if got != out {
			t.Errorf("%s: %s gives\n%s\nas text it is\n%s\n%s", d.Pos, way, got, out, input)
		}
	}
	stmt, err := s.db.Prepare(input)
	if err != nil {
		agree("a prepared statement", failure(err)+"\n")
	} else {
		agree("a prepared statement", read(preparedStatement{stmt}, "", d.HasArg("types")))
		if err := stmt.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if d.HasArg("pushed") || strings.HasPrefix(strings.ToLower(input), "explain") {
		return shown
	}
	s.set(t, "off")
	off := read(s.db, input, d.HasArg("types"))
	s.set(t, "on")
	// An error may come at another record, and then after other rows.
	if i := strings.Index(out, "error "); i >= 0 && (i == 0 || out[i-1] == '\n') && strings.Contains(off, out[i:i+len("error 1234 ")]) {
		return shown
	}
	agree("with pushdown off it", off)
	return shown
}

func (s *script) set(t *testing.T, pushdown string) {
	if _, err := s.db.Exec("SET SESSION pushdown = '" + pushdown + "'"); err != nil {
		t.Fatal(err)
	}
}

// sorted orders the lines after the first.
func sorted(out string) string {
	lines := strings.Split(strings.TrimRight(out, "\n"), "\n")
	slices.Sort(lines[1:])
	return strings.Join(lines, "\n") + "\n"
}

func (s *script) prepared(d *datadriven.TestData, input string) string {
	var args []any
	for _, a := range d.CmdArgs {
		if a.Key == "args" {
			for _, v := range a.Vals {
				args = append(args, strings.ReplaceAll(v, "$BROKER", s.broker.Addrs[0]))
			}
		}
	}
	return read(s.db, input, d.HasArg("types"), args...)
}

// queryer is what read can ask for rows.
type queryer interface {
	QueryContext(ctx context.Context, statement string, args ...any) (*sql.Rows, error)
}

// preparedStatement asks a prepared statement.
type preparedStatement struct{ *sql.Stmt }

func (p preparedStatement) QueryContext(ctx context.Context, _ string, args ...any) (*sql.Rows, error) {
	return p.Stmt.QueryContext(ctx, args...)
}

// patience is how long a script waits for one statement: one that never ends fails by its name, not by the time-out of all tests.
const patience = time.Minute

// read runs a statement and renders all its results.
func read(db queryer, statement string, types bool, args ...any) string {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	rows, err := db.QueryContext(ctx, statement, args...)
	if err != nil {
		return failure(err) + "\n"
	}
	defer func() { _ = rows.Close() }()
	var out strings.Builder
	for {
		if err := result(&out, rows, types); err != nil {
			out.WriteString(failure(err) + "\n")
			return out.String()
		}
		if !rows.NextResultSet() {
			if err := rows.Err(); err != nil {
				out.WriteString(failure(err) + "\n")
			}
			return out.String()
		}
		out.WriteString("then\n")
	}
}

func result(out *strings.Builder, rows *sql.Rows, types bool) error {
	columns, err := rows.ColumnTypes()
	if err != nil {
		return err
	}
	if len(columns) == 0 {
		out.WriteString("ok\n")
	} else {
		names := make([]string, len(columns))
		for i, c := range columns {
			if names[i] = c.Name(); types {
				names[i] += " " + c.DatabaseTypeName()
			}
		}
		out.WriteString(strings.Join(names, " | ") + "\n")
	}
	values, to := make([]sql.NullString, len(columns)), make([]any, len(columns))
	for i := range values {
		to[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(to...); err != nil {
			return err
		}
		cells := make([]string, len(values))
		for i, v := range values {
			if cells[i] = "NULL"; v.Valid {
				cells[i] = printable(v.String)
			}
		}
		out.WriteString(strings.TrimRight(strings.Join(cells, " | "), " ") + "\n")
	}
	return rows.Err()
}

// printable shows bytes that are no text in hexadecimal.
func printable(s string) string {
	for _, r := range s {
		if r == utf8.RuneError || !unicode.IsPrint(r) && r != '\n' {
			return fmt.Sprintf("x'%x'", s)
		}
	}
	return s
}

func failure(err error) string {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return fmt.Sprintf("error %d (%s): %s", e.Number, e.SQLState, e.Message)
	}
	return "error: " + err.Error()
}
