package dialect

import (
	"strings"

	"millrace/internal/sqlerr"
)

// CreateConnection is CREATE [OR REPLACE] CONNECTION or CREDENTIAL [IF NOT EXISTS] name [TYPE type] OPTIONS (name value, …).
type CreateConnection struct {
	// Credential tells CREATE CREDENTIAL from CREATE CONNECTION.
	Credential           bool
	Replace, IfNotExists bool
	Name                 string
	// Type is in lower case, empty when none was given.
	Type    string
	Options []ConnectionOption
}

// ConnectionOption is one option as it was written.
type ConnectionOption struct {
	Name string
	// Value is what the literal stands for.
	Value string
	// Scope and Key are those of secret('scope', 'key'), which then stands in the place of a literal.
	Scope, Key string
	// Pos is where the option begins in the text.
	Pos int
}

// DropConnection is DROP CONNECTION or CREDENTIAL [IF EXISTS] name.
type DropConnection struct {
	Credential bool
	IfExists   bool
	Name       string
}

// ShowConnections is SHOW CONNECTIONS or CREDENTIALS.
type ShowConnections struct{ Credential bool }

// DescribeConnection is DESCRIBE CONNECTION or CREDENTIAL name.
type DescribeConnection struct {
	Credential bool
	Name       string
}

// GrantUsage is GRANT or REVOKE USAGE ON CONNECTION, CREDENTIAL or SECRET name.
type GrantUsage struct {
	Revoke bool
	// Kind is connection, credential or secret; the name of a secret is that of its scope.
	Kind, Name string
	// Accounts is the rest of the statement: TO or FROM, the accounts, WITH GRANT OPTION.
	Accounts string
}

func (s CreateConnection) Title() string   { return "CREATE " + kindOf(s.Credential) }
func (s DropConnection) Title() string     { return "DROP " + kindOf(s.Credential) }
func (s ShowConnections) Title() string    { return "SHOW " + kindOf(s.Credential) + "S" }
func (s DescribeConnection) Title() string { return "DESCRIBE " + kindOf(s.Credential) }
func (s GrantUsage) Title() string {
	if s.Revoke {
		return "REVOKE USAGE"
	}
	return "GRANT USAGE"
}

// kindOf names what a statement is about.
func kindOf(credential bool) string {
	if credential {
		return "CREDENTIAL"
	}
	return "CONNECTION"
}

// String keeps values out of what prints the statement.
func (o ConnectionOption) String() string { return o.Name + " " + masked }

// words reports whether the tokens from i on are these words, each with alternatives between bars.
func (r *rewriter) words(i int, want ...string) bool {
	for k, w := range want {
		t := r.tokens[min(i+k, len(r.tokens)-1)]
		if t.kind != tokenWord || !isOneOf(r.text(t), strings.Split(w, "|")...) {
			return false
		}
	}
	return true
}

const connectionKinds = "connection|credential"

// connectionStatement recognises the statements on connections, credentials and the use of secrets; nil when it is none of them.
func (r *rewriter) connectionStatement() (Statement, *sqlerr.Error) {
	switch {
	case r.words(0, "create", connectionKinds):
		return r.createConnection(1, false)
	case r.words(0, "create", "or", "replace", connectionKinds):
		return r.createConnection(3, true)
	case r.words(0, "drop", connectionKinds):
		return r.dropConnection()
	case r.words(0, "show", "connections|credentials"):
		return ShowConnections{Credential: r.isWord(1, "credentials")}, r.endAt(2)
	case r.words(0, "describe|desc", connectionKinds) && r.tokens[2].identifier():
		return DescribeConnection{Credential: r.isWord(1, "credential"), Name: r.name(r.tokens[2])}, r.endAt(3)
	case r.words(0, "grant|revoke", "usage", "on", "connection|credential|secret") && r.tokens[4].identifier():
		return r.grantUsage()
	}
	return nil, nil
}

// endAt wants the statement to end at a token.
func (r *rewriter) endAt(i int) *sqlerr.Error {
	for r.tokens[i].is(';') {
		i++
	}
	if t := r.tokens[i]; t.kind != tokenEnd {
		return r.errorAt(t.start, "unexpected '%s'", shorten(r.shown(t)))
	}
	return nil
}

// shown is a token as a message may show it.
func (r *rewriter) shown(t token) string {
	if t.kind == tokenString {
		return masked
	}
	return r.text(t)
}

// objectName reads a name of one part.
func (r *rewriter) objectName(i int, what string) (string, *sqlerr.Error) {
	t := r.tokens[i]
	if !t.identifier() {
		return "", r.errorAt(t.start, "the name of the %s is expected", what)
	}
	return r.name(t), nil
}

