package server

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/vt/sqlparser"
	"github.com/dolthub/vitess/go/vt/vterrors"

	"millrace/internal/sqlerr"
	"millrace/planner"
	"millrace/server/dialect"
)

// statement is a parsed statement. It may be executed again and again, by one session at a time.
type statement struct {
	// text is what the user wrote, shown the same without secrets.
	text  string
	shown redacted
	// ast is for the engine; when it is nil, own is one of our statements.
	ast sqlparser.Statement
	own dialect.Statement
	// grant is GRANT or REVOKE of privileges of ours; ast is then what remains of the statement, if anything.
	grant *grant
	// sink is INSERT INTO write_kafka(…), or EXPLAIN of it; own says which.
	sink *sink
	// literals: the statement is a SELECT of literals. constant is then its answer, once it is known.
	literals bool
	constant *constant
	// lookup is not nil when the statement is a look-up by keys.
	lookup *lookup
	// params is the number of placeholders.
	params int
	// unknown are system variables that do not exist and stand for NULL.
	unknown []string
	// logs are the tables whose event logs are read.
	logs []dialect.TableName
	// session are uses of variables that are facts of the session, such as @@warning_count; they are given values at each execution.
	session []sessionVariable
	// counts are the placeholders of LIMIT and OFFSET.
	counts []count
}

type sessionVariable struct {
	name   string
	column *sqlparser.ColName
}

// parse reads one statement of the dialect in the sql_mode of the context's session. Errors show places of the text as it was written.
func parse(ctx *sql.Context, text string) (*statement, error) {
	mode := sql.LoadSqlMode(ctx)
	st, err := parseIn(text, dialectMode(mode), mode.ParserOptions(), ctx)
	if err != nil || st.ast == nil {
		return st, err
	}
	if err := planner.WidenValues(st.text, st.ast); err != nil {
		return nil, err
	}
	return st, st.bindVariables()
}

func dialectMode(m *sql.SqlMode) dialect.Mode {
	return dialect.Mode{AnsiQuotes: m.AnsiQuotes(), NoBackslashEscapes: m.ModeEnabled("NO_BACKSLASH_ESCAPES"), PipesAsConcat: m.PipesAsConcat()}
}

func parseIn(text string, mode dialect.Mode, options sqlparser.ParserOptions, ctx context.Context) (*statement, error) {
	text = sql.RemoveSpaceAndDelimiter(text, ';')
	shown := redact(text)
	st, err := parseText(text, mode, options, ctx)
	if err != nil && shown.text != text {
		// The message shows a part of the statement. The statement without its secrets has the same error in the same place.
		if _, again := parseText(shown.text, mode, options, ctx); again != nil {
			err = again
		} else {
			err = sqlerr.New(sqlerr.Syntax, "the statement cannot be parsed")
		}
	}
	if err != nil {
		return nil, err
	}
	st.shown = shown
	st.literals, st.lookup = ofLiterals(st.ast), lookupOf(st.ast)
	if st.ast != nil {
		if st.counts, err = countsOf(st.ast); err != nil {
			return nil, err
		}
		if err := expandFields(ctx, st.ast); err != nil {
			return nil, err
		}
		expandWindows(st.ast)
		expandStars(ctx, st.ast)
	}
	return st, nil
}

func parseText(text string, mode dialect.Mode, options sqlparser.ParserOptions, ctx context.Context) (*statement, error) {
	st := &statement{text: text}
	r, err := dialect.Rewrite(text, mode)
	if err != nil {
		return nil, err
	}
	st.params, st.logs = r.Params, r.EventLogs
	switch own := r.Statement.(type) {
	case nil:
	case dialect.Explain:
		return explain(st, own, mode, options, ctx)
	case dialect.GrantUsage:
		return st, grantUsage(ctx, st, own, options)
	case dialect.InsertIntoSink:
		st.own = own
		return st, parseSink(st, own.Sink, mode, options, ctx)
	default:
		st.own = own
		return st, nil
	}
	if g, ok := ourGrant(r.SQL); ok {
		return st, g.parse(ctx, st, options)
	}
	st.ast, err = sqlparser.ParseWithOptions(ctx, r.SQL, options)
	if err != nil {
		return nil, syntaxError(ctx, text, r, options, err)
	}
	if err := planner.Operators(r.SQL, st.ast); err != nil {
		return nil, err
	}
	if err := refuseFiles(r.SQL, st.ast); err != nil {
		return nil, err
	}
	if err := refuseUnkept(st.ast); err != nil {
		return nil, err
	}
	if err := refuseUnread(st.ast); err != nil {
		return nil, err
	}
	if err := refuseAlter(st.ast); err != nil {
		return nil, err
	}
	if grants, ok := st.ast.(*sqlparser.ShowGrants); ok && grants.For == nil {
		grants.Auth = sqlparser.AuthInformation{AuthType: sqlparser.AuthType_IGNORE} // everybody may see their own
	}
	if show, ok := st.ast.(*sqlparser.Show); ok {
		authorizeShow(show)
	}
	if r.Changed {
		restoreHeadings(st.ast, r)
		if ddl, ok := st.ast.(*sqlparser.DDL); ok && ddl.SubStatementPositionEnd > 0 {
			// The engine cuts the body of a view or procedure out of the text it is given, which is the original.
			ddl.SubStatementPositionStart, ddl.SubStatementPositionEnd = r.Origin(ddl.SubStatementPositionStart), r.Origin(ddl.SubStatementPositionEnd)
		}
	}
	return st, nil
}

