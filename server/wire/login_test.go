package wire

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

func as(user, password string) func(*mysql.Config) {
	return func(c *mysql.Config) { c.User, c.Passwd = user, password }
}

func TestPasswords(t *testing.T) {
	s := start(t, func(c *Config) { c.TLS = serverTLS() })
	for _, secured := range []bool{false, true} {
		for _, c := range []struct {
			user, password string
			ok             bool
		}{
			{"root", "", true},
			{"root", "x", false},
			{"native", "secret", true},
			{"native", "wrong", false},
			{"native", "", false},
			{"sha", "wrong", false},
			{"sha", "secret", true},
			{"sha", "secret", true},
			{"sha", "", false},
			{"locked", "secret", false},
			{"nobody", "", false},
			{"nobody", "secret", false},
		} {
			t.Run(fmt.Sprintf("%s %q tls=%v", c.user, c.password, secured), func(t *testing.T) {
				s.logins.forget()
				db := dial(t, s, func(m *mysql.Config) {
					as(c.user, c.password)(m)
					if secured {
						m.TLS = &tls.Config{InsecureSkipVerify: true}
					}
				})
				err := db.Ping()
				if c.ok && err != nil {
					t.Fatal(err)
				}
				if !c.ok {
					using := map[bool]string{true: "NO", false: "YES"}[c.password == ""]
					wantError(t, err, 1045, fmt.Sprintf("Access denied for user '%s'@'127.0.0.1' (using password: %s)", c.user, using))
				}
			})
		}
	}
}

// forget makes the tests of failing logins independent of each other.
func (t *throttle) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hosts = nil
}

