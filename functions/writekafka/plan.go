package writekafka

import (
	"strings"

	"millrace/internal/column"
	"millrace/internal/sqlerr"
)

// Plan says what becomes of each column of a query. It is immutable.
type Plan struct {
	args   *Args
	fields []column.Field
	// key, value and so on are the columns that have these roles, -1 for none.
	key, value, headers, topic, partition, timestamp int
	// Warnings say which columns are not written.
	Warnings []string
}

// role is a column with a meaning of its own.
type role struct {
	name string
	at   *int
	// allowed are the kinds that it may have, words name them for messages; cast is how others get there.
	allowed     func(column.Kind) bool
	words, cast string
}

func (p *Plan) roles() []role {
	content := func(k column.Kind) bool { return k == column.Text || k == column.Bytes || k == column.JSON }
	return []role{
		{"key", &p.key, content, "STRING or BINARY", "key::string"},
		{"value", &p.value, content, "STRING or BINARY", "value::string"},
		{"headers", &p.headers, func(k column.Kind) bool { return k == column.JSON || k == column.Text }, "JSON, as read_kafka(includeHeaders => true) has it", "to_json(headers)"},
		{"topic", &p.topic, func(k column.Kind) bool { return k == column.Text }, "STRING", "topic::string"},
		{"partition", &p.partition, func(k column.Kind) bool { return k == column.Int32 || k == column.Int64 }, "INT", "`partition`::int"},
		{"timestamp", &p.timestamp, func(k column.Kind) bool { return k == column.Timestamp || k == column.Int64 }, "TIMESTAMP, or BIGINT in milliseconds", "timestamp::timestamp"},
	}
}

// Plan gives the columns of a query their roles. Its errors are the user's.
func (a *Args) Plan(fields []column.Field) (*Plan, error) {
	p := &Plan{args: a, fields: fields, key: -1, value: -1, headers: -1, topic: -1, partition: -1, timestamp: -1}
	if err := p.assign(); err != nil {
		return nil, err
	}
	switch {
	case p.value < 0:
		return nil, sqlerr.New(sqlerr.NoColumn, "the query has no column 'value', which '%s' needs", Name).WithHint("name it: SELECT … AS value")
	case p.topic < 0 && a.Topic == "":
		return nil, sqlerr.New(sqlerr.OptionMissing, "'%s' needs the argument 'topic', or a column of that name", Name).WithHint("for example topic => 'orders_eu'")
	case p.topic >= 0 && a.Topic != "":
		p.topic = -1
		p.Warnings = append(p.Warnings, "the column 'topic' is not looked at: the argument 'topic' takes precedence")
	}
	if p.headers >= 0 && !a.IncludeHeaders {
		p.headers = -1
		p.Warnings = append(p.Warnings, "the column 'headers' is not written: that takes includeHeaders => true")
	}
	if p.headers < 0 && a.IncludeHeaders {
		p.Warnings = append(p.Warnings, "'includeHeaders' has no effect: the query has no column 'headers'")
	}
	return p, nil
}

func (p *Plan) assign() error {
	roles := p.roles()
	for i, f := range p.fields {
		known := false
		for _, r := range roles {
			if !strings.EqualFold(f.Name, r.name) {
				continue
			}
			known = true
			if *r.at >= 0 {
				return sqlerr.New(sqlerr.OptionInvalid, "two columns of the query are named '%s'", r.name)
			}
			*r.at = i
			if f.Type.Kind == column.Invalid { // NULL AS x
				continue
			}
			if !r.allowed(f.Type.Kind) {
				return sqlerr.New(sqlerr.OptionInvalid, "column '%s' is %s, expected %s", r.name, f.Type, r.words).WithHint("cast it: %s AS %s", r.cast, r.name)
			}
		}
		if !known {
			return sqlerr.New(sqlerr.NoColumn, "column '%s' has no place in a record, which has key, value, headers, topic, partition and timestamp", f.Name).
				WithHint("leave it out, or name it as one of these: SELECT %s AS value", f.Name)
		}
	}
	return nil
}