// explain makes EXPLAIN of a query the engine's EXPLAIN of the parsed query.
func explain(st *statement, e dialect.Explain, mode dialect.Mode, options sqlparser.ParserOptions, ctx context.Context) (*statement, error) {
	inner, err := parseText(e.Query, mode, options, ctx)
	if err != nil {
		return nil, err
	}
	if inner.sink != nil {
		if e.Format != "TREE" {
			return nil, sqlerr.New(sqlerr.NotSupported, "EXPLAIN of a sink has no format but TREE").WithHint("EXPLAIN FORMAT=%s takes its query alone", e.Format)
		}
		st.own, st.sink, st.params = inner.own, inner.sink, inner.params
		st.sink.explain, st.sink.analyze = true, e.Analyze
		return st, nil
	}
	if inner.ast == nil {
		return nil, sqlerr.New(sqlerr.NotSupported, "EXPLAIN of this statement is not supported yet")
	}
	st.params, st.logs = inner.params, inner.logs
	format := sqlparser.TreeStr
	if e.Format == "JSON" {
		format = planner.ExplainJSON
	}
	st.ast = &sqlparser.Explain{Statement: inner.ast, ExplainFormat: format, Analyze: e.Analyze}
	return st, nil
}

// restoreHeadings puts what the user wrote in the place of rewritten text where it names a column of the result.
func restoreHeadings(stmt sqlparser.Statement, r *dialect.Result) {
	_ = sqlparser.Walk(func(n sqlparser.SQLNode) (bool, error) { // the visitor gives no error
		if a, ok := n.(*sqlparser.AliasedExpr); ok && a.As.IsEmpty() && a.InputExpression != "" {
			if heading, ok := r.Heading(a.InputExpression); ok {
				a.InputExpression = heading
			}
		}
		return true, nil
	}, stmt)
}

// syntaxError turns the parser's error into one that shows the place in the original.
func syntaxError(ctx context.Context, text string, r *dialect.Result, options sqlparser.ParserOptions, err error) error {
	if errors.Is(err, sqlparser.ErrEmpty) {
		return sqlerr.New(sqlerr.EmptyQuery, "the query is empty")
	}
	place, ok := vterrors.AsSyntaxError(err)
	if !ok {
		return sqlerr.New(sqlerr.Syntax, "%s", firstLine(err.Error()))
	}
	message := firstLine(place.Message)
	if endsEarly(ctx, r.SQL, options) {
		return dialect.ErrorAt(text, len(text), "the statement ends too early")
	}
	message, near, hasNear := strings.Cut(message, " near '")
	message, _, _ = strings.Cut(message, " at position ")
	message = strings.TrimPrefix(message, "syntax error")
	near = strings.TrimSuffix(near, "'")
	// The parser's position is behind the token it stumbled on.
	pos := min(place.Position, len(r.SQL))
	if hasNear && near != "" {
		if i := strings.LastIndex(strings.ToLower(r.SQL[:pos]), strings.ToLower(near)); i >= 0 && pos-i <= len(near)+3 {
			pos = i
		}
	}
	at := r.Origin(pos)
	for at > 0 && at < len(text) && nameByte(text[at-1]) && nameByte(text[at]) { // the parser counts what follows a dot from its second letter
		at--
	}
	if meant := meantForStreaming(text, at); meant != nil {
		return meant
	}
	message = strings.TrimSpace(message)
	if message == "" {
		message = fmt.Sprintf("unexpected '%s'", tokenAt(text, at))
	}
	wrong := dialect.ErrorAt(text, at, "%s", strings.TrimSpace(strings.TrimPrefix(message, ":")))
	for _, m := range subscript.FindAllStringSubmatchIndex(text, -1) {
		if m[0] <= at && at <= m[1] {
			return wrong.WithHint("an element is read with a path: %s:%s", text[m[2]:m[3]], text[m[4]:m[5]])
		}
	}
	if name := privilegeMeant(r.SQL); name != "" {
		return wrong.WithHint("did you mean %s?", name)
	}
	if m := fieldOfCall.FindStringSubmatchIndex(text); m != nil && strings.Contains(strings.ToLower(text), "from_json") && m[0] <= at && at <= m[1]+1 {
		return wrong.WithHint("give the struct a name in a subquery, SELECT s.%s FROM (SELECT from_json(…) AS s FROM …); or read the field with a path, value::string:%[1]s", text[m[2]:m[3]])
	}
	for _, start := range []int{pos, wordBefore(r.SQL, pos)} {
		if word := tokenAt(r.SQL, start); isReservedName(ctx, r.SQL, start, word, options) {
			return wrong.WithHint("'%s' is a reserved word; as a name it goes into back-ticks: `%s`", word, word)
		}
	}
	return wrong
}

