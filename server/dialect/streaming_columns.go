package dialect

import (
	"strings"

	"millrace/internal/sqlerr"
)

// StreamingColumn is a column that a definition names.
type StreamingColumn struct {
	Name string
	// Type is what CREATE TABLE of MySQL calls it; Written is what the user wrote, and Cast what a cast to it is written as, empty when there is none. All are
	// empty when the column has the type of the query.
	Type, Written, Cast string
	NotNull             bool
	// Default and Generated are the texts of the expressions that give the column its values, empty without one.
	Default, Generated string
	Comment            string
	Pos                int
}

// Expectation is CONSTRAINT name EXPECT (condition) [ON VIOLATION action].
type Expectation struct {
	Name      string
	Condition string
	// Action is DROP ROW, FAIL UPDATE, or empty: the row is kept and counted.
	Action string
	Pos    int
}

// The actions of expectations.
const (
	DropRow    = "DROP ROW"
	FailUpdate = "FAIL UPDATE"
)

// streamingColumns reads the list of columns and constraints behind the opening parenthesis.
func (r *rewriter) streamingColumns(c *CreateStreamingTable, i int) (int, *sqlerr.Error) {
	for {
		var err *sqlerr.Error
		switch {
		case r.words(i, "primary", "key"):
			if i, err = r.primaryKey(c, i); err != nil {
				return i, err
			}
		case r.words(i, "constraint") && r.tokens[i+1].identifier() && r.words(i+2, "primary", "key"): // the name of an informational key says nothing
			if i, err = r.primaryKey(c, i+2); err != nil {
				return i, err
			}
		case r.words(i, "constraint"):
			if i, err = r.expectation(c, i+1); err != nil {
				return i, err
			}
		case r.words(i, "foreign", "key"):
			return i, NotSupportedAt(r.source, r.tokens[i].start, "FOREIGN KEY of a streaming table is not supported yet")
		default:
			var col StreamingColumn
			var key bool
			if col, key, i, err = r.streamingColumn(i, true); err != nil {
				return i, err
			}
			if key {
				if c.PrimaryKey != nil {
					return i, r.errorAt(col.Pos, "PRIMARY KEY was given before")
				}
				c.PrimaryKey = []string{col.Name}
			}
			c.Columns = append(c.Columns, col)
		}
		switch t := r.tokens[i]; {
		case t.is(','):
			i++
		case t.is(')'):
			return i + 1, nil
		default:
			return i, r.errorAt(t.start, "a comma or the closing parenthesis of the columns is expected")
		}
	}
}

func (r *rewriter) primaryKey(c *CreateStreamingTable, i int) (next int, err *sqlerr.Error) {
	if c.PrimaryKey != nil {
		return i, r.errorAt(r.tokens[i].start, "PRIMARY KEY was given before")
	}
	c.PrimaryKey, next, err = r.nameList(i + 2)
	return next, err
}

// expectation reads name EXPECT (condition) [ON VIOLATION {DROP ROW | FAIL UPDATE}].
func (r *rewriter) expectation(c *CreateStreamingTable, i int) (int, *sqlerr.Error) {
	t := r.tokens[i]
	if !t.identifier() || !r.isWord(i+1, "expect") {
		return i, NotSupportedAt(r.source, t.start, "this CONSTRAINT of a streaming table is not supported").WithHint("a constraint is CONSTRAINT name EXPECT (condition), or PRIMARY KEY (…)")
	}
	e := Expectation{Name: r.name(t), Pos: t.start}
	for _, other := range c.Expectations {
		if strings.EqualFold(other.Name, e.Name) {
			return i, r.errorAt(t.start, "an expectation '%s' was given before", shorten(e.Name))
		}
	}
	var err *sqlerr.Error
	if e.Condition, i, err = r.parenthesised(i+2, "the condition of the expectation"); err != nil {
		return i, err
	}
	if r.words(i, "on", "violation") {
		switch {
		case r.words(i+2, "drop", "row"):
			e.Action = DropRow
		case r.words(i+2, "fail", "update"):
			e.Action = FailUpdate
		default:
			return i, r.errorAt(r.tokens[i+2].start, "DROP ROW or FAIL UPDATE is expected after ON VIOLATION")
		}
		i += 4
	}
	c.Expectations = append(c.Expectations, e)
	return i, nil
}

