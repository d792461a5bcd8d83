package sqllogic

import (
	"context"
	"crypto/md5"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// runner runs the records of one file in one session.
type runner struct {
	conn   *sql.Conn
	server string
	// rewrite: results are taken over instead of compared.
	rewrite   bool
	threshold int
	labels    map[string][]string
}

// run runs a record; an error says what is wrong with its answer. It reports whether the file goes on.
func (r *runner) run(ctx context.Context, rec *record) (more bool, err error) {
	if rec.kind == "" || !rec.runs(r.server) {
		return true, nil
	}
	switch rec.kind {
	case "halt":
		return false, nil
	case "hash-threshold":
		r.threshold = rec.number
		return true, nil
	case "statement":
		return true, r.statement(ctx, rec)
	}
	return true, r.query(ctx, rec)
}

func (r *runner) statement(ctx context.Context, rec *record) error {
	_, err := r.conn.ExecContext(ctx, rec.sql)
	switch {
	case rec.fails && err == nil:
		return errors.New("the statement succeeds")
	case rec.fails && rec.pattern != "":
		if ok, bad := regexp.MatchString(rec.pattern, err.Error()); bad != nil || !ok {
			return errors.Join(fmt.Errorf("the error is %q", err), bad)
		}
	case !rec.fails && err != nil:
		return err
	}
	return nil
}

func (r *runner) query(ctx context.Context, rec *record) error {
	rows, err := r.rows(ctx, rec)
	if err != nil {
		return err
	}
	var got []string
	if rec.sort == "rowsort" {
		slices.SortStableFunc(rows, slices.Compare[[]string])
	}
	for _, row := range rows {
		got = append(got, row...)
	}
	if rec.sort == "valuesort" {
		slices.Sort(got)
	}
	if rec.label != "" {
		if before, ok := r.labels[rec.label]; ok && !slices.Equal(before, got) {
			return fmt.Errorf("the label %s had another result:\n%s\nnow:\n%s", rec.label, strings.Join(before, "\n"), strings.Join(got, "\n"))
		}
		if r.labels == nil {
			r.labels = map[string][]string{}
		}
		r.labels[rec.label] = got
	}
	if r.threshold > 0 && len(got) > r.threshold {
		h := md5.New()
		for _, v := range got {
			_, _ = io.WriteString(h, v+"\n")
		}
		got = []string{fmt.Sprintf("%d values hashing to %x", len(got), h.Sum(nil))}
	}
	if r.rewrite {
		rec.want = got
		return nil
	}
	if !slices.Equal(got, rec.want) {
		return fmt.Errorf("the result is\n%s\nand should be\n%s", strings.Join(got, "\n"), strings.Join(rec.want, "\n"))
	}
	return nil
}

// rows are the values of a result as they are shown.
func (r *runner) rows(ctx context.Context, rec *record) (all [][]string, err error) {
	rows, err := r.conn.QueryContext(ctx, rec.sql)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	if len(columns) != len(rec.types) {
		return nil, fmt.Errorf("%d columns, the record says %d", len(columns), len(rec.types))
	}
	cells, ptrs := make([]sql.NullString, len(columns)), make([]any, len(columns))
	for i := range cells {
		ptrs[i] = &cells[i]
	}
	for rows.Next() {
		if err := rows.Scan(ptrs...); err != nil {
			return nil, err
		}
		row := make([]string, len(cells))
		for i, c := range cells {
			if row[i], err = show(rec.types[i], c); err != nil {
				return nil, err
			}
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

// show writes a value as its type wants it.
func show(kind byte, v sql.NullString) (string, error) {
	switch {
	case !v.Valid:
		return "NULL", nil
	case kind == 'I':
		if _, err := strconv.ParseInt(v.String, 10, 64); err == nil {
			return v.String, nil
		}
		f, _, err := big.ParseFloat(v.String, 10, 256, big.ToZero)
		if err != nil {
			return "", fmt.Errorf("%q is no number", v.String)
		}
		n, _ := f.Int(nil)
		return n.String(), nil
	case kind == 'R':
		f, err := strconv.ParseFloat(v.String, 64)
		if err != nil {
			return "", fmt.Errorf("%q is no number", v.String)
		}
		if math.Abs(f) < 0.0005 {
			f = 0 // and no -0
		}
		return strconv.FormatFloat(f, 'f', 3, 64), nil
	case v.String == "":
		return "(empty)", nil
	}
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return '@'
		}
		return c
	}, v.String), nil
}