// wordBefore is where the word before a position begins.
func wordBefore(text string, at int) int {
	start := len(strings.TrimRight(text[:at], " \t\r\n"))
	for start > 0 && nameByte(text[start-1]) {
		start--
	}
	return start
}

// isReservedName reports whether a reserved word at a position was meant as a name: as such the statement is right. A clause that comes too early is none.
func isReservedName(ctx context.Context, text string, at int, word string, options sqlparser.ParserOptions) bool {
	if !dialect.Reserved(word) {
		return false
	}
	switch strings.ToLower(word) {
	case "as", "from", "having", "limit", "on", "select", "set", "using", "values", "where":
		return false
	}
	_, err := sqlparser.ParseWithOptions(ctx, text[:at]+"`"+word+"`"+text[at+len(word):], options)
	return err == nil
}

// subscript is how other systems write an element of a list: items[0].sku.
var subscript = regexp.MustCompile("([\\w.`]+)(\\[\\d+\\][\\w.\\[\\]]*)")

// fieldOfCall is how other systems read a field of what a function gives: from_json(…).f
var fieldOfCall = regexp.MustCompile("\\)\\.`?(\\w+)`?")

// endsEarly tells a statement that lacks its end from one whose last token is wrong, which the parser reports alike: a word is put behind it,
// and only the first then gets further than before.
func endsEarly(ctx context.Context, text string, options sqlparser.ParserOptions) bool {
	const word = "millrace_end"
	_, err := sqlparser.ParseWithOptions(ctx, text+" "+word, options)
	return err == nil || strings.Contains(err.Error(), "near '"+word)
}

// tokenAt is the word or character at a position, to be named in a message.
func tokenAt(text string, at int) string {
	end := at
	for end < len(text) && nameByte(text[end]) {
		end++
	}
	if end == at {
		end = min(at+1, len(text))
	}
	return text[at:end]
}

// nameByte reports whether c may stand in a name without dots.
func nameByte(c byte) bool { return wordByte(c) && c != '.' }

func firstLine(s string) string {
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "Code: ") {
			return line
		}
	}
	return strings.TrimSpace(s)
}

// bindVariables finds system variables that the engine does not have. Tools ask for many when they start; an unknown one in a SELECT is
// NULL with a warning.
func (st *statement) bindVariables() error {
	if !strings.Contains(st.text, "@@") {
		return nil
	}
	if _, ok := st.ast.(sqlparser.SelectStatement); !ok {
		return nil
	}
	return sqlparser.Walk(func(n sqlparser.SQLNode) (bool, error) {
		if a, ok := n.(*sqlparser.AliasedExpr); ok {
			if c, ok := a.Expr.(*sqlparser.ColName); ok && a.As.IsEmpty() && st.bindVariable(c) {
				a.As = sqlparser.NewColIdent(variableText(c))
			}
			return true, nil
		}
		if c, ok := n.(*sqlparser.ColName); ok {
			st.bindVariable(c)
		}
		return true, nil
	}, st.ast)
}

func intLiteral(n int64) *sqlparser.SQLVal { return sqlparser.NewIntVal(strconv.AppendInt(nil, n, 10)) }

func variableText(c *sqlparser.ColName) string {
	if q := c.Qualifier.Name.String(); q != "" {
		return q + "." + c.Name.String()
	}
	return c.Name.String()
}

