package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestInitFilesRunInOrderAtEachStart(t *testing.T) {
	dir, data := t.TempDir(), t.TempDir()
	write(t, dir, "20-users.sql", "-- users\nCREATE USER IF NOT EXISTS me IDENTIFIED BY 'pw';\nGRANT SELECT ON shop.* TO me;\n")
	write(t, dir, "10-views.sql", "CREATE DATABASE IF NOT EXISTS shop;\n\nCREATE OR REPLACE VIEW shop.v AS SELECT '1'::int AS one;")
	write(t, dir, "notes.txt", "not SQL")
	with := func(c *Config) { c.InitFile, c.DataDir = dir, data }
	for range 2 {
		r := start(t, with)
		want(t, r.connect(t, "me:pw@/shop"), "SELECT one FROM v", "one\n1")
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestInitFileErrorNamesFileAndLine(t *testing.T) {
	path := write(t, t.TempDir(), "init.sql", "SELECT 1;\n\n-- then\nCREATE USER x IDENTIFIED BY 'canary-3f1c' NONSENSE;\nSELECT 2;")
	_, err := tryStart(t, func(c *Config) { c.InitFile = path })
	if err == nil || !strings.Contains(err.Error(), path+":4: ") {
		t.Errorf("error %v, want %s:4", err, path)
	}
	if err != nil && strings.Contains(err.Error(), "canary") {
		t.Errorf("the password is in the error: %v", err)
	}
}

func TestOpenListenerNeedsUsersOrInsecure(t *testing.T) {
	open := func(c *Config) { c.Listen = "0.0.0.0:0" }
	if _, err := tryStart(t, open); err == nil || !strings.Contains(err.Error(), "--insecure") {
		t.Errorf("error %v, want one that names --insecure", err)
	}
	users := write(t, t.TempDir(), "users.sql", "CREATE USER IF NOT EXISTS me IDENTIFIED BY 'pw'; GRANT ALL ON *.* TO me")
	r := start(t, open, func(c *Config) { c.InitFile = users })
	_, port, err := net.SplitHostPort(r.addr)
	if err != nil {
		t.Fatal(err)
	}
	r.addr = "127.0.0.1:" + port
	want(t, r.connect(t, "me:pw@/main"), "SELECT 1", "1\n1")
	start(t, open, func(c *Config) { c.Insecure = true })
}

func TestDataDirectoryBelongsToOneServer(t *testing.T) {
	dir := t.TempDir()
	r := start(t, func(c *Config) { c.DataDir = dir })
	ports, err := os.ReadFile(filepath.Join(dir, "ports.json"))
	if err != nil || !strings.Contains(string(ports), `"mysql":"`+r.addr+`"`) {
		t.Errorf("ports.json: %s %v", ports, err)
	}
	if _, err := New(Config{DataDir: dir}); err == nil || !strings.Contains(err.Error(), "in use by another process") {
		t.Errorf("second server: %v", err)
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "ports.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("ports.json after the end: %v", err)
	}
}

func TestDrainLetsStatementsEnd(t *testing.T) {
	r := start(t)
	db, idle := r.root(t), r.root(t)
	want(t, idle, "SELECT 1", "1\n1")
	done := make(chan error, 1)
	go func() {
		_, err := rows(db, "SELECT sleep(1)")
		done <- err
	}()
	for !strings.Contains(processes(r), "sleep(1)") {
		time.Sleep(time.Millisecond)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- r.stop() }()
	if err := <-done; err != nil {
		t.Errorf("the running statement: %v", err)
	}
	if err := <-stopped; err != nil {
		t.Errorf("stop: %v", err)
	}
	if err := idle.Ping(); err == nil {
		t.Error("a connection outlived the server")
	}
}

func processes(r *running) string {
	var b strings.Builder
	for _, p := range r.engine.ProcessList.Processes() {
		b.WriteString(p.Query + "\n")
	}
	return b.String()
}

func TestDrainCutsStatementsAfterItsTime(t *testing.T) {
	r := start(t, func(c *Config) { c.DrainTimeout = 50 * time.Millisecond })
	db := r.root(t)
	done := make(chan error, 1)
	go func() {
		_, err := rows(db, "SELECT sleep(60)")
		done <- err
	}()
	for !strings.Contains(processes(r), "sleep(60)") {
		time.Sleep(time.Millisecond)
	}
	begin := time.Now()
	if err := r.stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	if err := <-done; err == nil {
		t.Error("the statement ended well")
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}

func certificate(t *testing.T, dir string) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	pemCert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	pool.AppendCertsFromPEM(pemCert)
	return write(t, dir, "cert.pem", string(pemCert)), write(t, dir, "key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}))), pool
}

func TestTLSAndItsReload(t *testing.T) {
	dir := t.TempDir()
	cert, key, pool := certificate(t, dir)
	r := start(t, func(c *Config) { c.TLSCert, c.TLSKey, c.RequireTLS = cert, key, true })
	wantError(t, r.root(t).Ping(), 3159, "HY000", "")
	secure := func(pool *x509.CertPool) error {
		name := t.Name() + time.Now().String()
		if err := mysql.RegisterTLSConfig(name, &tls.Config{RootCAs: pool}); err != nil {
			t.Fatal(err)
		}
		defer mysql.DeregisterTLSConfig(name)
		cfg := mysql.NewConfig()
		cfg.User, cfg.Net, cfg.Addr, cfg.TLSConfig = "root", "tcp", r.addr, name
		c, err := mysql.NewConnector(cfg)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := c.Connect(context.Background())
		if err != nil {
			return err
		}
		return conn.Close()
	}
	if err := secure(pool); err != nil {
		t.Fatal(err)
	}
	_, _, renewed := certificate(t, dir)
	if err := r.ReloadTLS(); err != nil {
		t.Fatal(err)
	}
	if err := secure(renewed); err != nil {
		t.Errorf("after the reload: %v", err)
	}
	write(t, dir, "cert.pem", "nonsense")
	if err := r.ReloadTLS(); err == nil {
		t.Error("a broken certificate was loaded")
	}
	if err := secure(renewed); err != nil {
		t.Errorf("after a reload that failed: %v", err)
	}
}

func TestBadSettingsStopTheStart(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"'--memory-limit'":             func(c *Config) { c.MemoryLimit = "lots" },
		"too little":                   func(c *Config) { c.MemoryLimit = "1MiB" },
		"'--allow-hosts'":              func(c *Config) { c.AllowHosts = []string{"host:99999"} },
		"'--files-dir'":                func(c *Config) { c.FilesDir = "/does/not/exist" },
		"'--tls-key' is missing":       func(c *Config) { c.TLSCert = "x" },
		"'--tls-cert'":                 func(c *Config) { c.TLSCert, c.TLSKey = "/does/not", "/exist" },
		"'--require-secure-transport'": func(c *Config) { c.RequireTLS = true },
		"'--max-connections'":          func(c *Config) { c.MaxConnections = -1 },
		"'--listen'":                   func(c *Config) { c.Listen = "127.0.0.1:999999" },
		"'--http'":                     func(c *Config) { c.HTTP = "127.0.0.1:999999" },
		"'--init-file'":                func(c *Config) { c.InitFile = "/does/not/exist.sql" },
	} {
		if _, err := tryStart(t, change); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// Secrets of statements are nowhere: not in errors, warnings, the process list or the log.
func TestSecretsAreNowhere(t *testing.T) {
	r := start(t)
	db := r.root(t)
	do(t, db, "SET GLOBAL long_query_time = 0.000001")
	t.Cleanup(func() { do(t, db, "SET GLOBAL long_query_time = 10") })
	var seen strings.Builder
	for _, s := range []string{
		"CREATE USER a IDENTIFIED BY 'canary-3f1c'",
		"CREATE USER a IDENTIFIED BY 'canary-3f1c'",
		"CREATE USER b IDENTIFIED BY 'canary-3f1c' NONSENSE",
		"CREATE USER c IDENTIFIED WITH no_such_plugin BY 'canary-3f1c'",
		"ALTER USER nobody IDENTIFIED BY 'canary-3f1c'",
		"SET PASSWORD FOR a = 'canary-3f1c'",
		"CREATE VIEW v AS SELECT * FROM read_kafka(bootstrapServers => '127.0.0.1:1', subscribe => 't', `kafka.sasl.jaas.config` => 'PlainLoginModule required username=\"u\" password=\"canary-3f1c\";')",
		"SELECT * FROM read_kafka(bootstrapServers => '127.0.0.1:1', subscribe => 't', `kafka.security.protocol` => 'SASL_PLAINTEXT', `kafka.sasl.mechanism` => 'PLAIN', " +
			"`kafka.sasl.jaas.config` => 'org.apache.kafka.common.security.plain.PlainLoginModule required username=\"u\" password=\"canary-3f1c\";', `kafka.request.timeout.ms` => 500)",
		"SELECT * FROM read_kafka(bootstrapServers => '127.0.0.1:1', subscribe => 't', `kafka.ssl.key.password` => 'canary-3f1c') WHERE nope = 1",
		"SELECT * FROM read_kafka(bootstrapServers => '127.0.0.1:1', `kafka.ssl.key.password` => 'canary-3f1c' canary",
		"EXPLAIN SELECT * FROM read_kafka(bootstrapServers => '127.0.0.1:1', subscribe => 't', `kafka.ssl.key.password` => 'canary-3f1c')",
		"EXPLAIN FORMAT=JSON SELECT * FROM read_kafka(bootstrapServers => '127.0.0.1:1', subscribe => 't', `kafka.ssl.key.password` => 'canary-3f1c')",
		"EXPLAIN ANALYZE SELECT * FROM read_kafka(bootstrapServers => '127.0.0.1:1', subscribe => 't', `kafka.ssl.key.password` => 'canary-3f1c')",
	} {
		got, err := rows(db, s)
		seen.WriteString(got + "\n")
		if err != nil {
			seen.WriteString(err.Error() + "\n")
		}
		warnings, err := rows(db, "SHOW WARNINGS")
		if err != nil {
			t.Fatal(err)
		}
		seen.WriteString(warnings + "\n")
	}
	list, err := rows(db, "SHOW FULL PROCESSLIST")
	if err != nil {
		t.Fatal(err)
	}
	for where, text := range map[string]string{"an answer": seen.String(), "the process list": list, "the log": r.log.String()} {
		for line := range strings.Lines(text) {
			if strings.Contains(line, "canary-3f1c") {
				t.Errorf("found in %s: %s", where, line)
			}
		}
	}
	if !strings.Contains(r.log.String(), "slow statement") || !strings.Contains(r.log.String(), "IDENTIFIED BY '***'") {
		t.Error("the statements were not logged at all")
	}
}
