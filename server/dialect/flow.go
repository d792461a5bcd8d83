package dialect

import "millrace/internal/sqlerr"

// CreateFlow is CREATE FLOW name [COMMENT 'text'] AS INSERT INTO write_kafka(…) [BY NAME] query.
type CreateFlow struct {
	IfNotExists bool
	Flow        TableName
	Comment     string
	Sink        Sink
}

// DropFlow is DROP FLOW [IF EXISTS] name.
type DropFlow struct {
	Flow     TableName
	IfExists bool
}

// AlterFlow is ALTER FLOW name PAUSE or RESUME.
type AlterFlow struct {
	Flow  TableName
	Pause bool
}

// ShowFlows is SHOW FLOWS [FROM db] [LIKE 'pattern'].
type ShowFlows struct{ ShowStreamingTables }

// ShowCreateFlow is SHOW CREATE FLOW name.
type ShowCreateFlow struct{ Flow TableName }

func (CreateFlow) Title() string     { return "CREATE FLOW" }
func (DropFlow) Title() string       { return "DROP FLOW" }
func (AlterFlow) Title() string      { return "ALTER FLOW" }
func (ShowFlows) Title() string      { return "SHOW FLOWS" }
func (ShowCreateFlow) Title() string { return "SHOW CREATE FLOW" }

// flowStatement recognises the statements on flows; nil when it is none of them.
func (r *rewriter) flowStatement() (Statement, *sqlerr.Error) {
	switch {
	case r.words(0, "create", "or", "replace|refresh", "flow"):
		return nil, NotSupportedAt(r.source, r.tokens[1].start, "a flow cannot be replaced").WithHint("DROP FLOW and CREATE FLOW make another, which begins where its startingOffsets say")
	case r.words(0, "create", "flow"):
		return r.createFlow(2)
	case r.words(0, "drop", "flow"):
		var s DropFlow
		i := 2
		if r.words(i, "if", "exists") {
			s.IfExists = true
			i += 2
		}
		name, next, err := r.tableName(i)
		if err != nil {
			return nil, err
		}
		s.Flow = name
		return s, r.endAt(next)
	case r.words(0, "alter", "flow"):
		name, next, err := r.tableName(2)
		if err != nil {
			return nil, err
		}
		if !r.words(next, "pause|resume") {
			return nil, r.errorAt(r.tokens[next].start, "PAUSE or RESUME is expected")
		}
		return AlterFlow{name, r.isWord(next, "pause")}, r.endAt(next + 1)
	case r.words(0, "show", "flows"):
		s, err := r.showStreaming(2)
		if err != nil {
			return nil, err
		}
		return ShowFlows{s.(ShowStreamingTables)}, nil
	case r.words(0, "show", "create", "flow"):
		name, next, err := r.tableName(3)
		if err != nil {
			return nil, err
		}
		return ShowCreateFlow{name}, r.endAt(next)
	}
	return nil, nil
}

func (r *rewriter) createFlow(i int) (Statement, *sqlerr.Error) {
	var s CreateFlow
	if r.words(i, "if", "not", "exists") {
		s.IfNotExists = true
		i += 3
	}
	var err *sqlerr.Error
	if s.Flow, i, err = r.tableName(i); err != nil {
		return nil, err
	}
	if r.words(i, "comment") && r.tokens[i+1].kind == tokenString {
		s.Comment = r.stringValue(r.tokens[i+1])
		i += 2
	}
	if !r.isWord(i, "as") {
		return nil, r.errorAt(r.tokens[i].start, "AS INSERT INTO %s(…) and a query are expected", sinkName)
	}
	i++
	if err := r.otherInsert(i); err != nil {
		return nil, err
	}
	at, ok := r.insertedSink(i)
	switch {
	case ok:
	case r.words(i, "auto", "cdc"):
		return nil, NotSupportedAt(r.source, r.tokens[i].start, "AUTO CDC is not supported yet")
	case r.tokens[at].kind == tokenWord && (r.isWord(at, "once") || r.words(i, "insert", "once")):
		return nil, NotSupportedAt(r.source, r.tokens[i].start, "INSERT ONCE is not supported").WithHint("INSERT INTO %s(…) SELECT … without CREATE FLOW writes once", sinkName)
	case r.tokens[i].word == wordInsert:
		return nil, NotSupportedAt(r.source, r.tokens[at].start, "a flow into a table is not supported yet").WithHint("CREATE STREAMING TABLE … AS SELECT … fills a table; a flow writes to %s(…)", sinkName)
	default:
		return nil, r.errorAt(r.tokens[i].start, "INSERT INTO %s(…) and a query are expected", sinkName)
	}
	if s.Sink, err = r.sink(at); err != nil {
		return nil, err
	}
	switch {
	case s.Sink.Values:
		return nil, NotSupportedAt(r.source, s.Sink.Pos, "a flow writes what a STREAM brings, and VALUES have an end").WithHint("INSERT INTO %s(…) (…) VALUES … without CREATE FLOW writes them once", sinkName)
	case s.Sink.Columns != nil:
		return nil, NotSupportedAt(r.source, r.tokens[at].start, "a flow takes no list of columns").WithHint("name the columns of its query: SELECT … AS key, … AS value")
	}
	return s, nil
}
