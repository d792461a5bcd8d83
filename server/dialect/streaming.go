package dialect

import (
	"strings"

	"millrace/internal/sqlerr"
)

// TableName is the name of a table, with that of its database where it was written.
type TableName struct{ Database, Name string }

// String is the name as SQL has it.
func (n TableName) String() string {
	if n.Database == "" {
		return quote(n.Name)
	}
	return quote(n.Database) + "." + quote(n.Name)
}

// CreateStreamingTable is CREATE [OR REFRESH] STREAMING TABLE.
type CreateStreamingTable struct {
	// Refresh is OR REFRESH: a table that exists gets this definition.
	Refresh, IfNotExists bool
	Table                TableName
	// Columns are those of the list in parentheses, nil without one.
	Columns    []StreamingColumn
	PrimaryKey []string
	// Expectations are the constraints of the list.
	Expectations []Expectation
	// Partitioned says that Cluster are the columns of PARTITIONED BY, not of CLUSTER BY.
	Partitioned bool
	Cluster     []string
	Comment     string
	Properties  []Property
	// Schedule is nil without one.
	Schedule *Schedule
	// Query is the text behind AS; it begins at Pos.
	Query string
	Pos   int
}

// Property is an entry of TBLPROPERTIES.
type Property struct {
	Name, Value string
	Pos         int
}

// RefreshStreamingTable is REFRESH [STREAMING] TABLE name [FULL] [SYNC | ASYNC].
type RefreshStreamingTable struct {
	Table       TableName
	Full, Async bool
}

// AlterStreamingTable is ALTER STREAMING TABLE. Exactly one of the actions is set.
type AlterStreamingTable struct {
	Table         TableName
	Pause, Resume bool
	Set           []Property
	// Unset are names of properties that go back to their defaults.
	Unset []string
	Add   []StreamingColumn
	// Comments are columns that get another comment.
	Comments []ColumnComment
	// Schedule is that of ADD or ALTER SCHEDULE; Replace says that it is ALTER's. DropSchedule is DROP SCHEDULE.
	Schedule     *Schedule
	Replace      bool
	DropSchedule bool
}

// ColumnComment is ALTER COLUMN name COMMENT 'text'.
type ColumnComment struct {
	Column, Comment string
	Pos             int
}

// DropStreamingTable is DROP STREAMING TABLE.
type DropStreamingTable struct {
	Table    TableName
	IfExists bool
}

// ShowStreamingTables is SHOW STREAMING TABLES [FROM db] [LIKE 'pattern'].
type ShowStreamingTables struct {
	Database string
	// Like is the pattern, with HasLike.
	Like    string
	HasLike bool
}

// ShowCreateStreamingTable is SHOW CREATE STREAMING TABLE.
type ShowCreateStreamingTable struct{ Table TableName }

// DescribeExtended is DESCRIBE EXTENDED name.
type DescribeExtended struct{ Table TableName }

func (CreateStreamingTable) Title() string     { return "CREATE STREAMING TABLE" }
func (RefreshStreamingTable) Title() string    { return "REFRESH STREAMING TABLE" }
func (AlterStreamingTable) Title() string      { return "ALTER STREAMING TABLE" }
func (DropStreamingTable) Title() string       { return "DROP STREAMING TABLE" }
func (ShowStreamingTables) Title() string      { return "SHOW STREAMING TABLES" }
func (ShowCreateStreamingTable) Title() string { return "SHOW CREATE STREAMING TABLE" }
func (DescribeExtended) Title() string         { return "DESCRIBE EXTENDED" }

// streamingStatement recognises the statements on streaming tables; nil when it is none of them.
func (r *rewriter) streamingStatement() (Statement, *sqlerr.Error) {
	switch {
	case r.words(0, "create", "or", "replace", "streaming", "table"):
		return nil, NotSupportedAt(r.source, r.tokens[1].start, "CREATE OR REPLACE STREAMING TABLE is not supported").
			WithHint("CREATE OR REFRESH STREAMING TABLE changes a table and keeps its rows; DROP TABLE and CREATE begin anew")
	case r.words(0, "create", "or", "refresh", "streaming", "table"):
		return r.createStreaming(5, true)
	case r.words(0, "create", "streaming", "table"):
		return r.createStreaming(3, false)
	case r.words(0, "refresh", "streaming", "table"):
		return r.refresh(3)
	case r.words(0, "refresh", "table"):
		return r.refresh(2)
	case r.words(0, "alter", "streaming", "table"):
		return r.alterStreaming(3)
	case r.words(0, "drop", "streaming", "table"):
		return r.dropStreaming(3)
	case r.words(0, "show", "streaming", "tables"):
		return r.showStreaming(3)
	case r.words(0, "show", "create", "streaming", "table"):
		name, next, err := r.tableName(4)
		if err != nil {
			return nil, err
		}
		return ShowCreateStreamingTable{name}, r.endAt(next)
	case r.words(0, "describe|desc", "extended") && r.tokens[2].identifier() && !r.words(2, "select|with"):
		i := 2
		if r.isWord(2, "table") && r.tokens[3].identifier() {
			i = 3
		}
		name, next, err := r.tableName(i)
		if err != nil {
			return nil, err
		}
		return DescribeExtended{name}, r.endAt(next)
	}
	return nil, nil
}

