package server

import (
	"crypto/tls"
	"crypto/x509/pkix"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/mysql_db"
	"github.com/dolthub/go-mysql-server/sql/types"
	vmysql "github.com/dolthub/vitess/go/mysql"

	"millrace/server/wire"
)

// accounts gives the protocol the users of the engine's grant tables.
type accounts struct{ users *mysql_db.MySQLDb }

// Find implements wire.Accounts.
func (a accounts) Find(user, host string) (wire.Account, bool) {
	rd := a.users.Reader()
	defer rd.Close()
	u := a.users.GetUser(rd, user, host, false)
	if u == nil || u.User != user {
		// Anonymous accounts (an empty user name) match everybody in MySQL; they are not served.
		return wire.Account{}, false
	}
	stored := *u
	return wire.Account{
		User: stored.User, Host: stored.Host, Plugin: stored.Plugin, Auth: stored.AuthString, Locked: stored.Locked,
		Allowed: func(state *tls.ConnectionState) bool { return transportAllowed(&stored, state) },
		Check:   func(password string) bool { return sha2Matches(stored.AuthString, password) },
	}, true
}

// sha2Matches hashes the password with the salt and rounds of the stored hash.
func sha2Matches(stored, password string) bool {
	_, rounds, salt, _, err := vmysql.DeserializeCachingSha2PasswordAuthString([]byte(stored))
	if err != nil {
		return false
	}
	hash, err := vmysql.SerializeCachingSha2PasswordAuthString(password, salt, rounds)
	return err == nil && string(hash) == stored
}

// transportAllowed checks REQUIRE of CREATE USER.
func transportAllowed(u *mysql_db.User, state *tls.ConnectionState) bool {
	verified := state != nil && len(state.VerifiedChains) > 0
	switch u.SslType {
	case "":
		return true
	case "ANY":
		return state != nil
	case "X509":
		return verified
	}
	if state == nil || u.SslCipher != "" && !strings.EqualFold(u.SslCipher, tls.CipherSuiteName(state.CipherSuite)) {
		return false
	}
	if u.X509Subject == "" && u.X509Issuer == "" {
		return true
	}
	if !verified {
		return false
	}
	leaf := state.VerifiedChains[0][0]
	return (u.X509Subject == "" || u.X509Subject == distinguishedName(leaf.Subject)) &&
		(u.X509Issuer == "" || u.X509Issuer == distinguishedName(leaf.Issuer))
}

var attributeNames = map[string]string{
	"2.5.4.3": "CN", "2.5.4.6": "C", "2.5.4.7": "L", "2.5.4.8": "ST", "2.5.4.10": "O", "2.5.4.11": "OU", "2.5.4.5": "serialNumber",
	"1.2.840.113549.1.9.1": "emailAddress", "0.9.2342.19200300.100.1.1": "UID", "0.9.2342.19200300.100.1.25": "DC",
}

// distinguishedName writes a name as MySQL users write it in REQUIRE SUBJECT: /C=SE/O=Example/CN=client.
func distinguishedName(n pkix.Name) string {
	var b strings.Builder
	for _, a := range n.Names {
		name, ok := attributeNames[a.Type.String()]
		if !ok {
			name = a.Type.String()
		}
		text, _ := a.Value.(string)
		b.WriteString("/" + name + "=" + text)
	}
	return b.String()
}

// currentUser is CURRENT_USER(): the account that the session was matched with, whose privileges it has. The engine's own gives the address of
// the client, as USER() does.
func currentUser(users *mysql_db.MySQLDb) sql.Function {
	return sql.NewFunction0("current_user", func(ctx *sql.Context) sql.Expression {
		rd := users.Reader()
		defer rd.Close()
		client := ctx.Session.Client()
		name := client.User + "@" + client.Address
		if u := users.GetUser(rd, client.User, client.Address, false); u != nil {
			name = u.User + "@" + u.Host
		}
		return expression.NewLiteral(name, types.LongText)
	})
}
