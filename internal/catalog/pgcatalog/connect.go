package pgcatalog

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"millrace/internal/option"
	"millrace/internal/postgres"
	"millrace/internal/sqlerr"
)

// parse reads the URL. What it does not say comes from libpq's variables, such as PGPASSWORD, and from ~/.pgpass. What is wrong with it is not said in the parser's words, which quote it:
// a password with a '/', a space or no slashes before it looks like a port or a host.
func parse(url string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errors.New("'--store' is no URL of PostgreSQL, or has a parameter with a value that libpq does not know; write postgres://user@host:port/database?sslmode=…, and the password into the variable " +
			"MILLRACE_STORE_PASSWORD\nhint: " + encodingHint)
	}
	config.MaxConns, config.MinConns = 2, 0
	// A server that is silent leaves the next one of the URL its part of an attempt.
	most := attemptTime
	if hosts := len(postgres.Hosts(&config.ConnConfig.Config)); hosts > 1 {
		most = attemptTime / time.Duration(hosts+1)
	}
	if config.ConnConfig.ConnectTimeout <= 0 || config.ConnConfig.ConnectTimeout > most {
		config.ConnConfig.ConnectTimeout = most
	}
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec // poolers do not keep prepared statements
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "millrace"
	}
	return config, nil
}

// place is where a database is, without a password.
func place(c *pgxpool.Config) string {
	return "postgres://" + postgres.Address(&c.ConnConfig.Config)
}

// passes reports whether an error is one that time may mend.
func passes(err error) bool {
	var server *pgconn.PgError
	if errors.As(err, &server) {
		switch server.Code {
		case "40001", "40P01": // conflicts
			return true
		case "23505", "42P06", "42P07": // CREATE … IF NOT EXISTS at once with another
			return true
		case "25006": // a standby; another address of the list may be the primary now
			return true
		}
		switch server.Code[:min(2, len(server.Code))] {
		case "08", "53", "57", "58": // connections, resources, an administrator who stops it, its disk
			return true
		}
		return false
	}
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		message := connect.Error()
		return !strings.Contains(message, "tls") && !strings.Contains(message, "certificate") && !strings.Contains(message, "server refused TLS")
	}
	return !errors.Is(err, context.Canceled)
}

func (d *Document) fault(err error) error { return fault(d.pool.Config(), err) }

// fault is an error for who runs the server, or the statement that needed the catalog.
func fault(c *pgxpool.Config, err error) error {
	if err == nil {
		return nil
	}
	e := sqlerr.New(sqlerr.StoreAway, "%s cannot be used: %v", place(c), reason(err)).WithCause(err)
	user, database := c.ConnConfig.User, c.ConnConfig.Database
	var server *pgconn.PgError
	if !errors.As(err, &server) {
		return e.WithHint("see that PostgreSQL runs at that address, and that the network and its listen_addresses let this machine reach it")
	}
	switch server.Code {
	case "28P01", "28000":
		return e.WithHint("the user of --store is '%s': see that its password is in MILLRACE_STORE_PASSWORD, PGPASSWORD or ~/.pgpass, and what pg_hba.conf says of this machine", user)
	case "3D000":
		return e.WithHint("CREATE DATABASE \"%s\" OWNER \"%s\" makes it", database, user)
	case "42501":
		return e.WithHint("GRANT CREATE ON DATABASE \"%s\" TO \"%s\" lets it make the schema millrace", database, user)
	case "25006":
		return e.WithHint("it only reads: name the primary, or all servers with target_session_attrs=read-write (postgres://a,b/%s?target_session_attrs=read-write)", database)
	case "42704", "22023": // a parameter that is none of libpq's is set as one of the server's
		if name := parameterIn(server.Message, c); name != "" {
			return e.WithHint("the URL of --store sets the parameter '%s'%s", name, meant(name))
		}
	case "53300":
		return e.WithHint("raise max_connections of PostgreSQL, or have fewer clients")
	}
	return e
}

// parameterIn is the name of a parameter of the URL that PostgreSQL refused, empty when its message is about something else.
func parameterIn(message string, c *pgxpool.Config) string {
	for name := range c.ConnConfig.RuntimeParams {
		if strings.Contains(message, `"`+name+`"`) {
			return name
		}
	}
	return ""
}

// parameters are those of URLs that are not sent to PostgreSQL.
var parameters = []string{"sslmode", "sslrootcert", "sslcert", "sslkey", "sslpassword", "sslsni", "sslnegotiation", "target_session_attrs", "connect_timeout", "passfile", "service", "servicefile",
	"channel_binding", "require_auth", "krbspn", "krbsrvname", "min_protocol_version", "max_protocol_version", "pool_max_conns", "pool_min_conns", "pool_max_conn_lifetime", "pool_max_conn_idle_time",
	"pool_health_check_period", "default_query_exec_mode", "statement_cache_capacity", "description_cache_capacity", "host", "port", "user", "password", "dbname", "database", "application_name", "options"}

// meant says what a parameter that nobody knows may have been meant to be.
func meant(name string) string {
	if slices.Contains(parameters, name) {
		return "" // it is known, and its value is refused
	}
	if near := option.Nearest(name, parameters); near != "" {
		return ": did you mean '" + near + "'?"
	}
	return ", which is neither one of libpq's nor a setting of PostgreSQL with such a value"
}

// reason is the last cause of an error in one line.
func reason(err error) string {
	var server *pgconn.PgError
	if errors.As(err, &server) {
		return server.Message + " (SQLSTATE " + server.Code + ")"
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "it does not answer within " + attemptTime.String()
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Error()
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}