// tableName reads [[catalog.]database.]name.
func (r *rewriter) tableName(i int) (TableName, int, *sqlerr.Error) {
	if !r.tokens[i].identifier() {
		return TableName{}, i, r.errorAt(r.tokens[i].start, "the name of the table is expected")
	}
	if err := r.reservedAt(i); err != nil && !r.tokens[i+1].is('.') {
		return TableName{}, i, err
	}
	n := TableName{Name: r.name(r.tokens[i])}
	i++
	if r.tokens[i].is('.') {
		if !r.tokens[i+1].identifier() {
			return n, i, r.errorAt(r.tokens[i+1].start, "the name of the table is expected after '.'")
		}
		n.Database, n.Name = n.Name, r.name(r.tokens[i+1])
		i += 2
	}
	if r.tokens[i].is('.') && r.tokens[i+1].identifier() { // catalog.schema.table: the first two name the database, as everywhere
		n.Database, n.Name = n.Database+"."+n.Name, r.name(r.tokens[i+1])
		i += 2
	}
	if r.tokens[i].is('.') {
		return n, i, r.errorAt(r.tokens[i].start, "the name of a table has at most three parts, catalog.schema.table")
	}
	return n, i, nil
}

func (r *rewriter) createStreaming(i int, refresh bool) (Statement, *sqlerr.Error) {
	c := CreateStreamingTable{Refresh: refresh}
	if r.words(i, "if", "not", "exists") {
		if refresh {
			return nil, r.errorAt(r.tokens[i].start, "OR REFRESH and IF NOT EXISTS exclude each other")
		}
		c.IfNotExists = true
		i += 3
	}
	var err *sqlerr.Error
	if c.Table, i, err = r.tableName(i); err != nil {
		return nil, err
	}
	if r.tokens[i].is('(') {
		if i, err = r.streamingColumns(&c, i+1); err != nil {
			return nil, err
		}
	}
	seen := map[string]bool{}
	for {
		t := r.tokens[i]
		switch {
		case r.isWord(i, "as"):
			q := r.tokens[i+1]
			if q.kind == tokenEnd || q.is(';') {
				return nil, r.errorAt(q.start, "a query is expected after AS")
			}
			if err := r.lateClause(i + 1); err != nil {
				return nil, err
			}
			c.Query, c.Pos = r.textFrom(q.start), q.start
			return c, nil
		case t.kind == tokenEnd, t.is(';'):
			return nil, r.errorAt(t.start, "AS and a query are expected").WithHint("for example: AS SELECT … FROM STREAM read_kafka(bootstrapServers => 'localhost:9092', subscribe => 'topic', startingOffsets => 'earliest')")
		}
		clause, next, err := r.streamingClause(&c, i)
		if err != nil {
			return nil, err
		}
		if seen[clause] {
			return nil, r.errorAt(t.start, "%s was given before", clause)
		}
		seen[clause] = true
		if seen["PARTITIONED BY"] && seen["CLUSTER BY"] {
			return nil, r.errorAt(t.start, "PARTITIONED BY and CLUSTER BY exclude each other")
		}
		i = next
	}
}

// laterClauses are clauses of CREATE STREAMING TABLE that are not there yet.
var laterClauses = [][]string{
	{"DEFAULT", "COLLATION"}, {"WITH", "ROW", "FILTER"}, {"FLOW"}, {"USING"}, {"LOCATION"},
}