// parenthesised reads (expression) and gives the text between the parentheses.
func (r *rewriter) parenthesised(i int, what string) (text string, next int, err *sqlerr.Error) {
	if !r.tokens[i].is('(') {
		return "", i, r.errorAt(r.tokens[i].start, "%s in parentheses is expected", what)
	}
	end := r.expressionEnd(i+1, false)
	if !r.tokens[end].is(')') {
		return "", i, r.errorAt(r.tokens[end].start, "the closing parenthesis behind %s is expected", what)
	}
	if end == i+1 {
		return "", i, r.errorAt(r.tokens[end].start, "%s is expected", what)
	}
	return r.source[r.tokens[i+1].start:r.tokens[end-1].end], end + 1, nil
}

// expressionEnd is the token behind an expression: a comma or a closing parenthesis of the list that it stands in, the end of the statement, and for an
// expression of a column the word that begins the next clause.
func (r *rewriter) expressionEnd(i int, ofColumn bool) int {
	depth := 0
	for ; r.tokens[i].kind != tokenEnd; i++ {
		switch t := r.tokens[i]; {
		case t.is('('):
			depth++
		case t.is(')'):
			if depth == 0 {
				return i
			}
			depth--
		case depth > 0:
		case t.is(';'):
			return i
		case ofColumn && t.is(','):
			return i
		case ofColumn && (r.words(i, "comment") || r.words(i, "not", "null") || r.words(i, "primary", "key") || r.words(i, "generated") || r.words(i, "default")):
			return i
		}
	}
	return i
}

// laterColumn are what may follow a column's type and is not there yet.
var laterColumn = [][]string{{"MASK"}, {"CONSTRAINT"}, {"REFERENCES"}, {"GENERATED", "BY", "DEFAULT"}, {"GENERATED", "ALWAYS", "AS", "IDENTITY"}}

// ddlTypes are the types of casts as CREATE TABLE of MySQL names them.
var ddlTypes = map[string]string{"STRING": "LONGTEXT", "BINARY": "LONGBLOB", "TIMESTAMP": "DATETIME(6)", "TIMESTAMP_NTZ": "DATETIME(6)"}

// mysqlColumns are types of MySQL that a column may have and a cast does not name.
const mysqlColumns = "varchar|char|varbinary|datetime|time|tinytext|text|mediumtext|longtext|tinyblob|blob|mediumblob|longblob|tinyint|smallint|mediumint|int|bigint|float|double"

// mysqlWidest are the types of MySQL that a type of casts is kept as.
var mysqlWidest = map[string]string{"longtext": "STRING", "longblob": "BINARY", "datetime(6)": "TIMESTAMP_NTZ"}

// untyped reports whether the list goes on at token i in place of a type.
func (r *rewriter) untyped(i int) bool {
	return r.tokens[i].is(',') || r.tokens[i].is(')') || r.words(i, "not|primary|comment|default|generated")
}

// columnType reads a type: one that a cast takes, or one of MySQL.
func (r *rewriter) columnType(col *StreamingColumn, i int) (int, *sqlerr.Error) {
	first := i
	mysql := r.words(i, mysqlColumns) && (r.tokens[i+1].is('(') && r.tokens[i+2].kind == tokenNumber || r.words(i+1, "unsigned|collate|character"))
	if mysql || r.words(i, "datetime|time|tinytext|mediumtext|longtext|tinyblob|blob|mediumblob|longblob|mediumint") {
		i++
		if r.tokens[i].is('(') && r.tokens[i+1].kind == tokenNumber && r.tokens[i+2].is(')') {
			i += 3
		}
		if r.words(i, "unsigned") {
			i++
		}
		if r.words(i, "character", "set") && r.tokens[i+2].identifier() {
			i += 3
		}
		if r.words(i, "collate") && r.tokens[i+1].identifier() {
			i += 2
		}
		col.Written = r.source[r.tokens[first].start:r.tokens[i-1].end]
		col.Type, col.Cast = col.Written, mysqlWidest[strings.ToLower(col.Written)]
		return i, nil
	}
	var err *sqlerr.Error
	if col.Type, i, err = r.castType(i, "the name of the column"); err != nil {
		return i, err
	}
	if other, ok := ddlTypes[col.Type]; ok {
		col.Type = other
	}
	col.Written = r.source[r.tokens[first].start:r.tokens[i-1].end]
	col.Cast = col.Written
	return i, nil
}

