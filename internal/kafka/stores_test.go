package kafka

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pavlo-v-chernykh/keystore-go/v4"
	"software.sslmate.com/src/go-pkcs12"

	"millrace/internal/sqlerr"
)

// stored are the stores of one authority and one client in every format, in files below dir.
type stored struct {
	dir                     string
	authority               *authority
	brokerCertificate, key  string
	clientChain, clientKey  string
	trustJKS, trustPKCS12   string
	clientJKS, clientPKCS12 string
}

const storePassword, keyPassword = "store-pässword", "key-password"

func newStored(t *testing.T) *stored {
	t.Helper()
	s := &stored{dir: t.TempDir(), authority: newAuthority(t)}
	s.brokerCertificate, s.key = s.authority.issue("broker.test")
	s.clientChain, s.clientKey = s.authority.issue("client")
	leaf, _ := pem.Decode([]byte(s.clientChain))
	der, _ := pem.Decode([]byte(s.clientKey))
	certificate, err := x509.ParseCertificate(leaf.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.ParsePKCS8PrivateKey(der.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, content []byte, err error) string {
		t.Helper()
		if err == nil {
			err = os.WriteFile(filepath.Join(s.dir, name), content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	ca := keystore.Certificate{Type: "X509", Content: s.authority.cert.Raw}
	store := func(name string, ks keystore.KeyStore) string {
		var b bytes.Buffer
		err := ks.Store(&b, []byte(storePassword))
		return write(name, b.Bytes(), err)
	}
	trust, client := keystore.New(), keystore.New()
	if err := trust.SetTrustedCertificateEntry("ca", keystore.TrustedCertificateEntry{CreationTime: time.Now(), Certificate: ca}); err != nil {
		t.Fatal(err)
	}
	entry := keystore.PrivateKeyEntry{CreationTime: time.Now(), PrivateKey: der.Bytes, CertificateChain: []keystore.Certificate{{Type: "X509", Content: leaf.Bytes}, ca}}
	if err := client.SetPrivateKeyEntry("me", entry, []byte(keyPassword)); err != nil {
		t.Fatal(err)
	}
	s.trustJKS, s.clientJKS = store("trust.jks", trust), store("client.jks", client)
	content, err := pkcs12.Modern.EncodeTrustStore([]*x509.Certificate{s.authority.cert}, storePassword)
	s.trustPKCS12 = write("trust.p12", content, err)
	content, err = pkcs12.Modern.Encode(key, certificate, []*x509.Certificate{s.authority.cert}, storePassword)
	s.clientPKCS12 = write("client.p12", content, err)
	return s
}

// meet lets a client of these properties meet a broker that wants a client certificate, if clients is set.
func (s *stored) meet(t *testing.T, clients bool, properties map[string]string) error {
	t.Helper()
	c, err := parseSSL(t, s.dir, properties)
	if err != nil {
		return err
	}
	var pool *x509.CertPool
	if clients {
		pool = x509.NewCertPool()
		pool.AddCert(s.authority.cert)
	}
	return handshakeWith(t, c, s.brokerCertificate, s.key, "broker.test", pool)
}

func TestStoresOfEveryFormatServeAHandshake(t *testing.T) {
	s := newStored(t)
	inline := func(name string) string {
		content, err := os.ReadFile(filepath.Join(s.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return base64.StdEncoding.EncodeToString(content)
	}
	for name, trust := range map[string]map[string]string{
		"JKS":                  {"ssl.truststore.location": s.trustJKS, "ssl.truststore.password": storePassword, "ssl.truststore.type": "JKS"},
		"JKS without password": {"ssl.truststore.location": s.trustJKS},
		"JKS inline":           {"ssl.truststore.certificates": inline(s.trustJKS), "ssl.truststore.password": storePassword},
		"PKCS12":               {"ssl.truststore.location": s.trustPKCS12, "ssl.truststore.password": storePassword, "ssl.truststore.type": "pkcs12"},
		"PKCS12 inline":        {"ssl.truststore.certificates": inline(s.trustPKCS12), "ssl.truststore.password": storePassword},
	} {
		if err := s.meet(t, false, trust); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for name, client := range map[string]map[string]string{
			"JKS":           {"ssl.keystore.location": s.clientJKS, "ssl.keystore.password": storePassword, "ssl.key.password": keyPassword},
			"PKCS12":        {"ssl.keystore.location": s.clientPKCS12, "ssl.keystore.password": storePassword},
			"PKCS12 inline": {"ssl.keystore.certificate.chain": inline(s.clientPKCS12), "ssl.keystore.password": storePassword},
		} {
			both := map[string]string{}
			for _, m := range []map[string]string{trust, client} {
				for k, v := range m {
					both[k] = v
				}
			}
			if err := s.meet(t, true, both); err != nil {
				t.Errorf("client %s: %v", name, err)
			}
		}
	}
}

func TestStoresThatCannotBeOpenedSayWhy(t *testing.T) {
	s := newStored(t)
	for _, c := range []struct {
		name       string
		properties map[string]string
		kind       *sqlerr.Kind
		text       string
	}{
		{"JKS, wrong password", map[string]string{"ssl.truststore.location": s.trustJKS, "ssl.truststore.password": "hunter2"}, sqlerr.OptionInvalid, "the password does not open it\nhint: check 'ssl.truststore.password'"},
		{"PKCS12, wrong password", map[string]string{"ssl.truststore.location": s.trustPKCS12, "ssl.truststore.password": "hunter2"}, sqlerr.OptionInvalid, "the password does not open it"},
		{"PKCS12, no password", map[string]string{"ssl.truststore.location": s.trustPKCS12}, sqlerr.OptionMissing, "'ssl.truststore.location' needs 'ssl.truststore.password'"},
		{"JKS key, wrong password", map[string]string{"ssl.keystore.location": s.clientJKS, "ssl.keystore.password": storePassword, "ssl.key.password": "hunter2"}, sqlerr.OptionInvalid, "check 'ssl.keystore.password' and 'ssl.key.password'"},
		{"JKS key, password of the store", map[string]string{"ssl.keystore.location": s.clientJKS, "ssl.keystore.password": storePassword}, sqlerr.OptionInvalid, "the password does not open it"},
		{"JKS key, no password", map[string]string{"ssl.keystore.location": s.clientJKS}, sqlerr.OptionMissing, "needs 'ssl.keystore.password'"},
		{"JKS without key", map[string]string{"ssl.keystore.location": s.trustJKS, "ssl.keystore.password": storePassword}, sqlerr.OptionInvalid, "it holds no private key"},
		{"JKS without certificate to trust", map[string]string{"ssl.truststore.location": s.clientJKS, "ssl.truststore.password": storePassword}, sqlerr.OptionInvalid, "it holds no certificate"},
		{"PKCS12 with key as trust", map[string]string{"ssl.truststore.location": s.clientPKCS12, "ssl.truststore.password": storePassword}, sqlerr.OptionInvalid, "cannot be used as a trust store"},
		{"another type", map[string]string{"ssl.truststore.location": s.trustJKS, "ssl.truststore.type": "PKCS12"}, sqlerr.OptionConflict, "'ssl.truststore.type' is PKCS12 and 'ssl.truststore.location' is JKS"},
	} {
		err := s.meet(t, false, c.properties)
		if !sqlerr.HasKind(err, c.kind) || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), storePassword) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// openssl writes a key as users have it; the test is left out where there is none.
func openssl(t *testing.T, input string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "openssl", args...)
	cmd.Stdin = strings.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("openssl: %v %s", err, stderr.String())
	}
	return string(out)
}

func TestEncryptedKeysAreDecrypted(t *testing.T) {
	s := newStored(t)
	for name, args := range map[string][]string{
		"aes256, sha256": {"-v2", "aes-256-cbc"}, "aes128, sha1": {"-v2", "aes-128-cbc", "-v2prf", "hmacWithSHA1"}, "aes192, sha512": {"-v2", "aes-192-cbc", "-v2prf", "hmacWithSHA512"},
		"3des": {"-v2", "des3"}, "many rounds": {"-v2", "aes-256-cbc", "-iter", "100000"},
	} {
		t.Run(name, func(t *testing.T) {
			encrypted := openssl(t, s.clientKey, append([]string{"pkcs8", "-topk8", "-passout", "pass:" + keyPassword}, args...)...)
			properties := func(password string) map[string]string {
				return map[string]string{"ssl.truststore.certificates": s.authority.pem, "ssl.keystore.certificate.chain": s.clientChain, "ssl.keystore.key": encrypted, "ssl.key.password": password}
			}
			if err := s.meet(t, true, properties(keyPassword)); err != nil {
				t.Error(err)
			}
			if err := s.meet(t, true, properties("hunter2")); !sqlerr.HasKind(err, sqlerr.OptionInvalid) || !strings.Contains(err.Error(), "does not open it") || strings.Contains(err.Error(), "hunter2") {
				t.Error(err)
			}
			without := properties("x")
			delete(without, "ssl.key.password")
			if err := s.meet(t, true, without); err == nil || !strings.Contains(err.Error(), "'ssl.key.password' is missing") {
				t.Error(err)
			}
		})
	}
	for name, args := range map[string][]string{"old scheme": {"-v1", "PBE-SHA1-3DES"}, "scrypt": {"-scrypt"}, "too many rounds": {"-v2", "aes-256-cbc", "-iter", "6000000"}} {
		t.Run(name, func(t *testing.T) {
			block, _ := pem.Decode([]byte(openssl(t, s.clientKey, append([]string{"pkcs8", "-topk8", "-passout", "pass:x"}, args...)...)))
			if _, err := decryptPKCS8(block.Bytes, "x"); err == nil {
				t.Error("no error")
			}
		})
	}
}

// keytool is Java's own tool; the test is left out where there is none.
func TestStoresOfKeytoolAreRead(t *testing.T) {
	if _, err := exec.LookPath("keytool"); err != nil {
		t.Skip("there is no keytool here")
	}
	s := newStored(t)
	if err := os.WriteFile(filepath.Join(s.dir, "ca.pem"), []byte(s.authority.pem), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"JKS", "PKCS12"} {
		name := "keytool." + format
		cmd := exec.CommandContext(t.Context(), "keytool", "-importcert", "-noprompt", "-alias", "ca", "-file", filepath.Join(s.dir, "ca.pem"), "-keystore", filepath.Join(s.dir, name),
			"-storetype", format, "-storepass", "changeit")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
		if err := s.meet(t, false, map[string]string{"ssl.truststore.location": name, "ssl.truststore.password": "changeit"}); err != nil {
			t.Errorf("%s: %v", format, err)
		}
	}
}

// A store must not be able to keep a core busy for minutes.
func TestExcessiveIterationsAreRefusedBeforeTheWork(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	s := newStored(t)
	content, err := pkcs12.Modern.WithIterations(1000).Encode(key, s.authority.cert, nil, "x")
	if err != nil {
		t.Fatal(err)
	}
	if !modestIterations(content) {
		t.Error("1000 iterations are too many")
	}
	salted, err := asn1.Marshal(struct {
		Salt       []byte
		Iterations int
	}{[]byte("salt"), maxIterations + 1})
	if err != nil {
		t.Fatal(err)
	}
	if modestIterations(append(content[:0:0], append([]byte{0x30, byte(len(salted))}, salted...)...)) {
		t.Error("too many iterations pass")
	}
	if _, err := trustStore(formatPKCS12, string(salted), passwords{}); err != errTooManyIterations { //nolint:errorlint // identity is meant
		t.Error(err)
	}
}

// FuzzStores opens whatever comes.
func FuzzStores(f *testing.F) {
	f.Add([]byte("\xfe\xed\xfe\xed\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00\x02"), "x")
	f.Add([]byte("\x30\x82\x01\x00\x02\x01\x03"), "")
	f.Add([]byte("-----BEGIN ENCRYPTED PRIVATE KEY-----MAA=-----END ENCRYPTED PRIVATE KEY-----"), "x")
	f.Fuzz(func(t *testing.T, content []byte, password string) {
		format := formatOf(string(content))
		p := passwords{&password, password}
		if format == "" || format == "JCEKS" {
			return
		}
		if certs, err := openTrustStore(format, string(content), p); err != nil && certs != nil {
			t.Error("an error with certificates")
		}
		_, _ = openClientStore(format, string(content), "", p)
		_, _ = decryptPKCS8(content, password)
	})
}
