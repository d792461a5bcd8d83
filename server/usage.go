package server

import (
	"context"
	"regexp"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"millrace/functions/readkafka"
	"millrace/internal/catalog"
	"millrace/internal/sqlerr"
	"millrace/server/dialect"
)

// grantUsage makes GRANT USAGE ON CONNECTION c TO u a grant of a dynamic privilege of ours, whose name says on what. So the engine stores it with the
// user, and DROP USER and roles do what they do with every other privilege.
func grantUsage(ctx context.Context, st *statement, u dialect.GrantUsage, options sqlparser.ParserOptions) error {
	valid := connectionName
	if u.Kind == "secret" {
		valid = secretScope
	}
	if !valid.MatchString(u.Name) {
		return sqlerr.New(sqlerr.OptionInvalid, "'%s' is no name of a %s", u.Name, u.Kind)
	}
	verb := "GRANT "
	if u.Revoke {
		verb = "REVOKE "
	}
	g := &grant{text: verb + standIns[kafkaRead] + " ON *.* " + u.Accounts}
	if err := g.parse(ctx, st, options); err != nil {
		return err
	}
	g.names, g.usage = []string{readkafka.UsagePrivilege(u.Kind, u.Name)}, u
	return nil
}

// grantable wants what USAGE is granted on to exist. Secrets come and go outside.
func (n *connections) grantable(u dialect.GrantUsage) error {
	if u.Kind == "" || u.Kind == "secret" || u.Revoke {
		return nil
	}
	if _, ok := n.catalog.Named(catalog.Kind(u.Kind), u.Name); !ok {
		return n.missing(catalog.Kind(u.Kind), u.Name)
	}
	return nil
}

var usageNames = regexp.MustCompile(`(?i)^USAGE ON (CONNECTION|CREDENTIAL|SECRET) (\S+)$`)

// usageGrants gives the rows of SHOW GRANTS with those privileges as the statements that grant them.
func usageGrants(rows sql.RowIter) sql.RowIter { return &usageIter{RowIter: rows} }

type usageIter struct {
	sql.RowIter
	waiting []sql.Row
}

// Next implements sql.RowIter.
func (i *usageIter) Next(ctx *sql.Context) (sql.Row, error) {
	for len(i.waiting) == 0 {
		row, err := i.RowIter.Next(ctx)
		if err != nil {
			return nil, err
		}
		i.waiting = splitUsage(row)
	}
	row := i.waiting[0]
	i.waiting = i.waiting[1:]
	return row, nil
}

// splitUsage makes GRANT A, USAGE ON CONNECTION C ON *.* TO u two statements.
func splitUsage(row sql.Row) []sql.Row {
	text, ok := row[0].(string)
	list, to, isGlobal := strings.Cut(strings.TrimPrefix(text, "GRANT "), " ON *.* ")
	if !ok || len(row) != 1 || !isGlobal || !strings.Contains(text, "USAGE ON ") {
		return []sql.Row{row}
	}
	var rest []string
	var own []sql.Row
	for _, name := range strings.Split(list, ", ") {
		m := usageNames.FindStringSubmatch(name)
		if m == nil {
			rest = append(rest, name)
			continue
		}
		own = append(own, sql.Row{"GRANT USAGE ON " + m[1] + " `" + strings.ToLower(m[2]) + "` " + to})
	}
	if rest != nil {
		own = append([]sql.Row{{"GRANT " + strings.Join(rest, ", ") + " ON *.* " + to}}, own...)
	}
	return own
}
