package server

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/dolthub/go-mysql-server/sql"

	"millrace/functions/readkafka"
	"millrace/internal/option"
	"millrace/internal/sqlerr"
)

// This file adds hints to the engine's errors where what was written tells what was meant.

// recordColumns are the columns of read_kafka, whose names are often taken for those of tables, and misspelled.
var recordColumns = []string{"key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers"}

// elsewhere are functions of other systems → how the same is done here.
var elsewhere = map[string]string{
	"parse_json":        "cast to JSON: value::string::json",
	"json_value":        "read fields with a path: value::string:field",
	"json_extract_path": "read fields with a path: value::string:field",
	"to_json":           "use json_object or json_array",
	"schema_of_json":    "read fields with a path: value::string:field",
	"from_utc":          "use convert_tz(t, 'UTC', zone)",
	"explode":           "use JSON_TABLE",
	"read_stream":       "use FROM STREAM read_kafka(…)",
	"kafka":             "use read_kafka(bootstrapServers => 'broker:9092', subscribe => 'topic')",
	"readkafka":         "use read_kafka(bootstrapServers => 'broker:9092', subscribe => 'topic')",
	"writekafka":        "use INSERT INTO write_kafka(bootstrapServers => 'broker:9092', topic => 'topic') SELECT …",
	"approx_percentile": "use percentile_approx(x, fraction)",
	"percentile":        "use percentile_approx(x, fraction), which is exact for up to as many values as its accuracy",
	"percentile_cont":   "use percentile_approx(x, fraction), which gives one of the values",
	"percentile_disc":   "use percentile_approx(x, fraction), which is exact for up to as many values as its accuracy",
	"median":            "use percentile_approx(x, 0.5)",
	"array_agg":         "use collect_list(x)",
	"collect_set":       "use collect_list(x) over SELECT DISTINCT",
	"approx_distinct":   "use approx_count_distinct(x)",
}

// notFound takes the name out of the engine's errors of names.
var notFound = regexp.MustCompile(`^(?:column "([^"]+)" could not|table "[^"]*" does not have column "([^"]+)"|(?:table )?function: '([^']+)' not found|table '([^']+)' does not exist|Unknown column '([^']+)')`)

const mostAdvised = 64 << 10

// advise adds a hint to an error of the engine's. ctx is that of the statement, which holds its text without secrets.
//
// What is longer than mostAdvised is no slip of a person, and searching it takes long: a name of 4 MB took seconds.
func advise(ctx context.Context, own *sqlerr.Error) error {
	c, ok := ctx.(*sql.Context)
	if !ok {
		return own
	}
	e, ok := c.Value(engineOf{}).(*engine)
	if !ok || len(own.Msg) > mostAdvised || len(c.Query()) > mostAdvised {
		return own
	}
	if strings.HasSuffix(own.Msg, " cannot be altered") {
		return own.WithHint("%s", alterHint)
	}
	if own.Kind == sqlerr.BadVariableValue {
		return adviseValue(c, own)
	}
	m := notFound.FindStringSubmatch(own.Msg)
	if m == nil {
		return own
	}
	name := m[1] + m[2] + m[3] + m[4] + m[5]
	if own.Kind == sqlerr.NoTable {
		if n := flowNamed(c, name); e.hasFlow(c, n) {
			own.Msg = flowMeant(n).Msg // the code stays: programs ask for it
			return own.WithHint("%s", flowHint)
		}
	}
	hint := ""
	switch own.Kind {
	case sqlerr.NoFunction:
		hint = e.functionLike(name, strings.HasPrefix(own.Msg, "table "))
	case sqlerr.NoColumn, sqlerr.NoTable:
		if strings.EqualFold(name, "schedule") && ofTables.MatchString(c.Query()) {
			return own.WithHint("the schedule of a streaming table is dropped by ALTER STREAMING TABLE")
		}
		if hint = nameMeant(c.Query(), name, own.Kind == sqlerr.NoTable, columnsRead(c)); hint == "" {
			hint = e.storedLike(c, name, own.Kind == sqlerr.NoTable)
		}
	}
	if hint == "" {
		return own
	}
	return own.WithHint("%s", hint)
}