// streamingColumn reads name [type] [NOT NULL] [COMMENT 's'] [DEFAULT e] [GENERATED ALWAYS AS (e)] [PRIMARY KEY], what follows the type in any order. A column of a
// table that has a query may have the type of that.
func (r *rewriter) streamingColumn(i int, ofQuery bool) (col StreamingColumn, key bool, next int, err *sqlerr.Error) {
	t := r.tokens[i]
	if !t.identifier() {
		return col, false, i, r.errorAt(t.start, "the name of a column is expected")
	}
	if err := r.reservedAt(i); err != nil {
		return col, false, i, err
	}
	col = StreamingColumn{Name: r.name(t), Pos: t.start}
	i++
	if ofQuery && r.untyped(i) {
		// the rules follow
	} else if i, err = r.columnType(&col, i); err != nil {
		return col, false, i, err
	}
	for {
		at := r.tokens[i].start
		for _, later := range laterColumn {
			if r.words(i, later...) {
				return col, key, i, NotSupportedAt(r.source, at, "%s of a column of a streaming table is not supported yet", strings.Join(later, " "))
			}
		}
		switch {
		case r.words(i, "not", "null") && !col.NotNull:
			col.NotNull = true
			i += 2
		case r.words(i, "comment") && col.Comment == "":
			if col.Comment, i, err = r.comment(i); err != nil {
				return col, key, i, err
			}
		case r.words(i, "default") && col.Default == "":
			end := r.expressionEnd(i+1, true)
			if end == i+1 {
				return col, key, i, r.errorAt(r.tokens[end].start, "an expression is expected after DEFAULT")
			}
			col.Default = r.source[r.tokens[i+1].start:r.tokens[end-1].end]
			i = end
		case r.words(i, "generated", "always", "as") && col.Generated == "":
			if col.Generated, i, err = r.parenthesised(i+3, "the expression of the column"); err != nil {
				return col, key, i, err
			}
		case r.words(i, "primary", "key") && !key:
			key = true
			i += 2
		case r.isWord(i, "as") && r.tokens[i+1].is('('):
			return col, key, i, r.errorAt(at, "GENERATED ALWAYS is expected before AS").WithHint("%s %s GENERATED ALWAYS AS (expression)", quote(col.Name), col.Written)
		case r.isWord(i, "expect"), r.isWord(i, "check") && r.tokens[i+1].is('('):
			return col, key, i, r.errorAt(at, "an expectation is an entry of the list of its own").WithHint("CONSTRAINT name EXPECT (condition) behind the columns")
		default:
			if col.Default != "" && col.Generated != "" {
				return col, key, i, r.errorAt(col.Pos, "column '%s' has both DEFAULT and GENERATED", shorten(col.Name))
			}
			return col, key, i, nil
		}
	}
}

// comment reads COMMENT 'text'.
func (r *rewriter) comment(i int) (text string, next int, err *sqlerr.Error) {
	t := r.tokens[i+1]
	if t.kind != tokenString {
		return "", i, r.errorAt(t.start, "a text in quotes is expected after COMMENT")
	}
	return r.stringValue(t), i + 2, nil
}

// columnComment reads name COMMENT 'text' behind ALTER COLUMN.
func (r *rewriter) columnComment(s *AlterStreamingTable, i int) (int, *sqlerr.Error) {
	t := r.tokens[i]
	if !t.identifier() {
		return i, r.errorAt(t.start, "the name of a column is expected")
	}
	c := ColumnComment{Column: r.name(t), Pos: t.start}
	if !r.words(i+1, "comment") {
		return i, NotSupportedAt(r.source, r.tokens[i+1].start, "of a column only the comment can be altered").
			WithHint("ALTER COLUMN %s COMMENT '…'; types and expressions are changed by CREATE OR REFRESH STREAMING TABLE", quote(c.Column))
	}
	var err *sqlerr.Error
	if c.Comment, i, err = r.comment(i + 1); err != nil {
		return i, err
	}
	s.Comments = append(s.Comments, c)
	return i, nil
}
