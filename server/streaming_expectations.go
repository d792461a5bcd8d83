package server

import (
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/catalog"
	"millrace/streaming"
	"millrace/streaming/executor"
)

var streamingExpectationsSchema = tableColumns("streaming_table_expectations",
	&sql.Column{Name: "name", Type: infoText(256)},
	&sql.Column{Name: "expectation", Type: infoText(65535)},
	&sql.Column{Name: "on_violation", Type: infoText(16)},
	&sql.Column{Name: "passed_records", Type: types.Int64},
	&sql.Column{Name: "failed_records", Type: types.Int64},
)

// streamingExpectationRows are the expectations of streaming tables with what they have counted since the table was made or emptied.
func (e *engine) streamingExpectationRows(c *sql.Context) []sql.Row {
	var rows []sql.Row
	e.streamingTables(c, func(n streaming.Name, t catalog.Table, x *executor.Table) {
		eachExpectation(t, x.Status().Expectations, func(x catalog.Expectation, tally executor.Tally) {
			rows = append(rows, sql.Row{n.Database, n.Table, x.Name, x.Condition, checkKinds[x.Action].String(), tally.Passed, tally.Failed})
		})
	})
	return rows
}

// eachExpectation calls do for each expectation of a table, with what it has counted.
func eachExpectation(t catalog.Table, tallies []executor.Tally, do func(catalog.Expectation, executor.Tally)) {
	for _, x := range t.Streaming.Expectations {
		tally := executor.Tally{Name: x.Name}
		for _, y := range tallies {
			if y.Name == x.Name {
				tally = y
			}
		}
		do(x, tally)
	}
}
