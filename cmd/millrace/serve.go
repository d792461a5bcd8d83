package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"time"

	"millrace/server"
)

// engineFlags hold for every command that runs SQL.
type engineFlags struct {
	MemoryLimit       string   `help:"Memory to use: a share of the machine, or an amount such as 4GiB (default ${default})." default:"50%" placeholder:"AMOUNT"`
	TempLimit         string   `help:"Disk for what memory has no room for, in a folder tmp of the data folder: an amount (default ${default})." default:"16GiB" placeholder:"AMOUNT"`
	AllowHosts        []string `help:"Addresses SQL may connect to: host, host:port or network/bits, with * in hosts. Default: all but link-local and metadata addresses." placeholder:"PATTERN,…"`
	FilesDir          string   `help:"Folder below which SQL may name files, such as certificates. Default: none." placeholder:"DIR"`
	ExportDir         string   `help:"Folder below which EXPORT and BACKUP write. Default: none." placeholder:"DIR"`
	KeyFile           string   `help:"File with the key that encrypts connections and credentials: 32 bytes in base64 or hexadecimal digits (else MILLRACE_KEY). Default: none, so that no secret can be stored." placeholder:"FILE"`
	DefaultConnection string   `help:"Connection of statements that name no brokers. Default: none." placeholder:"NAME"`
	SecretsDir        string   `help:"Folder with a folder for each scope and a file for each key, for secret(). Default: none." placeholder:"DIR"`
	Store             string   `help:"Where tables, definitions and users are kept: embedded, in the data folder, or a database of PostgreSQL, which several servers may share, as postgres://user@host/database with the password in MILLRACE_STORE_PASSWORD (default ${default})." default:"embedded" placeholder:"URL"`
}

func (f engineFlags) config() (server.Config, error) {
	return server.Config{MemoryLimit: f.MemoryLimit, TempLimit: f.TempLimit, AllowHosts: f.AllowHosts, FilesDir: f.FilesDir, ExportDir: f.ExportDir,
		KeyFile: f.KeyFile, DefaultConnection: f.DefaultConnection, SecretsDir: f.SecretsDir, Store: f.Store, Version: version}, nil
}

// serverFlags hold for the commands that listen.
type serverFlags struct {
	engineFlags
	logFlags
	Listen                 string        `help:"Address for MySQL clients; port 0 lets the system choose (default ${default})." default:"127.0.0.1:3307" placeholder:"ADDR"`
	HTTP                   string        `name:"http" help:"Address for /healthz, /readyz and /metrics; empty turns it off (default ${default})." default:"127.0.0.1:8307" placeholder:"ADDR"`
	MaxConnections         int           `help:"Clients at once; more get error 1040 (default ${default})." default:"500" placeholder:"N"`
	TLSCert                string        `name:"tls-cert" help:"Certificate in PEM form; with it, TLS is offered. Read again on SIGHUP." placeholder:"FILE"`
	TLSKey                 string        `name:"tls-key" help:"Key of the certificate." placeholder:"FILE"`
	TLSCA                  string        `name:"tls-ca" help:"Authorities whose client certificates are trusted." placeholder:"FILE"`
	RequireSecureTransport bool          `help:"Refuse logins without TLS."`
	Insecure               bool          `help:"Let root in without a password from every host."`
	InitFile               string        `help:"SQL file, or folder of *.sql files, to run at each start." placeholder:"PATH"`
	StartPaused            bool          `help:"Leave the streaming tables and flows that there are paused until ALTER … RESUME: for a copy of a data folder beside its original."`
	DrainTimeout           time.Duration `help:"Time for running statements to end when the server stops (default ${default})." default:"30s" placeholder:"TIME"`
}

// config is that of a server whose data is in a folder.
func (f serverFlags) config(s *streams, dataDir string) (server.Config, error) {
	c, err := f.engineFlags.config()
	if err != nil {
		return c, err
	}
	if c.Log, err = f.logger(s); err != nil {
		return c, err
	}
	c.Listen, c.HTTP, c.DataDir, c.MaxConnections = f.Listen, f.HTTP, dataDir, f.MaxConnections
	c.TLSCert, c.TLSKey, c.TLSCA, c.RequireTLS = f.TLSCert, f.TLSKey, f.TLSCA, f.RequireSecureTransport
	c.Insecure, c.InitFile, c.StartPaused, c.DrainTimeout = f.Insecure, f.InitFile, f.StartPaused, f.DrainTimeout
	c.Announce = func(name, address string) { fmt.Fprintf(s.out, "%s listening on %s\n", name, address) }
	return c, nil
}

type serveCommand struct {
	serverFlags
	DataDir string `help:"Folder for databases, views, users (default ${default})." default:"./millrace-data" placeholder:"DIR"`
}

// Help is shown by millrace serve --help.
func (serveCommand) Help() string {
	return `Examples:

  millrace serve
  millrace serve --listen 0.0.0.0:3307 --init-file users.sql --tls-cert cert.pem --tls-key key.pem
  MILLRACE_DATA_DIR=/var/lib/millrace millrace serve --config /etc/millrace.yaml
  MILLRACE_STORE_PASSWORD=… millrace serve --store postgres://millrace@db.example.com/millrace

SIGTERM drains: no new statements, running ones get --drain-timeout, exit code 0.`
}

// Run implements the command.
func (c *serveCommand) Run(ctx context.Context, s *streams) (err error) {
	if c.DataDir == "" {
		return errors.New("'--data-dir' is empty: name a folder")
	}
	cfg, err := c.config(s, c.DataDir)
	if err != nil {
		return err
	}
	srv, err := server.Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.Close()) }()
	defer reloadOnHangup(srv, cfg)()
	return srv.Run(ctx)
}

// reloadOnHangup reads certificates again on SIGHUP until the function it returns is called.
func reloadOnHangup(srv *server.Server, cfg server.Config) (stop func()) {
	hangup, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(hangup, hangupSignals...)
	go func() {
		defer close(done)
		for range hangup {
			if err := srv.ReloadTLS(); err != nil {
				cfg.Log.Error("certificates are not reloaded, the old ones stay", "error", err)
			} else if cfg.TLSCert != "" {
				cfg.Log.Info("certificates reloaded")
			}
		}
	}()
	return func() {
		signal.Stop(hangup)
		close(hangup)
		<-done
	}
}
