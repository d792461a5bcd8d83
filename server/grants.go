package server

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/mysql_db"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"millrace/internal/option"
	"millrace/internal/sqlerr"
	"millrace/server/dialect"
)

// Our dynamic privileges. The engine checks them like any other, but its GRANT and REVOKE know only MySQL's names: statements that name one
// of ours are split here, ours are done below, the rest is the engine's.
const (
	kafkaRead      = "kafka_read"
	kafkaWrite     = "kafka_write"
	streamingAdmin = "streaming_admin"
	backupAdmin    = "backup_admin" // MySQL's, which the engine does not grant
)

// standIns are privileges of MySQL that the parser reads in the place of ours. Nobody grants them: they belong to plugins that do not exist here. BACKUP_ADMIN it reads
// by its name.
var standIns = map[string]string{kafkaRead: "FIREWALL_EXEMPT", kafkaWrite: "FIREWALL_USER", streamingAdmin: "FIREWALL_ADMIN", backupAdmin: "BACKUP_ADMIN"}

var (
	grantHead = regexp.MustCompile(`(?is)^\s*(?:grant|revoke)\b(.*?)\bon\b`)
	ourNames  = regexp.MustCompile(`(?i)\b(?:kafka_read|kafka_write|streaming_admin|backup_admin)\b`)
)

// grant is GRANT or REVOKE of privileges of ours.
type grant struct {
	// text has stand-ins in the place of our privileges.
	text    string
	names   []string
	revoke  bool
	option  bool
	level   sqlparser.PrivilegeLevel
	account []sqlparser.AccountName
	// missingOK is REVOKE IF EXISTS or IGNORE UNKNOWN USER.
	missingOK bool
	// usage is what USAGE is granted on, when that is the privilege.
	usage dialect.GrantUsage
}

// ourGrant recognises the statements.
func ourGrant(text string) (*grant, bool) {
	head := grantHead.FindStringSubmatchIndex(text)
	if head == nil || !ourNames.MatchString(text[head[2]:head[3]]) {
		return nil, false
	}
	replaced := ourNames.ReplaceAllStringFunc(text[head[2]:head[3]], func(name string) string { return standIns[strings.ToLower(name)] })
	return &grant{text: text[:head[2]] + replaced + text[head[3]:]}, true
}

// privilegeMeant names the privilege of ours that GRANT or REVOKE may mean by a word that is none.
func privilegeMeant(text string) string {
	head := grantHead.FindStringSubmatch(text)
	if head == nil {
		return ""
	}
	for _, name := range strings.Split(head[1], ",") {
		if name = strings.TrimSpace(name); !strings.Contains(name, "_") { // those of the engine's have none, but for few
			continue
		}
		if near := option.Nearest(strings.ToUpper(name), []string{"KAFKA_READ", "KAFKA_WRITE", "STREAMING_ADMIN", "BACKUP_ADMIN"}); near != "" && !strings.EqualFold(near, name) {
			return near
		}
	}
	return ""
}

// parse fills g and leaves in st what remains for the engine.
func (g *grant) parse(ctx context.Context, st *statement, options sqlparser.ParserOptions) error {
	ast, err := sqlparser.ParseWithOptions(ctx, g.text, options)
	if err != nil {
		return sqlerr.New(sqlerr.Syntax, "the GRANT or REVOKE statement cannot be parsed: %s", firstLine(err.Error()))
	}
	switch n := ast.(type) {
	case *sqlparser.GrantPrivilege:
		g.level, g.account, g.option = n.PrivilegeLevel, n.To, n.WithGrantOption
		if n.Privileges = g.take(n.Privileges); len(n.Privileges) > 0 {
			st.ast = n
		}
	case *sqlparser.RevokePrivilege:
		g.revoke, g.level, g.account, g.missingOK = true, n.PrivilegeLevel, n.From, n.IfExists || n.IgnoreUnknownUser
		if n.Privileges = g.take(n.Privileges); len(n.Privileges) > 0 {
			st.ast = n
		}
	default:
		return sqlerr.New(sqlerr.IllegalGrant, "this form of GRANT or REVOKE takes no privilege of Millrace")
	}
	if g.level.Database != "*" || g.level.TableRoutine != "*" {
		return sqlerr.New(sqlerr.GrantLevel, "privilege '%s' is global", strings.ToUpper(g.names[0])).WithHint("grant it ON *.*")
	}
	st.grant = g
	return nil
}

// take takes our privileges out of a list.
func (g *grant) take(list []sqlparser.Privilege) (rest []sqlparser.Privilege) {
	for _, p := range list {
		name := ""
		for ours, standIn := range standIns {
			if p.Type == sqlparser.PrivilegeType_Dynamic && strings.EqualFold(p.DynamicName, standIn) {
				name = ours
			}
		}
		if name == "" {
			rest = append(rest, p)
			continue
		}
		g.names = append(g.names, name)
	}
	return rest
}

// run does what g says. Either all of it is stored or nothing is changed.
func (g *grant) run(ctx *sql.Context, users *mysql_db.MySQLDb) error {
	if err := g.authorize(ctx, users); err != nil {
		return err
	}
	ed := users.Editor()
	defer ed.Close()
	var before []mysql_db.PrivilegeSet
	var changed []*mysql_db.User
	for _, a := range g.account {
		host := a.Host
		if a.AnyHost || host == "" {
			host = "%"
		}
		u, ok := ed.GetUser(mysql_db.UserPrimaryKey{User: a.Name, Host: host})
		switch {
		case ok:
			changed, before = append(changed, u), append(before, u.PrivilegeSet.Copy())
		case g.missingOK:
			ctx.Warn(int(sqlerr.NoSuchGrant.Errno), "user '%s'@'%s' does not exist", a.Name, host)
		case g.revoke:
			return sqlerr.New(sqlerr.NoSuchGrant, "user '%s'@'%s' does not exist", a.Name, host)
		default:
			return sqlerr.New(sqlerr.NoGrantUser, "user '%s'@'%s' does not exist: GRANT makes no users", a.Name, host).WithHint("CREATE USER first")
		}
	}
	for _, u := range changed {
		if g.revoke {
			u.PrivilegeSet.RemoveGlobalDynamic(g.names...)
		} else {
			u.PrivilegeSet.AddGlobalDynamic(g.option, g.names...)
		}
	}
	if err := users.Persist(ctx, ed); err != nil {
		for i, u := range changed {
			u.PrivilegeSet = before[i]
		}
		return err
	}
	return nil
}

// authorize asks for SUPER or for the same privileges WITH GRANT OPTION.
func (g *grant) authorize(ctx *sql.Context, users *mysql_db.MySQLDb) error {
	held := users.UserActivePrivilegeSet(ctx)
	if held.Has(sql.PrivilegeType_Super) {
		return nil
	}
	may := held.ToSliceDynamic(true)
	for _, name := range g.names {
		if !slices.ContainsFunc(may, func(m string) bool { return strings.EqualFold(m, name) }) {
			return sqlerr.New(sqlerr.PrivilegeNeeded, "you may not grant or revoke '%s'", strings.ToUpper(name)).
				WithHint("it needs SUPER, or the privilege itself WITH GRANT OPTION")
		}
	}
	return nil
}
