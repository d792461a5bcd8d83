package sqllogic

import (
	"fmt"
	"strconv"
	"strings"
)

// record is one part of a file.
type record struct {
	line int
	// head are the lines before the SQL as they were written, with comments and conditions; sql the statement.
	head []string
	sql  string
	// skip and only are the servers that conditions name.
	skip, only []string
	kind       string // statement, query, halt, hash-threshold, or empty for comments alone
	// fails: the statement must fail, with a message that matches pattern.
	fails   bool
	pattern string
	types   string
	sort    string
	label   string
	number  int
	// want are the lines below ----.
	want []string
}

// runs reports whether the record is for a server.
func (r *record) runs(server string) bool {
	named := func(list []string) bool {
		for _, s := range list {
			if s == server || s == "mysql" {
				return true
			}
		}
		return false
	}
	return !named(r.skip) && (len(r.only) == 0 || named(r.only))
}

// parse reads a file.
func parse(text string) ([]*record, error) {
	var records []*record
	lines := strings.Split(strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), "\n")
	for i := 0; i < len(lines); {
		if strings.TrimSpace(lines[i]) == "" {
			i++
			continue
		}
		from := i
		for i < len(lines) && strings.TrimSpace(lines[i]) != "" {
			i++
		}
		r := &record{line: from + 1}
		if err := r.parse(lines[from:i]); err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, nil
}

func (r *record) parse(lines []string) error {
	fault := func(i int, format string, args ...any) error {
		return fmt.Errorf("line %d: %s", r.line+i, fmt.Sprintf(format, args...))
	}
	i := 0
	for ; i < len(lines) && r.kind == ""; i++ {
		r.head = append(r.head, lines[i])
		if strings.HasPrefix(lines[i], "#") {
			continue
		}
		f := strings.Fields(lines[i])
		switch f[0] {
		case "skipif", "onlyif":
			if len(f) < 2 {
				return fault(i, "%s without a server", f[0])
			}
			if f[0] == "skipif" {
				r.skip = append(r.skip, f[1])
			} else {
				r.only = append(r.only, f[1])
			}
		case "halt":
			r.kind = "halt"
		case "hash-threshold":
			n, err := strconv.Atoi(strings.Join(f[1:], " "))
			if err != nil {
				return fault(i, "hash-threshold needs a number")
			}
			r.kind, r.number = f[0], n
		case "statement":
			if len(f) < 2 || f[1] != "ok" && f[1] != "error" {
				return fault(i, "statement ok or statement error")
			}
			r.kind, r.fails, r.pattern = f[0], f[1] == "error", strings.Join(f[2:], " ")
		case "query":
			if len(f) < 2 || strings.Trim(f[1], "IRT") != "" {
				return fault(i, "query needs the types of its columns: I, R and T")
			}
			r.kind, r.types, r.sort = f[0], f[1], "nosort"
			if len(f) > 2 {
				r.sort = f[2]
			}
			if r.sort != "nosort" && r.sort != "rowsort" && r.sort != "valuesort" {
				return fault(i, "sort '%s': nosort, rowsort or valuesort", r.sort)
			}
			if len(f) > 3 {
				r.label = f[3]
			}
		default:
			return fault(i, "unknown record '%s'", f[0])
		}
	}
	if r.kind != "statement" && r.kind != "query" {
		if i < len(lines) {
			return fault(i, "unexpected text")
		}
		return nil
	}
	var sql []string
	for ; i < len(lines) && lines[i] != "----"; i++ {
		sql = append(sql, lines[i])
	}
	r.sql = strings.Join(sql, "\n")
	if r.sql == "" {
		return fault(0, "%s without SQL", r.kind)
	}
	if i < len(lines) {
		if r.kind != "query" {
			return fault(i, "a statement has no result")
		}
		r.want = lines[i+1:]
	}
	return nil
}

// format writes records as parse reads them.
func format(records []*record) string {
	var b strings.Builder
	for i, r := range records {
		if i > 0 {
			b.WriteByte('\n')
		}
		for _, l := range r.head {
			b.WriteString(l + "\n")
		}
		if r.sql != "" {
			b.WriteString(r.sql + "\n")
		}
		if r.kind == "query" {
			b.WriteString("----\n")
		}
		for _, l := range r.want {
			b.WriteString(l + "\n")
		}
	}
	return b.String()
}
