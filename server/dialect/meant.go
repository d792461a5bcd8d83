package dialect

import (
	"strings"

	"millrace/internal/sqlerr"
)

// This file tells statements of ours that are written as other systems, or other statements, have them from unknown ones.

// spellings are openings of statements that are not there → what is written instead. NAME stands for the name behind the opening, if there is one, and for name without.
var spellings = []struct {
	words []string
	named bool // only with a name behind the words
	hint  string
}{
	{words: []string{"pause|resume", "streaming", "table"}, hint: "ALTER STREAMING TABLE NAME VERB"},
	{words: []string{"pause|resume", "flow"}, hint: "ALTER FLOW NAME VERB"},
	{words: []string{"pause|resume"}, hint: "ALTER STREAMING TABLE NAME VERB, or ALTER FLOW NAME VERB"},
	{words: []string{"refresh", "flow"}, named: true, hint: "a flow follows its topics by itself; ALTER FLOW NAME RESUME goes on where it stopped"},
	{words: []string{"refresh"}, named: true, hint: "REFRESH STREAMING TABLE NAME"},
	{words: []string{"show", "streaming", "table"}, hint: "SHOW STREAMING TABLES LIKE 'NAME', SHOW CREATE STREAMING TABLE NAME, or DESCRIBE EXTENDED NAME"},
	{words: []string{"show", "streaming", "flow|flows"}, hint: "SHOW FLOWS"},
	{words: []string{"show", "flow"}, hint: "SHOW FLOWS LIKE 'NAME', or SHOW CREATE FLOW NAME"},
	{words: []string{"describe|desc", "streaming", "table"}, named: true, hint: "DESCRIBE NAME, or DESCRIBE EXTENDED NAME"},
	{words: []string{"describe|desc", "flow"}, named: true, hint: "SHOW CREATE FLOW NAME, or SHOW FLOWS LIKE 'NAME'"},
	{words: []string{"show", "topics"}, hint: "SELECT topic FROM kafka_topics(bootstrapServers => 'broker:9092')"},
	{words: []string{"restore"}, hint: "a backup is a data folder: start a server on it, millrace serve --data-dir FOLDER"},
	{words: []string{"backup", "table"}, hint: "BACKUP TO 'folder' copies all tables; EXPORT (SELECT * FROM NAME) TO 'file' FORMAT parquet writes one"},
	{words: []string{"backup"}, hint: "BACKUP TO 'folder'"},
	{words: []string{"export"}, hint: "EXPORT (SELECT …) TO 'orders.parquet' FORMAT parquet"},
}

// otherSpelling is the error for a statement that begins as one of spellings does. Statements of ours have been looked for before.
func (r *rewriter) otherSpelling() *sqlerr.Error {
	for _, s := range spellings {
		if !r.words(0, s.words...) {
			continue
		}
		i := len(s.words)
		t := r.tokens[i]
		if s.named && !t.identifier() {
			continue
		}
		if t.is('.') || t.is('(') && !r.isWord(0, "export") { // a name that is none of the words
			continue
		}
		name := "name"
		if t.identifier() {
			if n, _, err := r.tableName(i); err == nil {
				name = n.shown()
			}
		}
		opening := strings.ToUpper(r.source[r.tokens[0].start:r.tokens[i-1].end])
		hint := strings.NewReplacer("NAME", name, "VERB", strings.ToUpper(r.text(r.tokens[0]))).Replace(s.hint)
		if r.isWord(0, "export") {
			return r.errorAt(t.start, "a query in parentheses is expected after EXPORT").WithHint("%s", hint)
		}
		if r.words(0, "backup") && len(s.words) == 1 {
			return r.errorAt(t.start, "TO and the name of a folder in quotes are expected after BACKUP").WithHint("%s", hint)
		}
		return r.errorAt(r.tokens[0].start, "there is no statement %s", strings.Join(strings.Fields(opening), " ")).WithHint("%s", hint)
	}
	return nil
}

// shown is the name as a user would write it.
func (n TableName) shown() string {
	part := func(s string) string {
		for i := range len(s) {
			if !isIdentifier(s[i]) {
				return quote(s)
			}
		}
		if s == "" || Reserved(s) {
			return quote(s)
		}
		return s
	}
	if n.Database == "" {
		return part(n.Name)
	}
	return part(n.Database) + "." + part(n.Name)
}

// lateClause is the error for a clause of CREATE STREAMING TABLE that stands behind its query, which begins at token i; nil without one.
func (r *rewriter) lateClause(i int) *sqlerr.Error {
	for depth := 0; r.tokens[i].kind != tokenEnd; i++ {
		switch t := r.tokens[i]; {
		case t.is('('):
			depth++
		case t.is(')'):
			depth--
		}
		if depth > 0 || r.tokens[i].kind != tokenWord {
			continue
		}
		for _, c := range lateClauses {
			if r.words(i, c...) && (len(c) > 1 || r.tokens[i+1].is('(')) {
				return r.errorAt(r.tokens[i].start, "%s stands before AS and the query", strings.ToUpper(r.text(r.tokens[i]))).
					WithHint("CREATE STREAMING TABLE name [(columns)] [clauses] AS SELECT …")
			}
		}
	}
	return nil
}

// lateClauses are the openings of clauses that nothing in a query begins with. One word needs a parenthesis behind it.
var lateClauses = [][]string{{"schedule", "every|cron|refresh"}, {"trigger", "on", "update"}, {"tblproperties"}, {"cluster", "by"}, {"partitioned", "by"}}
