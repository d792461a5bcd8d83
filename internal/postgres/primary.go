// Package postgres finds the server of PostgreSQL that writes, for who is given a URL that names several, of which another one may write tomorrow.
//
// pgx tries the servers of a URL in their order, and takes the first that answers and, with target_session_attrs=read-write, takes writes. A primary that was replaced and comes back does both, and
// lacks what its successor has got since. PostgreSQL counts promotions: each begins a timeline with a greater number. So who has seen a timeline refuses servers of older ones, and the next
// server is tried. Databases that have no timelines are taken as they come.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
)

// Primary knows the newest timeline that its connections have met. The zero value knows none.
type Primary struct {
	mu       sync.Mutex
	system   string // whose timelines these are: a database that was made anew counts from 1 again
	timeline uint64
}

// Follow has the connections that are made by c lead to the newest primary. promoted, which may be nil, is called when another one than before was met: connections that were made before, and
// what was learnt over them, may be of the former one.
func (p *Primary) Follow(c *pgconn.Config, promoted func()) {
	validate := c.ValidateConnect
	c.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		if validate != nil {
			if err := validate(ctx, conn); err != nil {
				return err
			}
		}
		system, timeline, err := timelineOf(ctx, conn)
		if err != nil || timeline == 0 {
			return err
		}
		newer, err := p.meet(system, timeline)
		if newer && promoted != nil {
			promoted()
		}
		return err
	}
}

// timelineOf asks a server for its timeline: 0 when it has none, or is a standby.
func timelineOf(ctx context.Context, conn *pgconn.PgConn) (system string, timeline uint64, err error) {
	results, err := conn.Exec(ctx, "select system_identifier, pg_walfile_name(pg_current_wal_lsn()) from pg_control_system()").ReadAll()
	var refused *pgconn.PgError
	switch {
	case errors.As(err, &refused) && !conn.IsClosed():
		return "", 0, nil
	case err != nil:
		return "", 0, err
	case len(results) != 1 || len(results[0].Rows) != 1 || len(results[0].Rows[0]) != 2:
		return "", 0, nil
	}
	row := results[0].Rows[0]
	const digits = 8 // of the timeline, which the name of a file of the log begins with
	if len(row[1]) < digits {
		return "", 0, nil
	}
	if timeline, err = strconv.ParseUint(string(row[1][:digits]), 16, 32); err != nil {
		return "", 0, nil // something that looks like PostgreSQL and names its files in another way
	}
	return string(row[0]), timeline, nil
}

// meet judges a server by its timeline, and reports whether it is another primary than before.
func (p *Primary) meet(system string, timeline uint64) (newer bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.system == system && timeline < p.timeline {
		return false, fmt.Errorf("another server was promoted in its place: its timeline is %d, that of the other one %d", timeline, p.timeline)
	}
	newer = p.timeline != 0 && (p.system != system || timeline > p.timeline)
	p.system, p.timeline = system, timeline
	return newer, nil
}

// Hosts are the addresses of the servers that a configuration names, in their order.
func Hosts(c *pgconn.Config) []string {
	var hosts []string
	add := func(host string, port uint16) {
		at := net.JoinHostPort(host, strconv.Itoa(int(port)))
		if !slices.Contains(hosts, at) { // the same one comes with TLS and without
			hosts = append(hosts, at)
		}
	}
	add(c.Host, c.Port)
	for _, f := range c.Fallbacks {
		add(f.Host, f.Port)
	}
	return hosts
}

// Address names the database of a configuration in messages, without user and password.
func Address(c *pgconn.Config) string { return strings.Join(Hosts(c), ",") + "/" + c.Database }
