package writekafka

import (
	"context"
	"slices"
	"strings"

	"millrace/functions/readkafka"
	"millrace/internal/column"
	"millrace/internal/kafka"
	"millrace/internal/sqlerr"
)

// Plan says what becomes of each column of a query. It is immutable.
type Plan struct {
	args   *Args
	fields []column.Field
	// key, value and so on are the columns that have these roles, -1 for none. data are the columns that the value is made of, where there is a format.
	key, value, headers, topic, partition, timestamp int
	data                                             []int
	// Warnings say which columns are not written.
	Warnings []string
}

// ExactlyOnce reports whether rows are written in transactions.
func (p *Plan) ExactlyOnce() bool { return p.args.ExactlyOnce }

// Continuous is the plan of a flow: with a transactional id that it always has, and transactions of a batch each. Without one it writes without transactions.
func (p *Plan) Continuous(transactionalID string) *Plan {
	c, args := *p, *p.args
	c.args = &args
	if args.Producer.TransactionalID = transactionalID; transactionalID != "" && !args.timed {
		args.Producer.TransactionTimeout = 0
	}
	return &c
}

// Target gives the topics that rows go to, but for those that a column names, and the id of their cluster, empty when there are none or it has no id.
func (p *Plan) Target(ctx context.Context, env readkafka.Env) (cluster string, topics []string, err error) {
	for _, t := range []string{p.args.Topic, p.args.ErrorTopic} {
		if t != "" {
			topics = append(topics, t)
		}
	}
	if len(topics) == 0 {
		return "", nil, nil
	}
	c, err := env.Pool.Cluster(ctx, p.args.Cluster)
	if err != nil {
		return "", nil, err
	}
	snap, err := c.Snapshot(ctx, kafka.Selection{Topics: topics, Missing: kafka.MissingSkipped})
	if err != nil {
		return "", nil, err
	}
	return snap.ClusterID, topics, nil
}

// metadata are the columns that are parts of a record beside its value.
var metadata = []string{"key", "headers", "topic", "partition", "timestamp"}

// role is a column with a meaning of its own.
type role struct {
	name string
	at   *int
	// allowed are the kinds that it may have, words name them for messages; cast is how others get there.
	allowed     func(column.Kind) bool
	words, cast string
}

func content(k column.Kind) bool { return k == column.Text || k == column.Bytes || k == column.JSON }

// WantsText reports whether values of a kind have to become text before a column of that name takes them.
func (a *Args) WantsText(name string, kind column.Kind) bool {
	if content(kind) {
		return false
	}
	name = strings.ToLower(name)
	if f := &a.Format; f.Value != "" && !slices.Contains(f.Metadata, name) {
		return f.Value == "raw"
	}
	return name == "value" || name == "key" && a.Format.Key == "raw"
}

func (p *Plan) roles() []role {
	any := func(column.Kind) bool { return true }
	key := role{"key", &p.key, content, "STRING or BINARY", "key::string"}
	if p.args.Format.Key != "raw" {
		key.allowed = any // keyEncoder says what it takes
	}
	return []role{
		key,
		{"value", &p.value, content, "STRING or BINARY", "value::string"},
		{"headers", &p.headers, func(k column.Kind) bool { return k == column.JSON || k == column.Text }, "JSON, as read_kafka(includeHeaders => true) has it", "to_json(headers)"},
		{"topic", &p.topic, func(k column.Kind) bool { return k == column.Text }, "STRING", "topic::string"},
		{"partition", &p.partition, func(k column.Kind) bool { return k == column.Int32 || k == column.Int64 }, "INT", "`partition`::int"},
		{"timestamp", &p.timestamp, func(k column.Kind) bool {
			return k == column.Timestamp || k == column.Int32 || k == column.Int64 || k == column.Text
		}, "TIMESTAMP, its text, or BIGINT in milliseconds", "timestamp::timestamp"},
	}
}