// streamingClause reads one clause behind the columns and names it.
func (r *rewriter) streamingClause(c *CreateStreamingTable, i int) (clause string, next int, err *sqlerr.Error) {
	switch {
	case r.words(i, "tblproperties"):
		c.Properties, next, err = r.properties(i + 1)
		return "TBLPROPERTIES", next, err
	case r.words(i, "partitioned", "by"):
		c.Cluster, next, err = r.nameList(i + 2)
		c.Partitioned = true
		return "PARTITIONED BY", next, err
	case r.words(i, "cluster", "by", "auto"):
		return "", i, NotSupportedAt(r.source, r.tokens[i].start, "CLUSTER BY AUTO is not supported").WithHint("name the columns: CLUSTER BY (a, b)")
	case r.words(i, "cluster", "by"):
		c.Cluster, next, err = r.nameList(i + 2)
		return "CLUSTER BY", next, err
	}
	if r.words(i, "comment") {
		c.Comment, next, err = r.comment(i)
		return "COMMENT", next, err
	}
	if r.words(i, "schedule") || r.words(i, "trigger", "on", "update") {
		c.Schedule, next, err = r.schedule(i)
		return "a schedule", next, err
	}
	for _, later := range laterClauses {
		if r.words(i, later...) {
			return "", i, NotSupportedAt(r.source, r.tokens[i].start, "%s of a streaming table is not supported yet", strings.Join(later, " "))
		}
	}
	return "", i, r.errorAt(r.tokens[i].start, "unexpected '%s'", shorten(r.shown(r.tokens[i]))).WithHint("clauses are PARTITIONED BY (…), CLUSTER BY (…), COMMENT '…', TBLPROPERTIES (…), SCHEDULE …, TRIGGER ON UPDATE … and AS query")
}

// nameList reads (name, …).
func (r *rewriter) nameList(i int) (names []string, next int, err *sqlerr.Error) {
	if !r.tokens[i].is('(') {
		return nil, i, r.errorAt(r.tokens[i].start, "names of columns in parentheses are expected")
	}
	for {
		t := r.tokens[i+1]
		if !t.identifier() {
			return nil, i, r.errorAt(t.start, "the name of a column is expected")
		}
		names = append(names, r.name(t))
		switch t := r.tokens[i+2]; {
		case t.is(','):
			i += 2
		case t.is(')'):
			return names, i + 3, nil
		default:
			return nil, i, r.errorAt(t.start, "a comma or the closing parenthesis is expected")
		}
	}
}

// propertyNames reads ('name', …); names may be written without quotes.
func (r *rewriter) propertyNames(i int) (list []string, next int, err *sqlerr.Error) {
	if !r.tokens[i].is('(') {
		return nil, i, r.errorAt(r.tokens[i].start, "names of properties in parentheses are expected, such as ('retention')")
	}
	for i++; ; i++ {
		var name string
		if name, i, err = r.propertyName(i); err != nil {
			return nil, i, err
		}
		list = append(list, name)
		switch t := r.tokens[i]; {
		case t.is(','):
		case t.is(')'):
			return list, i + 1, nil
		default:
			return nil, i, r.errorAt(t.start, "a comma or the closing parenthesis of the properties is expected")
		}
	}
}

// propertyName reads a name in quotes, or one with dots.
func (r *rewriter) propertyName(i int) (name string, next int, err *sqlerr.Error) {
	switch t := r.tokens[i]; {
	case t.kind == tokenString:
		return r.stringValue(t), i + 1, nil
	case t.identifier():
		c := r.chainAt(i)
		return r.source[t.start:r.tokens[c.next-1].end], c.next, nil
	default:
		return "", i, r.errorAt(t.start, "the name of a property is expected")
	}
}

// properties reads ('name' = 'value', …); names may be written without quotes, values may be numbers.
func (r *rewriter) properties(i int) (list []Property, next int, err *sqlerr.Error) {
	if !r.tokens[i].is('(') {
		return nil, i, r.errorAt(r.tokens[i].start, "properties in parentheses are expected, such as ('trigger' = 'manual')")
	}
	i++
	for {
		p := Property{Pos: r.tokens[i].start}
		if p.Name, i, err = r.propertyName(i); err != nil {
			return nil, i, err
		}
		if !r.tokens[i].is('=') {
			return nil, i, r.errorAt(r.tokens[i].start, "= and the value of property '%s' are expected", shorten(p.Name))
		}
		switch t := r.tokens[i+1]; {
		case t.kind == tokenString:
			p.Value = r.stringValue(t)
		case t.kind == tokenNumber, r.isWord(i+1, "true"), r.isWord(i+1, "false"):
			p.Value = r.text(t)
		default:
			return nil, i, r.errorAt(t.start, "the value of property '%s' is expected: text or a number", shorten(p.Name))
		}
		list = append(list, p)
		i += 2
		switch t := r.tokens[i]; {
		case t.is(','):
			i++
		case t.is(')'):
			return list, i + 1, nil
		default:
			return nil, i, r.errorAt(t.start, "a comma or the closing parenthesis of the properties is expected")
		}
	}
}