// bindVariable gives c a value when it is a system variable that the engine lacks.
func (st *statement) bindVariable(c *sqlparser.ColName) bool {
	text := variableText(c)
	if !strings.HasPrefix(text, "@@") || c.StoredProcVal != nil {
		return c.StoredProcVal != nil
	}
	name, scope, _, err := sqlparser.VarScope(strings.Split(text, ".")...)
	if err != nil || scope != sqlparser.SetScope_Session && scope != sqlparser.SetScope_Global && scope != sqlparser.SetScope_None {
		return false
	}
	lower := strings.ToLower(name)
	if _, ok := scanVariables[lower]; ok || lower == "warning_count" || lower == "error_count" {
		st.session = append(st.session, sessionVariable{lower, c})
		c.StoredProcVal = intLiteral(0)
		return true
	}
	if _, _, known := sql.SystemVariables.GetGlobal(name); known {
		return false
	}
	st.unknown = append(st.unknown, name)
	c.StoredProcVal = &sqlparser.NullVal{}
	return true
}

// parser is the dialect for the engine itself, which parses views, the bodies of procedures, and PREPARE … FROM. What clients send is
// parsed before the engine sees it.
type parser struct{}

var _ sql.Parser = parser{}

// ParseSimple implements sql.Parser.
func (p parser) ParseSimple(query string) (sqlparser.Statement, error) {
	st, _, _, err := p.ParseWithOptions(context.Background(), query, ';', false, sqlparser.ParserOptions{})
	return st, err
}

// Parse implements sql.Parser.
func (p parser) Parse(ctx *sql.Context, query string, multi bool) (sqlparser.Statement, string, string, error) {
	return p.ParseWithOptions(ctx, query, ';', multi, sql.LoadSqlMode(ctx).ParserOptions())
}

// ParseWithOptions implements sql.Parser.
func (p parser) ParseWithOptions(ctx context.Context, query string, delimiter rune, multi bool, options sqlparser.ParserOptions) (sqlparser.Statement, string, string, error) {
	query = sql.RemoveSpaceAndDelimiter(query, delimiter)
	mode := modeOf(ctx, options)
	first, rest := query, ""
	if multi {
		first, rest = dialect.Split(query, mode)
	}
	st, err := p.one(ctx, first, mode, options)
	return st, sql.RemoveSpaceAndDelimiter(first, delimiter), rest, err
}

// ParseOneWithOptions implements sql.Parser.
func (p parser) ParseOneWithOptions(ctx context.Context, query string, options sqlparser.ParserOptions) (sqlparser.Statement, int, error) {
	mode := modeOf(ctx, options)
	first, rest := dialect.Split(query, mode)
	st, err := p.one(ctx, first, mode, options)
	return st, len(query) - len(rest), err
}

func (p parser) one(ctx context.Context, text string, mode dialect.Mode, options sqlparser.ParserOptions) (sqlparser.Statement, error) {
	text, viewMode, marked := unmarkView(text)
	if marked > 0 {
		mode.NoBackslashEscapes = strings.Contains(viewMode, "NO_BACKSLASH_ESCAPES")
	}
	st, err := parseIn(text, mode, options, ctx)
	if sqlerr.HasKind(err, sqlerr.EmptyQuery) {
		return nil, sqlparser.ErrEmpty
	}
	if err != nil {
		return nil, err
	}
	if st.grant != nil {
		return nil, sqlerr.New(sqlerr.NotSupported, "GRANT and REVOKE of Millrace's privileges may not stand in the body of another statement")
	}
	if st.ast == nil {
		return nil, ownInside(st.own)
	}
	if err := planner.WidenValues(st.text, st.ast); err != nil {
		return nil, err
	}
	if what, ok := notPrepared(st.ast); ok {
		return nil, sqlerr.New(sqlerr.NotSupported, "%s may not stand inside PREPARE or the body of another statement", what)
	}
	if ddl, ok := st.ast.(*sqlparser.DDL); ok && marked > 0 {
		ddl.SubStatementPositionStart += marked // positions are those of the marked text
		ddl.SubStatementPositionEnd += marked
	}
	return st.ast, nil
}

// ownInside is the error for a statement of ours where the engine takes its own only. PREPARE of a client does not come here.
func ownInside(own dialect.Statement) error {
	if u, ok := own.(dialect.Unsupported); ok {
		return sqlerr.New(sqlerr.NotSupported, "%s is not supported yet", u.What)
	}
	return sqlerr.New(sqlerr.NotSupported, "%s may not stand in the body of another statement", own.Title())
}

// modeOf is the part of the mode that options hold, with the rest from the session when there is one.
func modeOf(ctx context.Context, options sqlparser.ParserOptions) dialect.Mode {
	m := dialect.Mode{AnsiQuotes: options.AnsiQuotes, PipesAsConcat: options.PipesAsConcat}
	if c, ok := ctx.(*sql.Context); ok && c != nil && c.Session != nil {
		m.NoBackslashEscapes = sql.LoadSqlMode(c).ModeEnabled("NO_BACKSLASH_ESCAPES")
	}
	return m
}
