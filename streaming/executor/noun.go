package executor

// The nouns of a Table.
const (
	TableNoun = "streaming table"
	FlowNoun  = "flow"
)

// either gives the words of a message for a table, or for a flow, which other statements change.
func (t *Table) either(table, flow string) string {
	if t.Noun == FlowNoun {
		return flow
	}
	return table
}
