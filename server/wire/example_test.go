package wire_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"net"

	"github.com/go-sql-driver/mysql"

	"millrace/internal/column"
	"millrace/internal/sqlerr"
	"millrace/server/wire"
)

// echo answers every statement with one row that holds its text.
type echo struct{ db string }

func (e *echo) Query(_ context.Context, text string, r *wire.Results) error {
	def := wire.ColumnOf(column.Field{Name: "statement", Type: column.Type{Kind: column.Text}})
	if err := r.Columns([]wire.Column{def}); err != nil {
		return err
	}
	if err := r.Row(func(b []byte) ([]byte, error) { return wire.Text(b, text), nil }); err != nil {
		return err
	}
	return r.EndRows()
}

func (e *echo) Prepare(context.Context, string) (*wire.Stmt, error) {
	return nil, sqlerr.New(sqlerr.NotSupported, "statements cannot be prepared here")
}
func (e *echo) Execute(context.Context, *wire.Stmt, []wire.Param, *wire.Results) error { return nil }
func (e *echo) CloseStmt(*wire.Stmt)                                                   {}
func (e *echo) UseDB(_ context.Context, db string) error                               { e.db = db; return nil }
func (e *echo) Reset(context.Context) error                                            { return nil }
func (e *echo) FieldList(context.Context, string, string) ([]wire.Column, error)       { return nil, nil }
func (e *echo) State() (status, warnings uint16, db string)                            { return wire.StatusAutocommit, 0, e.db }
func (e *echo) Statistics() string                                                     { return "" }
func (e *echo) Kill(context.Context, uint32) error                                     { return nil }
func (e *echo) Close()                                                                 {}

// anyone lets everyone in who gives no password.
type anyone struct{}

func (anyone) Find(user, host string) (wire.Account, bool) {
	return wire.Account{User: user, Host: host, Plugin: wire.PluginNative}, true
}

func Example() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	s := wire.NewServer(wire.Config{
		Version:  "8.0.36-echo",
		Accounts: anyone{},
		Open:     func(*wire.Conn) (wire.Session, error) { return &echo{}, nil },
	})
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()

	cfg := mysql.NewConfig()
	cfg.User, cfg.Net, cfg.Addr = "me", "tcp", l.Addr().String()
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		log.Fatal(err)
	}
	db := sql.OpenDB(connector)
	var text string
	if err := db.QueryRow("SELECT anything").Scan(&text); err != nil {
		log.Fatal(err)
	}
	fmt.Println(text)

	_ = db.Close()
	if err := s.Shutdown(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(<-served)
	// Output:
	// SELECT anything
	// <nil>
}