func TestFastPathAfterAFullLogin(t *testing.T) {
	s := start(t, nil)
	ping := func(password string) error { return dial(t, s, as("sha", password)).Ping() }
	for range 3 {
		if err := ping("secret"); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.checks.count(); n != 1 {
		t.Errorf("%d slow checks", n)
	}
	if err := ping("wrong"); err == nil {
		t.Error("wrong password")
	}
	if n := s.checks.count(); n != 2 {
		t.Errorf("%d slow checks", n)
	}
	// A changed password is another entry.
	a, _ := s.cfg.Accounts.Find("sha", "")
	a.Auth = "stored hash of another password"
	if _, ok := s.passwords.get(&a); ok {
		t.Error("found by another hash")
	}
}

func TestPasswordCacheIsBounded(t *testing.T) {
	var p passwordCache
	for i := range passwordsKept + 100 {
		p.put(&Account{User: fmt.Sprint(i)}, []byte("x"))
	}
	if len(p.entries) != passwordsKept {
		t.Error(len(p.entries))
	}
}

// seal does what drivers do with a password: encrypt it, XOR salt, with the server's public key.
func seal(t *testing.T, publicKey, salt []byte, password string) []byte {
	t.Helper()
	block, _ := pem.Decode(publicKey)
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	plain := append([]byte(password), 0)
	for i := range plain {
		plain[i] ^= salt[i]
	}
	sealed, err := rsa.EncryptOAEP(sha1.New(), rand.Reader, key.(*rsa.PublicKey), plain, nil)
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

// What the drivers do, step by step: the public key on request, the password XOR salt encrypted with it.
func TestPasswordByPublicKey(t *testing.T) {
	s := start(t, nil)
	for password, ok := range map[string]bool{"secret": true, "wrong": false} {
		r := connect(t, s)
		r.caps = rawCaps
		r.write(r.loginPacket("sha", PluginSHA2, make([]byte, sha256.Size), ""))
		if b := r.read(); !bytes.Equal(b, []byte{headerAuthMore, fullAuthNeeded}) {
			t.Fatalf("%q", b)
		}
		r.write([]byte{wantPublicKey})
		sealed := seal(t, r.read()[1:], r.salt, password)
		r.write(sealed)
		if ok {
			r.wantOK()
		} else {
			r.wantErr(1045, "28000")
		}
	}
	// Clear text on an open socket is not a password.
	r := connect(t, s)
	r.caps = rawCaps
	r.write(r.loginPacket("sha", PluginSHA2, make([]byte, sha256.Size), ""))
	r.read()
	r.write([]byte("secret\x00"))
	r.wantErr(1045, "28000")
}

func TestPasswordsNeedKeyOrTLS(t *testing.T) {
	s := start(t, func(c *Config) { c.RSA = nil })
	if err := dial(t, s, as("sha", "secret")).Ping(); err == nil {
		t.Error("logged in")
	}
}

func TestLoginThroughUnixSocket(t *testing.T) {
	s := start(t, func(c *Config) { c.RSA, c.RequireTLS = nil, true })
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	db := dial(t, s, func(c *mysql.Config) {
		as("sha", "secret")(c)
		c.Net, c.Addr = "unix", l.Addr().String()
	})
	if err := db.Ping(); err != nil {
		t.Fatal(err)
	}
	if h := s.Conns()[0].Host; h != "localhost" {
		t.Error(h)
	}
	_ = db.Close()
	if err := s.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestWhatSessionsKnowOfTheirClient(t *testing.T) {
	s := start(t, func(c *Config) { c.TLS = serverTLS() })
	// The client answers with another plugin than the account's: attributes must survive the switch.
	db := dial(t, s, func(c *mysql.Config) {
		as("native", "secret")(c)
		c.DBName, c.ConnectionAttributes = "shop", "program_name:tester"
		c.TLS = &tls.Config{InsecureSkipVerify: true}
		c.Apply(mysql.EnableCompression(true))
	})
	alive(t, db)
	conns := s.Conns()
	if len(conns) != 1 {
		t.Fatal(len(conns))
	}
	c := conns[0]
	if c.ID != 1 || c.User != "native" || c.Account.User != "native" || c.Host != "127.0.0.1" || c.Database != "shop" || c.TLS == nil ||
		c.Attributes["program_name"] != "tester" || c.Capabilities&capCompress == 0 || c.Capabilities&capLocalFiles != 0 {
		t.Errorf("%+v", c)
	}
}

func TestLoginToMissingDatabase(t *testing.T) {
	s := start(t, nil)
	wantError(t, dial(t, s, func(c *mysql.Config) { c.DBName = "missing" }).Ping(), 1049, "Unknown database 'missing'")
	eventually(t, "session closed", func() bool {
		s.fake.mu.Lock()
		defer s.fake.mu.Unlock()
		return s.fake.closed == 1
	})
}

func TestSessionsMayBeRefused(t *testing.T) {
	s := start(t, func(c *Config) {
		c.Accounts.(fakeAccounts)["unwanted"] = Account{User: "unwanted", Plugin: PluginNative}
	})
	wantError(t, dial(t, s, as("unwanted", "")).Ping(), 1142, "not today")
}

func TestTLSVersionsAndRequirement(t *testing.T) {
	s := start(t, func(c *Config) {
		c.TLS, c.RequireTLS = serverTLS(), true
		c.TLS.MinVersion = tls.VersionTLS10
	})
	for version, ok := range map[uint16]bool{tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		db := dial(t, s, func(c *mysql.Config) {
			c.TLS = &tls.Config{RootCAs: testAuthority().pool, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS10, MaxVersion: version}
		})
		if err := db.Ping(); (err == nil) != ok {
			t.Errorf("TLS %x: %v", version, err)
		}
	}
	wantError(t, dial(t, s, nil).Ping(), 3159, "without TLS")
}

func TestClientCertificates(t *testing.T) {
	s := start(t, func(c *Config) {
		c.TLS = serverTLS()
		c.Accounts.(fakeAccounts)["cert"] = Account{User: "cert", Plugin: PluginNative, Allowed: func(s *tls.ConnectionState) bool {
			return s != nil && len(s.VerifiedChains) > 0 && s.VerifiedChains[0][0].Subject.CommonName == "client"
		}}
	})
	with := func(cfg *tls.Config) *sql.DB {
		return dial(t, s, func(c *mysql.Config) {
			c.User, c.TLS = "cert", cfg
		})
	}
	a := testAuthority()
	if err := with(&tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{a.client}}).Ping(); err != nil {
		t.Error(err)
	}
	wantError(t, with(nil).Ping(), 1045, "Access denied")
	wantError(t, with(&tls.Config{InsecureSkipVerify: true}).Ping(), 1045, "Access denied")
	wantError(t, with(&tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{a.server}}).Ping(), 1045, "Access denied")
}

func TestCertificatesMayBeReloaded(t *testing.T) {
	var current atomic.Pointer[tls.Config]
	s := start(t, func(c *Config) { c.GetTLS = current.Load })
	secured := func(c *mysql.Config) { c.TLS = &tls.Config{InsecureSkipVerify: true} }
	if err := dial(t, s, secured).Ping(); !errors.Is(err, mysql.ErrNoTLS) {
		t.Error(err)
	}
	current.Store(serverTLS())
	if err := dial(t, s, secured).Ping(); err != nil {
		t.Error(err)
	}
}

// An ERR in place of the greeting has no SQLSTATE: nothing is known of the client yet.
func TestTooManyConnections(t *testing.T) {
	s := start(t, func(c *Config) { c.MaxConnections = func() int { return 2 } })
	first, second := login(t, s, 0), login(t, s, 0)
	nc, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	got, err := io.ReadAll(nc)
	if want := "\x17\x00\x00\x00\xff\x10\x04Too many connections"; err != nil || string(got) != want {
		t.Fatalf("%q, %v", got, err)
	}
	wantError(t, dial(t, s, nil).Ping(), 1040, "Too many connections")
	first.command(comQuit)
	first.wantEnd()
	eventually(t, "room", func() bool { return len(s.Conns()) == 1 })
	login(t, s, 0).ping()
	second.ping()
}

func TestPeersThatDoNotLogIn(t *testing.T) {
	s := start(t, func(c *Config) { c.LoginTimeout = 50 * time.Millisecond })
	t.Run("time", func(t *testing.T) {
		r := connect(t, s)
		began := time.Now()
		r.wantEnd()
		if d := time.Since(began); d > 5*time.Second {
			t.Error(d)
		}
	})
	t.Run("time during the exchange", func(t *testing.T) {
		r := connect(t, s)
		r.caps = rawCaps
		r.write(r.loginPacket("sha", PluginSHA2, make([]byte, 32), ""))
		r.read()
		r.wantEnd()
	})
	t.Run("bytes", func(t *testing.T) {
		r := connect(t, s)
		if _, err := r.nc.Write([]byte{0xff, 0xff, 0xff, 1}); err != nil {
			t.Fatal(err)
		}
		if b := r.read(); b[0] != headerErr || !strings.Contains(string(b), "max_allowed_packet") {
			t.Errorf("%q", b)
		}
	})
	for name, data := range map[string]string{
		"http":                    "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"zeros":                   strings.Repeat("\x00", 100),
		"old protocol":            string(frame(1, []byte("\x05\x00\x00\x00\x00root\x00\x00"))),
		"short":                   string(frame(1, []byte{1, 2, 3})),
		"tls request without tls": string(frame(1, join(uint32(rawCaps|capTLS), make([]byte, 28)))),
		"cut":                     string(frame(1, join(uint32(rawCaps), make([]byte, 28), "root\x00\x20"))),
	} {
		t.Run(name, func(t *testing.T) {
			r := connect(t, s)
			if _, err := io.WriteString(r.nc, data); err != nil {
				t.Fatal(err)
			}
			drain(r.nc) // until the server ends it
		})
	}
	login(t, s, 0).ping()
}

func TestChangeUser(t *testing.T) {
	s := start(t, nil)
	change := func(r *raw, user, db string) {
		r.command(comChangeUser, user, 0, 0, db, 0, uint16(45), PluginNative, 0)
	}
	r := login(t, s, capSessionTrack)
	r.prepare("ok", 0)
	// To one without password, which still answers a challenge.
	change(r, "root", "shop")
	if b := r.read(); b[0] != headerAuthSwitch || !strings.HasPrefix(string(b[1:]), PluginNative+"\x00") {
		t.Fatalf("%q", b)
	}
	r.write(nil)
	if ok := r.wantOK(); !strings.Contains(string(ok.rest), "shop") {
		t.Errorf("%q", ok.rest)
	}
	s.fake.mu.Lock()
	if s.fake.closed != 1 || s.fake.stmts != 0 {
		t.Errorf("%d closed, %d statements", s.fake.closed, s.fake.stmts)
	}
	s.fake.mu.Unlock()
	// To one with a password by another plugin.
	change(r, "sha", "")
	if b := r.read(); b[0] != headerAuthSwitch || !strings.HasPrefix(string(b[1:]), PluginSHA2+"\x00") {
		t.Fatalf("%q", b)
	}
	r.write(make([]byte, sha256.Size))
	if b := r.read(); !bytes.Equal(b, []byte{headerAuthMore, fullAuthNeeded}) {
		t.Fatalf("%q", b)
	}
	r.write([]byte{wantPublicKey})
	r.read()
	r.write(make([]byte, 256))
	r.wantErr(1045, "28000")
	r.wantEnd()
	eventually(t, "connection ended", func() bool { return len(s.Conns()) == 0 })
}

func TestChangeUserOfConnectorIsSeenByConns(t *testing.T) {
	s := start(t, nil)
	r := login(t, s, 0)
	r.command(comChangeUser, "native", 0, 0, 0, uint16(45), PluginNative, 0)
	b := r.read()
	salt := b[len(b)-1-saltSize : len(b)-1]
	once := sha1.Sum([]byte("secret"))
	twice := sha1.Sum(once[:])
	mask := sha1.Sum(append(bytes.Clone(salt), twice[:]...))
	for i := range mask {
		mask[i] ^= once[i]
	}
	r.write(mask[:])
	r.wantOK()
	if c := s.Conns()[0]; c.User != "native" || c.ID != r.id {
		t.Errorf("%+v", c)
	}
	r.ping()
}

func TestPanicDuringLoginEndsOnlyThatConnection(t *testing.T) {
	s := start(t, func(c *Config) {
		open := c.Open
		c.Open = func(f *Conn) (Session, error) {
			if f.Database == "panic" {
				panic("in Open")
			}
			return open(f)
		}
	})
	if err := dial(t, s, func(c *mysql.Config) { c.DBName = "panic" }).Ping(); err == nil {
		t.Error("logged in")
	}
	login(t, s, 0).ping()
}

// The answer to a challenge may begin with any byte, also with that of COM_QUIT: the client must not be taken for gone.
func TestChangeUserWithAnAnswerThatBeginsLikeQuit(t *testing.T) {
	s := start(t, nil)
	r := login(t, s, 0)
	r.command(comChangeUser, "sha", 0, 0, 0, uint16(45), PluginNative, 0)
	b := r.read()
	salt := b[len(b)-1-saltSize : len(b)-1]
	r.write(bytes.Repeat([]byte{comQuit}, sha256.Size))
	r.read()
	r.write([]byte{wantPublicKey})
	publicKey := r.read()[1:]
	r.write(seal(t, publicKey, salt, "secret"))
	r.wantOK()
	r.command(comQuery, "rows 1")
	r.columns(2)
	r.rows(1)
}

func TestChangeUserThatStopsHalfway(t *testing.T) {
	t.Run("runs out of time", func(t *testing.T) {
		s := start(t, func(c *Config) { c.LoginTimeout = 50 * time.Millisecond })
		r := login(t, s, 0)
		r.command(comChangeUser, "native", 0, 0, 0, uint16(45), PluginNative, 0)
		r.read()
		r.wantEnd()
	})
	t.Run("does not hold up a shutdown", func(t *testing.T) {
		s := start(t, func(c *Config) { c.LoginTimeout = time.Hour })
		r := login(t, s, 0)
		r.command(comChangeUser, "native", 0, 0, 0, uint16(45), PluginNative, 0)
		r.read()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := s.Shutdown(ctx); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		r.wantErr(1053, "08S01")
		r.wantEnd()
	})
}