// Plan gives the columns of a query their roles. Its errors are the user's.
func (a *Args) Plan(fields []column.Field) (*Plan, error) {
	p := &Plan{args: a, fields: fields, key: -1, value: -1, headers: -1, topic: -1, partition: -1, timestamp: -1}
	if err := p.assign(); err != nil {
		return nil, err
	}
	if err := p.checkValue(); err != nil {
		return nil, err
	}
	switch {
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
	if a.Format.valueRegistered() && a.Topic == "" && a.Format.Subject == "" {
		return nil, sqlerr.New(sqlerr.OptionMissing, "the subject of the schema is not known: topics come from a column").WithHint("name it: schemaRegistrySubject => 'orders-value'")
	}
	if p.key >= 0 && a.Format.keyRegistered() && a.Topic == "" && a.Format.KeySubject == "" {
		return nil, sqlerr.New(sqlerr.OptionMissing, "the subject of the schema of keys is not known: topics come from a column").WithHint("name it: keySubject => 'orders-key'")
	}
	return p, p.checkEncoders()
}

// assign finds the column of each role, and with a format the data.
func (p *Plan) assign() error {
	roles := p.roles()
	format := p.args.Format.Value
	seen := map[string]bool{}
	for i, f := range p.fields {
		name := strings.ToLower(f.Name)
		if seen[name] {
			if p.args.Listed {
				return sqlerr.New(sqlerr.OptionInvalid, "the list names column '%s' twice", name).WithHint("name each column once")
			}
			return sqlerr.New(sqlerr.OptionInvalid, "two columns of the query are named '%s'", name).WithHint("give each a name of its own: expression AS name")
		}
		seen[name] = true
		at := slices.IndexFunc(roles, func(r role) bool { return r.name == name })
		switch {
		case format != "" && (at < 0 || !slices.Contains(p.args.Format.Metadata, name)):
			p.data = append(p.data, i)
			continue
		case at < 0:
			named := "(SELECT … AS value)"
			if p.args.Listed {
				named = "in the list"
			}
			return sqlerr.New(sqlerr.NoColumn, "column '%s' has no place in a record, which has key, value, headers, topic, partition and timestamp", f.Name).
				WithHint("leave it out, name it as one of these %s, or make a record of the columns: format => 'json'", named)
		}
		r := roles[at]
		if f.Type.Kind != column.Invalid && !r.allowed(f.Type.Kind) { // NULL AS x has no kind
			return sqlerr.New(sqlerr.OptionInvalid, "column '%s' is %s, expected %s", r.name, f.Type.SQL(), r.words).WithHint("%s", p.castHint(r.cast, r.name))
		}
		*r.at = i
	}
	return nil
}

// castHint tells how a column gets another type. cast is the cast of a column of that name, as name::type or to_json(name); with a list the query does not know the name.
func (p *Plan) castHint(cast, name string) string {
	_, to, ok := strings.Cut(cast, "::")
	switch {
	case ok && p.args.Values && to == "string":
		return "write text in quotes, or cast the value: 1::string"
	case ok && p.args.Values:
		return "cast the value, such as '1'::" + to
	case ok && p.args.Listed:
		return "cast the column of the query that stands for it: …::" + to
	case p.args.Listed:
		return "make it with to_json(…)"
	}
	return "cast it: " + cast + " AS " + name
}

// checkValue wants the columns that the format makes a value of.
func (p *Plan) checkValue() error {
	format := p.args.Format.Value
	switch {
	case format == "" && p.value < 0:
		return sqlerr.New(sqlerr.NoColumn, "the query has no column 'value', which '%s' needs", Name).WithHint("name it: SELECT … AS value; or make a record of the columns: format => 'json'")
	case format == "":
		return nil
	case len(p.data) == 0:
		return sqlerr.New(sqlerr.NoColumn, "the query has no column for the value").WithHint("columns named key, headers, topic, partition and timestamp are no data, unless metadataColumns says so")
	case format != "raw" && format != "string":
		return nil
	case len(p.data) > 1:
		return sqlerr.New(sqlerr.OptionConflict, "format '%s' takes one column, and the query has '%s' and '%s'", format, p.fields[p.data[0]].Name, p.fields[p.data[1]].Name).
			WithHint("json, avro, proto and csv make a record of several")
	}
	p.value = p.data[0]
	if f := p.fields[p.value]; format == "raw" && f.Type.Kind != column.Invalid && !content(f.Type.Kind) {
		return sqlerr.New(sqlerr.OptionInvalid, "column '%s' is %s, and format 'raw' takes bytes or text", f.Name, f.Type.SQL()).WithHint("format => 'string' writes it as text")
	}
	return nil
}

// checkEncoders finds out early what is wrong with formats and schemas.
func (p *Plan) checkEncoders() error {
	if p.key >= 0 && p.fields[p.key].Type.Kind != column.Invalid && !p.args.Format.keyRegistered() {
		if _, err := p.plainKey(); err != nil {
			return err
		}
	}
	if p.args.Format.valueRegistered() {
		return nil // Open asks for the schema
	}
	_, err := p.valueEncoder()
	return err
}

// FlowPlan is Plan for the query of a flow.
func (a *Args) FlowPlan(fields []column.Field) (*Plan, error) {
	if a.named {
		return nil, sqlerr.New(sqlerr.OptionForbidden, "'transactionalId' is refused: a flow has one of its own, which never changes").WithHint("leave it out")
	}
	return a.Plan(fields)
}