// formatArgument finds the formats that a statement gives.
var formatArgument = regexp.MustCompile(`(?i)\b(?:data_?|value_?)?format\s*=>\s*'(\w*)'`)

// givesFormat reports whether a call of the statement decodes values.
func givesFormat(text string) bool {
	m := formatArgument.FindStringSubmatch(text)
	return m != nil && !strings.EqualFold(m[1], "raw")
}

// readColumns are the columns of the calls of read_kafka in a statement.
type readColumns struct {
	mu    sync.Mutex
	names []string
}

type readColumnsOf struct{}

// noteColumns implements readkafka.Env.Decided.
func noteColumns(ctx *sql.Context, names []string) {
	if c, ok := ctx.Value(readColumnsOf{}).(*readColumns); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.names = append(c.names, names...)
	}
}

// columnsRead are those that are known so far, at least those that records always have.
func columnsRead(ctx context.Context) []string {
	c, ok := ctx.Value(readColumnsOf{}).(*readColumns)
	if !ok {
		return recordColumns
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.names) == 0 {
		return recordColumns
	}
	return slices.Clone(c.names)
}

// pathIntoValue finds what a statement reads of the column value with a path.
var pathIntoValue = regexp.MustCompile("(?i)\\bvalue(?:::\\w+)?:`?(\\w+)`?")

// nameMeant explains the name of a column or table that does not exist. columns are those of the topics that are read.
func nameMeant(text, name string, table bool, columns []string) string {
	quoted := regexp.QuoteMeta(name)
	if m := regexp.MustCompile(`(?i)(\w+)\s*=>\s*(` + quoted + `[\w.:-]*)`).FindStringSubmatch(text); m != nil {
		return "text is written in quotes: " + m[1] + " => '" + m[2] + "'"
	}
	if table {
		m := regexp.MustCompile("(?i)(?:^|[^.\\w`])`?" + quoted + "`?\\.`?(\\w+|\\*)").FindStringSubmatch(text)
		if m == nil {
			return ""
		}
		if m[1] == "*" {
			m[1] = "field"
		}
		switch {
		case strings.EqualFold(name, "window"):
			return "the ends of a window are window_start(…) and window_end(…); window.start and window.end are those of the one window(…) that a SELECT groups by"
		case slices.Contains(recordColumns, strings.ToLower(name)):
			return "a field is read with a path: " + name + "::string:" + m[1]
		default:
			return "a field of a column is read with a path, " + name + ":" + m[1] + "; only what from_json(…) AS " + name + " gives has its fields, those of the schema, by a dot"
		}
	}
	if !strings.Contains(strings.ToLower(text), readkafka.Name) {
		return ""
	}
	formatted := givesFormat(text)
	if m := pathIntoValue.FindStringSubmatch(text); formatted && m != nil && strings.EqualFold(name, "value") {
		if near := option.Nearest(m[1], columns); near != "" {
			return "with 'format' the fields of the value are columns: did you mean '" + near + "'?"
		}
	}
	near := option.Nearest(name, columns)
	switch {
	case near == "" || near == name:
		return ""
	case formatted && strings.HasPrefix(near, "_") && !strings.HasPrefix(name, "_"):
		return "did you mean '" + near + "'? With 'format' the columns are the fields of the value, and those of the record begin with '_'"
	}
	return "did you mean '" + near + "'?"
}

// functionLike names a function that exists.
func (e *engine) functionLike(name string, table bool) string {
	if hint := elsewhere[strings.ToLower(name)]; hint != "" {
		return hint
	}
	var names []string
	if table {
		names = slices.Collect(maps.Keys(e.provider.tables))
	} else {
		names = slices.Collect(maps.Keys(e.provider.functions))
		names = slices.DeleteFunc(names, func(n string) bool { return strings.HasPrefix(n, "millrace_") })
	}
	slices.Sort(names)
	if near := option.Nearest(name, names); near != "" {
		return "did you mean " + near + "?"
	}
	return ""
}
