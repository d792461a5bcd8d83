package kafka

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/keytab"

	"millrace/internal/sqlerr"
)

// kerberosConfig is a login by a keytab that was made here, at KDCs.
func kerberosConfig(t *testing.T, kdcs string) Config {
	t.Helper()
	dir := t.TempDir()
	k := keytab.New()
	if err := k.AddEntry("reader", "EXAMPLE.COM", "hunter2", time.Now(), 1, 18); err != nil {
		t.Fatal(err)
	}
	content, err := k.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "reader.keytab"), content, 0o600), os.WriteFile(filepath.Join(dir, "bad.keytab"), content[:20], 0o600)); err != nil {
		t.Fatal(err)
	}
	parse := func(file string) (Config, error) {
		c, _, err := ParseProperties(Config{}, map[string]string{"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "GSSAPI", "sasl.kerberos.service.name": "kafka", "sasl.kerberos.kdc": kdcs,
			"sasl.jaas.config": `com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true keyTab="` + file + `" principal="reader@EXAMPLE.COM";`}, PropertyOptions{FilesDir: dir})
		return c.withDefaults(), err
	}
	for file, text := range map[string]string{"bad.keytab": "the keytab cannot be read", "../reader.keytab": "not below", "none.keytab": "no such file"} {
		if _, err := parse(file); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", file, err)
		}
	}
	c, err := parse("reader.keytab")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestKDCsAreReachedByTheRulesOfTheServer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	c := kerberosConfig(t, listener.Addr().String())
	c.Allow = func(string, net.IP) error { return errors.New("not covered") }
	if _, err := initial(t, c); !sqlerr.HasKind(err, sqlerr.KafkaHostRefused) || !strings.Contains(err.Error(), "KDC '"+listener.Addr().String()+"'") {
		t.Error(err)
	}
	c.Allow = nil
	// A KDC that hangs up gives no ticket; what the client was told names realm and principal.
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	if _, err := initial(t, c); !sqlerr.HasKind(err, sqlerr.KafkaUnreachable) || !strings.Contains(err.Error(), "EXAMPLE.COM") {
		t.Error(err)
	}
	if _, err := initial(t, kerberosConfig(t, "kdc.invalid:88")); !sqlerr.HasKind(err, sqlerr.KafkaUnreachable) || !strings.Contains(err.Error(), "kdc.invalid:88") {
		t.Error(err)
	}
}

// FuzzKeytab reads whatever comes without a panic.
func FuzzKeytab(f *testing.F) {
	f.Add([]byte("\x05\x02\x00\x00\x00\x05abcde"))
	f.Add([]byte("\x05\x02\xff\xff\xff\xff"))
	f.Fuzz(func(_ *testing.T, b []byte) { _ = unmarshalKeytab(keytab.New(), b) })
}