func (r *rewriter) refresh(i int) (Statement, *sqlerr.Error) {
	var s RefreshStreamingTable
	var err *sqlerr.Error
	if s.Table, i, err = r.tableName(i); err != nil {
		return nil, err
	}
	if r.isWord(i, "where") {
		return nil, NotSupportedAt(r.source, r.tokens[i].start, "REFRESH … WHERE is not supported")
	}
	if r.isWord(i, "full") {
		s.Full = true
		i++
	}
	switch {
	case r.isWord(i, "async"):
		s.Async = true
		i++
	case r.isWord(i, "sync"):
		i++
	}
	return s, r.endAt(i)
}

func (r *rewriter) alterStreaming(i int) (Statement, *sqlerr.Error) {
	var s AlterStreamingTable
	var err *sqlerr.Error
	if s.Table, i, err = r.tableName(i); err != nil {
		return nil, err
	}
	switch {
	case r.words(i, "pause"):
		s.Pause = true
		i++
	case r.words(i, "resume"):
		s.Resume = true
		i++
	case r.words(i, "set", "tblproperties"):
		if s.Set, i, err = r.properties(i + 2); err != nil {
			return nil, err
		}
	case r.words(i, "unset", "tblproperties"):
		i += 2
		if r.words(i, "if", "exists") {
			i += 2
		}
		if s.Unset, i, err = r.propertyNames(i); err != nil {
			return nil, err
		}
	case r.words(i, "add|alter", "schedule|trigger"):
		s.Replace = r.isWord(i, "alter")
		if s.Schedule, i, err = r.schedule(i + 1); err != nil {
			return nil, err
		}
	case r.words(i, "drop", "schedule"):
		s.DropSchedule = true
		i += 2
	case r.words(i, "alter", "column"):
		if i, err = r.columnComment(&s, i+2); err != nil {
			return nil, err
		}
	case r.words(i, "add", "column|columns"):
		i += 2
		list := r.tokens[i].is('(')
		if list {
			i++
		}
		for {
			var col StreamingColumn
			if col, _, i, err = r.streamingColumn(i, false); err != nil {
				return nil, err
			}
			s.Add = append(s.Add, col)
			if !list || !r.tokens[i].is(',') {
				break
			}
			i++
		}
		if list {
			if !r.tokens[i].is(')') {
				return nil, r.errorAt(r.tokens[i].start, "a comma or the closing parenthesis of the columns is expected")
			}
			i++
		}
	default:
		return nil, r.errorAt(r.tokens[i].start, "PAUSE, RESUME, SET or UNSET TBLPROPERTIES (…), ADD COLUMN, ALTER COLUMN, ADD, ALTER or DROP SCHEDULE is expected").
			WithHint("the query of a table is changed by CREATE OR REFRESH STREAMING TABLE")
	}
	return s, r.endAt(i)
}

func (r *rewriter) dropStreaming(i int) (Statement, *sqlerr.Error) {
	var s DropStreamingTable
	if r.words(i, "if", "exists") {
		s.IfExists = true
		i += 2
	}
	var err *sqlerr.Error
	if s.Table, i, err = r.tableName(i); err != nil {
		return nil, err
	}
	return s, r.endAt(i)
}

func (r *rewriter) showStreaming(i int) (Statement, *sqlerr.Error) {
	var s ShowStreamingTables
	if r.words(i, "from|in") {
		if !r.tokens[i+1].identifier() {
			return nil, r.errorAt(r.tokens[i+1].start, "the name of a database is expected")
		}
		s.Database = r.name(r.tokens[i+1])
		i += 2
	}
	if r.words(i, "like") {
		if r.tokens[i+1].kind != tokenString {
			return nil, r.errorAt(r.tokens[i+1].start, "a pattern in quotes is expected after LIKE")
		}
		s.Like, s.HasLike = r.stringValue(r.tokens[i+1]), true
		i += 2
	}
	return s, r.endAt(i)
}