func (r *rewriter) createConnection(i int, replace bool) (Statement, *sqlerr.Error) {
	c := CreateConnection{Credential: r.isWord(i, "credential"), Replace: replace}
	what := strings.ToLower(r.text(r.tokens[i]))
	i++
	if r.words(i, "if", "not", "exists") {
		if replace {
			return nil, r.errorAt(r.tokens[i].start, "OR REPLACE and IF NOT EXISTS exclude each other")
		}
		c.IfNotExists = true
		i += 3
	}
	var err *sqlerr.Error
	if c.Name, err = r.objectName(i, what); err != nil {
		return nil, err
	}
	i++
	if r.isWord(i, "type") {
		t := r.tokens[i+1]
		switch {
		case t.identifier():
			c.Type = strings.ToLower(r.name(t))
		case t.kind == tokenString:
			c.Type = strings.ToLower(r.stringValue(t))
		default:
			return nil, r.errorAt(t.start, "the type of the %s is expected, such as kafka", what)
		}
		i += 2
	}
	if !r.isWord(i, "options") || !r.tokens[i+1].is('(') {
		return nil, r.errorAt(r.tokens[i].start, "OPTIONS (…) is expected").WithHint("for example OPTIONS (bootstrapServers 'broker:9092')")
	}
	i += 2
	for {
		o, next, err := r.connectionOption(i)
		if err != nil {
			return nil, err
		}
		c.Options = append(c.Options, o)
		switch t := r.tokens[next]; {
		case t.is(','):
			i = next + 1
		case t.is(')'):
			return c, r.endAt(next + 1)
		default:
			return nil, r.errorAt(t.start, "a comma or the closing parenthesis is expected after option '%s'", shorten(o.Name))
		}
	}
}

// connectionOption reads name value, name = value or name => value; the name may have dots without quotes, or be a string.
func (r *rewriter) connectionOption(i int) (o ConnectionOption, next int, err *sqlerr.Error) {
	o.Pos = r.tokens[i].start
	if t := r.tokens[i]; t.kind == tokenString {
		o.Name = r.stringValue(t)
		i++
	} else {
		var parts []string
		for {
			t := r.tokens[i]
			if !t.identifier() {
				return o, i, r.errorAt(t.start, "the name of an option is expected")
			}
			parts = append(parts, r.name(t))
			i++
			if !r.tokens[i].is('.') {
				break
			}
			i++
		}
		o.Name = strings.Join(parts, ".")
	}
	if r.tokens[i].is('=') || r.tokens[i].is(opArrow) {
		i++
	}
	switch t := r.tokens[i]; {
	case t.kind == tokenString:
		o.Value = r.stringValue(t)
		return o, i + 1, nil
	case t.kind == tokenNumber, r.isWord(i, "true"), r.isWord(i, "false"):
		o.Value = r.text(t)
		return o, i + 1, nil
	case r.isWord(i, "secret") && r.tokens[i+1].is('(') && r.tokens[i+2].kind == tokenString && r.tokens[i+3].is(',') &&
		r.tokens[i+4].kind == tokenString && r.tokens[i+5].is(')'):
		o.Scope, o.Key = r.stringValue(r.tokens[i+2]), r.stringValue(r.tokens[i+4])
		return o, i + 6, nil
	default:
		return o, i, r.errorAt(t.start, "the value of option '%s' is expected: text, a number, TRUE, FALSE or secret('scope', 'key')", shorten(o.Name))
	}
}

func (r *rewriter) dropConnection() (Statement, *sqlerr.Error) {
	d := DropConnection{Credential: r.isWord(1, "credential")}
	i := 2
	if r.words(i, "if", "exists") {
		d.IfExists = true
		i += 2
	}
	var err *sqlerr.Error
	if d.Name, err = r.objectName(i, strings.ToLower(r.text(r.tokens[1]))); err != nil {
		return nil, err
	}
	return d, r.endAt(i + 1)
}

func (r *rewriter) grantUsage() (Statement, *sqlerr.Error) {
	g := GrantUsage{Revoke: r.isWord(0, "revoke"), Kind: strings.ToLower(r.text(r.tokens[3])), Name: r.name(r.tokens[4])}
	want := "TO"
	if g.Revoke {
		want = "FROM"
	}
	if !r.words(5, strings.ToLower(want)) {
		return nil, r.errorAt(r.tokens[5].start, "%s and an account are expected", want)
	}
	g.Accounts = r.textFrom(r.tokens[5].start)
	return g, nil
}
