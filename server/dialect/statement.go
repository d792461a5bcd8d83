package dialect

import (
	"strings"

	"millrace/internal/sqlerr"
)

// Statement is a statement that the engine's parser does not see.
type Statement interface {
	// Title names the statement by its first words, such as CREATE STREAMING TABLE.
	Title() string
}

// Explain is EXPLAIN, DESC or DESCRIBE of a query.
type Explain struct {
	// Analyze asks to run the query and to report what it did.
	Analyze bool
	// Format is TREE or JSON; TREE without a FORMAT clause.
	Format string
	// Query is the original text of the explained statement. It is not rewritten yet.
	Query string
	// Sink is true when that is an InsertIntoSink.
	Sink bool
	// Pos is where Query begins in the text.
	Pos int
}

// DescribeFunction is DESCRIBE of a call of a table function.
type DescribeFunction struct {
	// Call is the original text of the call, with STREAM if it was there. It may follow FROM in a query.
	Call string
	// Pos is where Call begins in the text.
	Pos int
}

// Unsupported is a statement of the dialect that this version does not run.
type Unsupported struct {
	// What names the statement, such as CREATE STREAMING TABLE.
	What string
	// Pos is where it begins in the text.
	Pos int
}

func (Explain) Title() string          { return "EXPLAIN" }
func (DescribeFunction) Title() string { return "DESCRIBE of a call" }
func (u Unsupported) Title() string    { return u.What }

// ownStatements are the first words of statements that may be ours, or name databases.
var ownStatements = []string{"explain", "describe", "desc", "create", "alter", "drop", "show", "refresh", "backup", "export", "grant", "revoke", "use", "pause", "resume", "restore"}

func startsOwnStatement(text string) bool {
	n := 0
	for n < len(text) && isIdentifier(text[n]) {
		n++
	}
	return isOneOf(text[:n], ownStatements...)
}

// laterStatements are the opening words of statements of the dialect that are not there yet. Alternatives are separated by a bar;
// words in brackets may be missing.
var laterStatements = [][]string{
	{"CREATE", "[OR]", "[REFRESH|REPLACE]", "MATERIALIZED", "VIEW"},
	{"ALTER|DROP|SHOW", "MATERIALIZED", "VIEW|VIEWS"},
	{"SHOW", "CREATE", "MATERIALIZED", "VIEW"},
	{"REFRESH", "MATERIALIZED", "VIEW"},
	{"ALTER", "CONNECTION|CREDENTIAL"},
}

// statementOf recognises a statement of ours at the start of the tokens; nil means that the engine gets it.
func (r *rewriter) statementOf() (Statement, *sqlerr.Error) {
	if s, err := r.connectionStatement(); s != nil || err != nil {
		return s, err
	}
	if s, err := r.flowStatement(); s != nil || err != nil {
		return s, err
	}
	if s, err := r.streamingStatement(); s != nil || err != nil {
		return s, err
	}
	if s, err := r.fileStatement(); s != nil || err != nil {
		return s, err
	}
	switch first := r.tokens[0]; first.word {
	case wordExplain, wordDescribe, wordDesc:
		if err := r.otherSpelling(); err != nil {
			return nil, err
		}
		return r.explain()
	}
	if first := r.tokens[0]; first.kind != tokenWord || !isOneOf(r.text(first), ownStatements...) {
		return r.insertIntoSink()
	}
	for _, pattern := range laterStatements {
		if what, ok := r.opensWith(pattern); ok {
			return Unsupported{What: what, Pos: r.tokens[0].start}, nil
		}
	}
	return nil, r.otherSpelling()
}

// opensWith matches the tokens against a pattern of laterStatements and returns the words found.
func (r *rewriter) opensWith(pattern []string) (string, bool) {
	var found []string
	i := 0
	for _, p := range pattern {
		alternatives := strings.Trim(p, "[]")
		if t := r.tokens[i]; t.kind == tokenWord && isOneOf(r.text(t), strings.Split(alternatives, "|")...) {
			found = append(found, strings.ToUpper(r.text(t)))
			i++
		} else if p[0] != '[' {
			return "", false
		}
	}
	return strings.Join(found, " "), true
}

// explain handles EXPLAIN, DESCRIBE and DESC. Of a plain table they stay MySQL's.
func (r *rewriter) explain() (Statement, *sqlerr.Error) {
	x := Explain{Format: "TREE"}
	i := 1
	if r.tokens[i].word == wordAnalyze && !r.tokens[i+1].is('.') && r.tokens[i+1].kind != tokenEnd {
		x.Analyze = true
		i++
	}
	if r.tokens[i].word == wordFormat && r.tokens[i+1].is('=') {
		format := r.tokens[i+2]
		x.Format = strings.ToUpper(r.text(format))
		if x.Format != "TREE" && x.Format != "JSON" {
			return nil, r.errorAt(format.start, "EXPLAIN has no format '%s', allowed are TREE and JSON", shorten(r.text(format)))
		}
		i += 3
	}
	t := r.tokens[i]
	switch {
	case t.word == wordSelect, t.word == wordWith, t.word == wordInsert, t.word == wordUpdate, t.word == wordDelete, t.word == wordReplace,
		t.word == wordTable, t.word == wordValues, t.is('('):
		x.Pos, x.Query = t.start, r.textFrom(t.start)
		_, x.Sink = r.insertedSink(i)
		return x, nil
	case r.isWord(i, "extended"):
		switch next := r.tokens[i+1]; {
		case next.word == wordSelect, next.word == wordWith, next.is('('):
			return nil, r.errorAt(t.start, "EXPLAIN EXTENDED is not supported").WithHint("EXPLAIN shows everything; leave EXTENDED out")
		}
	}
	if i > 1 {
		return nil, r.errorAt(t.start, "a query is missing after EXPLAIN")
	}
	call := i
	wrapped := false
	if t.word == wordStream {
		if r.tokens[i+1].is('(') && r.tokens[i+2].named() {
			call, wrapped = i+2, true
		} else if r.tokens[i+1].named() {
			call = i + 1
		}
	}
	if c := r.chainAt(call); c.parts > 0 && r.tokens[c.next].is('(') {
		return DescribeFunction{Call: r.textFrom(t.start), Pos: t.start}, nil
	}
	if wrapped {
		return nil, r.errorAt(r.tokens[call].start, "DESCRIBE STREAM takes a call of a table function")
	}
	return nil, nil
}

// textFrom returns the original text from a position to the last token, without delimiters.
func (r *rewriter) textFrom(pos int) string {
	last := len(r.tokens) - 2
	for last > 0 && r.tokens[last].is(';') {
		last--
	}
	return r.source[pos:max(pos, r.tokens[last].end)]
}
