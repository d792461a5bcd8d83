package catalog

import (
	"slices"
	"strings"
)

// Table is the definition of a table whose rows lie in the store. What its maps and slices hold is not changed once it is in the catalog.
type Table struct {
	Name string `json:"name"`
	// ID is the table's in the store. No two tables ever have the same, so what a dropped one left there is nobody else's.
	ID string `json:"id"`
	// Columns is what CREATE TABLE has between its parentheses.
	Columns string `json:"columns"`
	// PrimaryKey are the columns of its PRIMARY KEY, which is for show: nothing enforces it, and no plan may believe in it.
	PrimaryKey []string `json:"primary_key,omitempty"`
	Collation  string   `json:"collation,omitempty"`
	Comment    string   `json:"comment,omitempty"`
	// Streaming is nil for an ordinary table.
	Streaming *Streaming `json:"streaming,omitempty"`
}

// Streaming is the definition of a streaming table.
type Streaming struct {
	// Create is the statement, Query the query in it, as the user wrote them; SQLMode and Database are those of the session, in which they must be read.
	Create   string `json:"create"`
	Query    string `json:"query"`
	SQLMode  string `json:"sql_mode"`
	Database string `json:"database"`
	// User and Host are the account whose privileges the query runs with: who made the table.
	User string `json:"user"`
	Host string `json:"host"`
	// Sink is the call of write_kafka that the rows go to, of a flow; empty for a table, which keeps them.
	Sink string `json:"sink,omitempty"`
	// Properties are those of TBLPROPERTIES.
	Properties map[string]string `json:"properties,omitempty"`
	// Columns are those that the statement lists, nil when they are those of the query.
	Columns []StreamingColumn `json:"columns,omitempty"`
	// Schemas are the versions of subjects in a schema registry that the query takes its columns of.
	Schemas map[string]int `json:"schemas,omitempty"`
	// Samples are the columns of records, by "key" and "value", as a sample had them when the table was made.
	Samples map[string]string `json:"samples,omitempty"`
	// Expectations are conditions on rows.
	Expectations []Expectation `json:"expectations,omitempty"`
	// Schedule says when the table reads, nil when it reads all the time or, by a property, only when it is asked to.
	Schedule *Schedule `json:"schedule,omitempty"`
	// Paused is set by ALTER STREAMING TABLE … PAUSE.
	Paused bool `json:"paused,omitempty"`
	// Refreshed and Resumed count the statements REFRESH and RESUME: so a server notices those that another one has run.
	Refreshed int64 `json:"refreshed,omitempty"`
	Resumed   int64 `json:"resumed,omitempty"`
}

// StreamingColumn is a column that the definition of a streaming table lists. Expressions are those of the dialect.
type StreamingColumn struct {
	Name string `json:"name"`
	// Cast is the type as a cast has it, empty when no cast names it.
	Cast    string `json:"cast,omitempty"`
	NotNull bool   `json:"not_null,omitempty"`
	// Default gives the values of a column that the query does not have, Generated those of one that is computed from the others.
	Default   string `json:"default,omitempty"`
	Generated string `json:"generated,omitempty"`
	Comment   string `json:"comment,omitempty"`
}

// Schedule is SCHEDULE or TRIGGER ON UPDATE.
type Schedule struct {
	// Every and Unit, such as 5 and MINUTE, are those of EVERY and AT MOST EVERY.
	Every int    `json:"every,omitempty"`
	Unit  string `json:"unit,omitempty"`
	// Cron is an expression of Quartz, read in a time zone.
	Cron     string `json:"cron,omitempty"`
	Zone     string `json:"zone,omitempty"`
	OnUpdate bool   `json:"on_update,omitempty"`
	// Since is when it was made, in milliseconds since 1970. The times of EVERY are counted from it.
	Since int64 `json:"since"`
}

// Expectation is a condition that each row of a streaming table is checked against.
type Expectation struct {
	Name      string `json:"name"`
	Condition string `json:"condition"`
	// Action is DROP ROW, FAIL UPDATE, or empty: the row is kept and counted.
	Action string `json:"action,omitempty"`
}

// Table looks up one table without copying the rest. Names are case-insensitive.
func (c *Catalog) Table(database, name string) (Table, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, ok := c.state.Databases[strings.ToLower(database)].Tables[strings.ToLower(name)]
	return t, ok
}

// TableNames lists the tables of a database in order.
func (c *Catalog) TableNames(database string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for _, t := range c.state.Databases[strings.ToLower(database)].Tables {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	return names
}

// PutTable adds or replaces a table of a database that exists.
func (s *State) PutTable(database string, t Table) {
	key := strings.ToLower(database)
	db := s.Databases[key]
	if db.Tables == nil {
		db.Tables = map[string]Table{}
	}
	db.Tables[strings.ToLower(t.Name)] = t
	s.Databases[key] = db
}

// DropTable removes a table.
func (s *State) DropTable(database, name string) {
	delete(s.Databases[strings.ToLower(database)].Tables, strings.ToLower(name))
}
