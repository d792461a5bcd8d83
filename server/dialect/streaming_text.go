package dialect

import (
	"fmt"
	"strings"
)

// Text is the statement as SQL of a mode, which makes the same table. It is for tables that were altered since their statement was written.
func (c CreateStreamingTable) Text(m Mode) string {
	var b strings.Builder
	b.WriteString("CREATE ")
	if c.Refresh {
		b.WriteString("OR REFRESH ")
	}
	b.WriteString("STREAMING TABLE ")
	if c.IfNotExists {
		b.WriteString("IF NOT EXISTS ")
	}
	b.WriteString(c.Table.String())
	if list := c.list(m); len(list) > 0 {
		b.WriteString(" (\n  " + strings.Join(list, ",\n  ") + "\n)")
	}
	if len(c.Cluster) > 0 {
		clause := "CLUSTER BY"
		if c.Partitioned {
			clause = "PARTITIONED BY"
		}
		fmt.Fprintf(&b, "\n%s (%s)", clause, quotedList(c.Cluster))
	}
	if c.Comment != "" {
		b.WriteString("\nCOMMENT " + literalIn(c.Comment, m))
	}
	if len(c.Properties) > 0 {
		var list []string
		for _, p := range c.Properties {
			list = append(list, literalIn(p.Name, m)+" = "+literalIn(p.Value, m))
		}
		b.WriteString("\nTBLPROPERTIES (" + strings.Join(list, ", ") + ")")
	}
	if c.Schedule != nil {
		b.WriteString("\n" + c.Schedule.Text(m))
	}
	b.WriteString("\nAS " + c.Query)
	return b.String()
}

func (c CreateStreamingTable) list(m Mode) []string {
	var list []string
	for _, col := range c.Columns {
		list = append(list, col.text(m))
	}
	if len(c.PrimaryKey) > 0 {
		list = append(list, "PRIMARY KEY ("+quotedList(c.PrimaryKey)+")")
	}
	for _, e := range c.Expectations {
		text := "CONSTRAINT " + quote(e.Name) + " EXPECT (" + e.Condition + ")"
		if e.Action != "" {
			text += " ON VIOLATION " + e.Action
		}
		list = append(list, text)
	}
	return list
}

func (c StreamingColumn) text(m Mode) string {
	text := quote(c.Name)
	if c.Written != "" {
		text += " " + c.Written
	}
	if c.NotNull {
		text += " NOT NULL"
	}
	if c.Default != "" {
		text += " DEFAULT " + c.Default
	}
	if c.Generated != "" {
		text += " GENERATED ALWAYS AS (" + c.Generated + ")"
	}
	if c.Comment != "" {
		text += " COMMENT " + literalIn(c.Comment, m)
	}
	return text
}

// Text is the schedule as SQL.
func (s Schedule) Text(m Mode) string {
	every := fmt.Sprintf("EVERY %d %s", s.Every, s.Unit)
	switch {
	case s.OnUpdate && s.Every == 0:
		return "TRIGGER ON UPDATE"
	case s.OnUpdate:
		return "TRIGGER ON UPDATE AT MOST " + every
	case s.Cron == "":
		return "SCHEDULE " + every
	case s.Zone == "":
		return "SCHEDULE CRON " + literalIn(s.Cron, m)
	default:
		return "SCHEDULE CRON " + literalIn(s.Cron, m) + " AT TIME ZONE " + literalIn(s.Zone, m)
	}
}

func quotedList(names []string) string {
	var list []string
	for _, n := range names {
		list = append(list, quote(n))
	}
	return strings.Join(list, ", ")
}

// literalIn is a string literal of a mode.
func literalIn(s string, m Mode) string {
	if m.NoBackslashEscapes {
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	return literal(s)
}

// String is the schedule in the default mode.
func (s Schedule) String() string { return s.Text(Mode{}) }
