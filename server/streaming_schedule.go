package server

import (
	"strings"
	"time"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/catalog"
	"millrace/internal/sqlerr"
	"millrace/server/dialect"
	"millrace/streaming/executor"
)

// scheduleOf is a schedule as the catalog keeps it, nil for none. A cron expression without a time zone gets that of the session, also in the statement: the
// schedule shall mean the same whoever shows and makes it again.
func scheduleOf(c *sql.Context, s *dialect.Schedule) (*catalog.Schedule, error) {
	if s == nil {
		return nil, nil
	}
	if s.Cron != "" && s.Zone == "" {
		zone, err := sessionZone(c)
		if err != nil {
			return nil, err
		}
		s.Zone = zone
	}
	return &catalog.Schedule{Every: s.Every, Unit: s.Unit, Cron: s.Cron, Zone: s.Zone, OnUpdate: s.OnUpdate}, nil
}

// sessionZone is the time zone of a session by a name that means the same everywhere.
func sessionZone(c *sql.Context) (string, error) {
	value, err := c.GetSessionVariable(c, "time_zone")
	if err != nil {
		return "", err
	}
	zone, _ := value.(string)
	if strings.EqualFold(zone, "SYSTEM") {
		zone = time.Local.String()
	}
	if zone == "" || zone == "Local" {
		return "", sqlerr.New(sqlerr.OptionMissing, "the session's time zone is that of the machine, which has no name").WithHint("name it: AT TIME ZONE 'Europe/Berlin'")
	}
	return zone, nil
}

// scheduleText is a schedule as SQL.
func scheduleText(s *catalog.Schedule) string { return written(s).Text(dialect.Mode{}) }

func written(s *catalog.Schedule) *dialect.Schedule {
	return &dialect.Schedule{Every: s.Every, Unit: s.Unit, Cron: s.Cron, Zone: s.Zone, OnUpdate: s.OnUpdate}
}

// triggerOf says what makes a table read.
func triggerOf(d *catalog.Streaming) string {
	switch {
	case d.Schedule != nil && d.Schedule.OnUpdate:
		return "on update"
	case d.Schedule != nil:
		return "scheduled"
	case d.Properties["trigger"] == "":
		return "continuous"
	default:
		return d.Properties["trigger"]
	}
}

// runColumns are the columns of information_schema.streaming_tables on the runs of a table, which are NULL for a table that reads all the time.
var runColumns = []*sql.Column{
	{Name: "schedule", Type: infoText(512), Nullable: true},
	{Name: "next_run", Type: infoTime, Nullable: true},
	{Name: "last_run", Type: infoTime, Nullable: true},
	{Name: "last_run_end", Type: infoTime, Nullable: true},
	{Name: "last_result", Type: infoText(16), Nullable: true},
	{Name: "skipped_runs", Type: types.Int64, Nullable: true},
}

func runValues(t catalog.Table, x *executor.Table) sql.Row {
	row := make(sql.Row, len(runColumns))
	if s := t.Streaming.Schedule; s != nil {
		row[0] = scheduleText(s)
	}
	if r, ok := x.Runs(); ok {
		row[1], row[2], row[3], row[4], row[5] = timeOrNull(r.Next), timeOrNull(r.Last.Start), timeOrNull(r.Last.End), orNull(r.Last.Result), r.Skipped
	}
	return row
}

// describeRuns adds what DESCRIBE EXTENDED says of when a table reads.
func describeRuns(t catalog.Table, x *executor.Table, add func(key, format string, args ...any)) {
	add("Trigger", "%s", triggerOf(t.Streaming))
	if s := t.Streaming.Schedule; s != nil {
		add("Schedule", "%s", scheduleText(s))
	}
	r, ok := x.Runs()
	if !ok {
		return
	}
	at := func(key string, t time.Time) {
		if !t.IsZero() {
			add(key, "%s", t.UTC().Format("2006-01-02 15:04:05.000"))
		}
	}
	at("Next Run", r.Next)
	at("Last Run", r.Last.Start)
	at("Last Run End", r.Last.End)
	if r.Last.Result != "" {
		add("Last Result", "%s", r.Last.Result)
	}
	if r.Skipped > 0 {
		add("Skipped Runs", "%d", r.Skipped)
	}
}
