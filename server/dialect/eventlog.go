package dialect

// eventLogColumns are the columns of event_log() by what they are of information_schema.streaming_event_log, with the names that Databricks gives them.
const eventLogColumns = "id, JSON_OBJECT('control_plane_event_seq', id) AS sequence, JSON_OBJECT('dataset_name', concat(table_schema, '.', table_name)) AS origin, timestamp, message, level, " +
	"'STABLE' AS maturity_level, CASE WHEN level = 'ERROR' THEN message END AS error, details, event_type"

// eventLog handles event_log(TABLE(name)), event_log(FLOW(name)) and event_log(name) where a table may stand: the log of a streaming table, or of a flow. It becomes a derived table, for the argument is a
// name, which no table function can take.
func (r *rewriter) eventLog() bool {
	start := r.tokens[r.at]
	if !r.isWord(r.at, "event_log") || !r.tokens[r.at+1].is('(') {
		return false
	}
	i := r.at + 2
	wrapped := r.words(i, "table|flow") && r.tokens[i+1].is('(')
	if wrapped {
		i += 2
	}
	name, next, err := r.tableName(i)
	if err != nil {
		r.fail(err.WithHint("event_log(TABLE(db.t)) shows the log of streaming table db.t, event_log(FLOW(db.f)) that of flow db.f"))
		return true
	}
	for range 1 + b2i(wrapped) {
		if !r.tokens[next].is(')') {
			r.fail(r.errorAt(r.tokens[next].start, "a closing parenthesis is expected after the name"))
			return true
		}
		next++
	}
	database := "database()"
	if name.Database != "" {
		database = literal(name.Database)
	}
	text := "(SELECT " + eventLogColumns + " FROM information_schema.streaming_event_log WHERE table_schema = " + database + " AND table_name = " + literal(name.Name) + ")"
	if after := r.tokens[next]; after.word != wordAs && !after.named() {
		text += " AS event_log"
	}
	r.logs = append(r.logs, name)
	r.replace(start.start, r.tokens[next-1].end, text)
	r.at = next
	r.top().wantTable = false
	r.noOperand()
	return true
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
