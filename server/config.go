package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"time"

	"millrace/internal/catalog"
	"millrace/streaming/executor"
	"millrace/streaming/store/pebblestore"
)

// Config is how a server runs. The zero value of a field is its default, unless said otherwise.
type Config struct {
	// Listen is the address for MySQL clients, HTTP that for health and metrics; empty turns HTTP off. Port 0 lets the system choose.
	Listen, HTTP string
	// Store is where tables, definitions, users and connections are kept: the word embedded, or nothing, for the data directory, else the URL of a database of PostgreSQL, which several
	// servers may share. Its password may be in the variable MILLRACE_STORE_PASSWORD.
	Store string
	// DataDir is the folder of this server: with an embedded store it holds everything, with another only temporary files, the name of the server and the key that logins are
	// encrypted with. Empty keeps that in memory, which is for queries without a server.
	DataDir string
	// MemoryLimit is a share of the machine (50%) or an amount (4GiB).
	MemoryLimit string
	// TempLimit is the most that the temporary files of statements may take, an amount such as 16GiB. They are in the folder tmp of DataDir, or, without
	// one, in a folder of the system's.
	TempLimit string
	// AllowHosts are patterns for addresses that SQL may connect to; none allows all but link-local and metadata addresses.
	AllowHosts []string
	// FilesDir is the folder below which SQL may name files (certificates of read_kafka); empty for none.
	FilesDir string
	// ExportDir is the folder below which EXPORT and BACKUP write; empty for none.
	ExportDir string
	// KeyFile holds the key that connections and credentials are encrypted with, 32 bytes in base64 or hexadecimal digits; empty takes it from the
	// variable MILLRACE_KEY, and without either no secret can be stored.
	KeyFile string
	// DefaultConnection is the connection of statements that name no brokers, empty for none.
	DefaultConnection string
	// SecretsDir holds a folder for each scope with a file for each key, for secret(); empty for none.
	SecretsDir string
	// TLSCert and TLSKey are files in PEM form; TLSCA those of authorities whose client certificates are trusted.
	TLSCert, TLSKey, TLSCA string
	// RequireTLS refuses logins without TLS.
	RequireTLS bool
	// Insecure lets root in without a password from everywhere.
	Insecure bool
	// MaxConnections is the default of the system variable max_connections.
	MaxConnections int
	// StartPaused leaves the streaming tables and flows that there are paused until they are resumed.
	StartPaused bool
	// InitFile is a file or folder of SQL that runs at each start.
	InitFile string
	// DrainTimeout is how long running statements may take to end at shutdown.
	DrainTimeout time.Duration
	// Version is that of the program.
	Version string
	Log     *slog.Logger
	// Announce is told each address that the server listens on, under the name it has in ports.json, once it takes work.
	Announce func(name, address string)
	// Extra are addresses of others to be named in ports.json, such as those of the demo's broker.
	Extra map[string]string

	// kept opens what Store names; tests have their own.
	kept func(context.Context, Config) (*kept, error)
	// memory and temp are MemoryLimit and TempLimit in bytes.
	memory, temp int64
	// key is that of KeyFile, nil for none.
	key *catalog.Key
	// clock is that of the schedules of streaming tables, nil for the machine's.
	clock executor.Clock
	// storeOptions, when not nil, changes what the store in DataDir is opened with: tests have disks that fail.
	storeOptions func(*pebblestore.Options)
}

// Defaults of settings.
const (
	DefaultListen         = "127.0.0.1:3307"
	DefaultHTTP           = "127.0.0.1:8307"
	DefaultDataDir        = "./millrace-data"
	DefaultMemoryLimit    = "50%"
	DefaultTempLimit      = "16GiB"
	DefaultMaxConnections = 500
	DefaultDrainTimeout   = 30 * time.Second
)

// check fills in defaults and finds what cannot work before anything is opened.
func (c *Config) check() error {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Announce == nil {
		c.Announce = func(string, string) {}
	}
	if c.MemoryLimit == "" {
		c.MemoryLimit = DefaultMemoryLimit
	}
	if c.MaxConnections == 0 {
		c.MaxConnections = DefaultMaxConnections
	}
	if c.DrainTimeout == 0 {
		c.DrainTimeout = DefaultDrainTimeout
	}
	if c.Version == "" {
		c.Version = "dev"
	}
	if c.kept == nil {
		c.kept = openKept
	}
	var err error
	if c.memory, err = parseMemory(c.MemoryLimit); err != nil {
		return err
	}
	if c.TempLimit == "" {
		c.TempLimit = DefaultTempLimit
	}
	var ok bool
	if c.temp, ok = parseBytes(c.TempLimit); !ok || c.temp == 0 {
		return fmt.Errorf("'--temp-limit': '%s' is not an amount; write one such as 16GiB", c.TempLimit)
	}
	if c.MaxConnections < 1 || c.MaxConnections > 100_000 {
		return fmt.Errorf("'--max-connections' is %d, allowed are 1 to 100000", c.MaxConnections)
	}
	for _, folder := range []struct{ flag, path string }{{"--files-dir", c.FilesDir}, {"--export-dir", c.ExportDir}, {"--secrets-dir", c.SecretsDir}} {
		if folder.path == "" {
			continue
		}
		if info, err := os.Stat(folder.path); err != nil {
			return fmt.Errorf("'%s': %w", folder.flag, err)
		} else if !info.IsDir() {
			return fmt.Errorf("'%s': %s is not a folder", folder.flag, folder.path)
		}
	}
	if c.key, err = readKey(c.KeyFile); err != nil {
		return err
	}
	if c.RequireTLS && c.TLSCert == "" {
		return errors.New("'--require-secure-transport' needs '--tls-cert' and '--tls-key'")
	}
	return nil
}

// keyVariable holds the key when there is no file.
const keyVariable = "MILLRACE_KEY"

// readKey reads the key from its file, else from the environment; nil when there is none.
func readKey(file string) (*catalog.Key, error) {
	from, text := "'"+keyVariable+"'", os.Getenv(keyVariable)
	if file != "" {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("'--key-file': %w", err)
		}
		from, text = "'--key-file'", string(content)
	} else if text == "" {
		return nil, nil
	}
	key, err := catalog.ParseKey(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	return key, nil
}

// loopback reports whether only the machine itself can connect to an address.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
