package kafka

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"millrace/internal/sqlerr"
)

// authority signs certificates for one test.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	a.key = a.newKey()
	a.cert, a.pem = a.sign(template, template, a.key, a.key)
	return a
}

func (a *authority) newKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	return key
}

func (a *authority) sign(template, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) (*x509.Certificate, string) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// issue gives certificate and key for a host as PEM.
func (a *authority) issue(host string) (certificate, key string) {
	k := a.newKey()
	_, certificate = a.sign(&x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}, a.cert, k, a.key)
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		a.t.Fatal(err)
	}
	return certificate, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func parseSSL(t *testing.T, filesDir string, properties map[string]string) (Config, error) {
	t.Helper()
	all := map[string]string{"security.protocol": "SSL"}
	for k, v := range properties {
		all[k] = v
	}
	c, _, err := ParseProperties(Config{}, all, PropertyOptions{FilesDir: filesDir})
	return c, err
}

// handshake lets a client configured by properties meet a broker with the certificate and reports the client's error.
func handshake(t *testing.T, properties map[string]string, certificate, key, serverName string, clients *x509.CertPool) error {
	t.Helper()
	c, err := parseSSL(t, "", properties)
	if err != nil {
		t.Fatal(err)
	}
	return handshakeWith(t, c, certificate, key, serverName, clients)
}

// handshakeWith does so for a client that is configured already.
func handshakeWith(t *testing.T, c Config, certificate, key, serverName string, clients *x509.CertPool) error {
	t.Helper()
	pair, err := tls.X509KeyPair([]byte(certificate), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	broker := &tls.Config{Certificates: []tls.Certificate{pair}, MaxVersion: tls.VersionTLS12} // 1.2: the client learns of a refused certificate within the handshake
	if clients != nil {
		broker.ClientAuth, broker.ClientCAs = tls.RequireAndVerifyClientCert, clients
	}
	here, there := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = tls.Server(there, broker).Handshake() // the client's side is what counts
		_ = there.Close()
	}()
	config := c.TLS.Clone()
	config.ServerName = serverName
	err = tls.Client(here, config).Handshake()
	_ = here.Close()
	<-done
	return err
}

func TestTLSVerifiesWhatTheAlgorithmSays(t *testing.T) {
	ours, other := newAuthority(t), newAuthority(t)
	certificate, key := ours.issue("broker.test")
	trust := map[string]string{"ssl.truststore.certificates": ours.pem}
	anyHost := map[string]string{"ssl.truststore.certificates": ours.pem, "ssl.endpoint.identification.algorithm": ""}
	foreign := map[string]string{"ssl.truststore.certificates": other.pem, "ssl.endpoint.identification.algorithm": ""}
	if err := handshake(t, trust, certificate, key, "broker.test", nil); err != nil {
		t.Errorf("right host: %v", err)
	}
	var host x509.HostnameError
	if err := handshake(t, trust, certificate, key, "elsewhere.test", nil); !errors.As(err, &host) {
		t.Errorf("wrong host: %v", err)
	}
	if err := handshake(t, anyHost, certificate, key, "elsewhere.test", nil); err != nil {
		t.Errorf("wrong host that is not verified: %v", err)
	}
	var unknown x509.UnknownAuthorityError
	if err := handshake(t, foreign, certificate, key, "broker.test", nil); !errors.As(err, &unknown) {
		t.Errorf("an empty algorithm must not skip the chain: %v", err)
	}
}

func TestTLSPresentsTheClientCertificate(t *testing.T) {
	ours := newAuthority(t)
	certificate, key := ours.issue("broker.test")
	chain, clientKey := ours.issue("client")
	clients := x509.NewCertPool()
	clients.AddCert(ours.cert)
	mutual := map[string]string{"ssl.truststore.certificates": ours.pem, "ssl.keystore.certificate.chain": chain, "ssl.keystore.key": clientKey}
	if err := handshake(t, mutual, certificate, key, "broker.test", clients); err != nil {
		t.Errorf("with certificate: %v", err)
	}
	if err := handshake(t, map[string]string{"ssl.truststore.certificates": ours.pem}, certificate, key, "broker.test", clients); err == nil {
		t.Error("the broker took a client without certificate")
	}
}

func TestPEMMayStandOnOneLine(t *testing.T) {
	a := newAuthority(t)
	for name, text := range map[string]string{
		"as written":      a.pem,
		"spaces":          strings.ReplaceAll(a.pem, "\n", " "),
		"nothing between": strings.ReplaceAll(a.pem, "\n", ""),
		"escaped":         strings.ReplaceAll(a.pem, "\n", `\n`),
		"carriage return": strings.ReplaceAll(a.pem, "\n", "\r\n"),
		"with remarks":    "subject=test\n" + a.pem + "# end\n",
	} {
		c, err := parseSSL(t, "", map[string]string{"ssl.truststore.certificates": text, "ssl.truststore.type": "PEM"})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := x509.NewCertPool()
		want.AddCert(a.cert)
		if !c.TLS.RootCAs.Equal(want) {
			t.Errorf("%s: another certificate", name)
		}
	}
}

func TestStoresAreReadOnlyBelowFilesDir(t *testing.T) {
	a := newAuthority(t)
	chain, key := a.issue("client")
	top := t.TempDir()
	dir := filepath.Join(top, "files")
	for path, content := range map[string]string{
		"files/ca.pem": a.pem, "files/sub/client.pem": chain + key, "files/chain.pem": chain, "files/store.jks": "\xfe\xed\xfe\xed",
		"files/big.pem": strings.Repeat("x", maxStoreBytes+1), "outside.pem": a.pem, "files-too/ca.pem": a.pem,
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(top, path)), 0o755), os.WriteFile(filepath.Join(top, path), []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"inside.pem": "ca.pem", "out.pem": "../outside.pem", "abs.pem": filepath.Join(top, "outside.pem"), "up": ".."} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
	}
	for _, c := range []struct {
		path string
		kind *sqlerr.Kind // nil when it can be read
		text string
	}{
		{"ca.pem", nil, ""},
		{"./sub/../ca.pem", nil, ""},
		{filepath.Join(dir, "ca.pem"), nil, ""},
		{"inside.pem", nil, ""},
		{"out.pem", sqlerr.OptionInvalid, "cannot be read below"},
		{"abs.pem", sqlerr.OptionInvalid, "cannot be read below"},
		{"up/outside.pem", sqlerr.OptionInvalid, "cannot be read below"},
		{"../outside.pem", sqlerr.OptionForbidden, "not below the server's --files-dir"},
		{filepath.Join(top, "outside.pem"), sqlerr.OptionForbidden, "not below the server's --files-dir"},
		{filepath.Join(top, "files-too", "ca.pem"), sqlerr.OptionForbidden, "not below the server's --files-dir"},
		{"missing.pem", sqlerr.OptionInvalid, "no such file"},
		{"sub", sqlerr.OptionInvalid, "not a regular file"},
		{"big.pem", sqlerr.OptionInvalid, "larger than 4 MiB"},
		{"store.jks", sqlerr.OptionInvalid, "it is damaged"},
	} {
		_, err := parseSSL(t, dir, map[string]string{"ssl.truststore.location": c.path})
		if c.kind == nil && err != nil || c.kind != nil && (!sqlerr.HasKind(err, c.kind) || !strings.Contains(err.Error(), c.text)) {
			t.Errorf("%s: %v", c.path, err)
		}
	}
	_, err := parseSSL(t, dir, map[string]string{"ssl.truststore.location": "missing.pem"})
	if !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), top) {
		t.Errorf("the server's path stays out of the message: %v", err)
	}
	c, err := parseSSL(t, dir, map[string]string{"ssl.keystore.location": "sub/client.pem"})
	if err != nil || len(c.TLS.Certificates) != 1 {
		t.Errorf("key store: %v", err)
	}
	if _, err = parseSSL(t, dir, map[string]string{"ssl.keystore.location": "chain.pem"}); !sqlerr.HasKind(err, sqlerr.OptionMissing) {
		t.Errorf("key store without key: %v", err)
	}
	if c, err = parseSSL(t, dir, map[string]string{"ssl.keystore.location": "chain.pem", "ssl.keystore.key": key}); err != nil || len(c.TLS.Certificates) != 1 {
		t.Errorf("key store with its key beside: %v", err)
	}
}

func TestBrokenKeyMaterialIsNamed(t *testing.T) {
	a := newAuthority(t)
	chain, key := a.issue("client")
	_, otherKey := a.issue("other")
	encrypted := string(pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("hunter2")}))
	oldEncrypted := "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\nhunter2\n-----END RSA PRIVATE KEY-----\n"
	for name, c := range map[string]struct {
		chain, key, text string
		kind             *sqlerr.Kind
	}{
		"encrypted key":              {chain, encrypted, "is encrypted", sqlerr.OptionMissing},
		"encrypted key, old format":  {chain, oldEncrypted, "encrypted key of an old format", sqlerr.OptionInvalid},
		"key of another certificate": {chain, otherKey, "private key does not match public key", sqlerr.OptionInvalid},
		"two keys":                   {chain, key + otherKey, "more than one private key", sqlerr.OptionConflict},
		"key in place of the chain":  {key, key, "more than one private key", sqlerr.OptionConflict},
		"no chain":                   {key, "", "holds no certificate", sqlerr.OptionInvalid},
	} {
		properties := map[string]string{"ssl.keystore.certificate.chain": c.chain}
		if c.key != "" {
			properties["ssl.keystore.key"] = c.key
		}
		_, err := parseSSL(t, "", properties)
		if !sqlerr.HasKind(err, c.kind) || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := parseSSL(t, "", map[string]string{"ssl.truststore.certificates": chain + key}); !sqlerr.HasKind(err, sqlerr.OptionInvalid) {
		t.Errorf("a key in the trust store: %v", err)
	}
	if _, err := parseSSL(t, "x", map[string]string{"ssl.truststore.certificates": chain, "ssl.truststore.location": "a"}); !sqlerr.HasKind(err, sqlerr.OptionConflict) {
		t.Errorf("two trust stores: %v", err)
	}
}

func TestTLSKeyDiffersWhereverTLSDiffers(t *testing.T) {
	a, b := newAuthority(t), newAuthority(t)
	chain, key := a.issue("client")
	chain2, key2 := a.issue("client")
	seen := map[string]int{}
	for i, properties := range []map[string]string{
		{}, {"ssl.truststore.certificates": a.pem}, {"ssl.truststore.certificates": b.pem}, {"ssl.truststore.certificates": a.pem + b.pem},
		{"ssl.endpoint.identification.algorithm": ""}, {"ssl.endpoint.identification.algorithm": "", "ssl.truststore.certificates": a.pem},
		{"ssl.keystore.certificate.chain": chain, "ssl.keystore.key": key}, {"ssl.keystore.certificate.chain": chain2, "ssl.keystore.key": key2},
		{"ssl.enabled.protocols": "TLSv1.2"}, {"ssl.enabled.protocols": "TLSv1.3"}, {"ssl.cipher.suites": "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"},
		{"ssl.cipher.suites": "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"},
	} {
		c, err := parseSSL(t, "", properties)
		if err != nil {
			t.Fatal(err)
		}
		if (c.TLS == nil) != (c.TLSKey == "") || (c.TLS == nil) != (len(properties) == 0) {
			t.Errorf("%d: TLS and TLSKey do not go together", i)
		}
		if first, twice := seen[c.TLSKey]; twice {
			t.Errorf("%d and %d have one key", first, i)
		}
		seen[c.TLSKey] = i
		again, err := parseSSL(t, "", properties)
		if err != nil || again.TLSKey != c.TLSKey {
			t.Errorf("%d: the key is not stable", i)
		}
		if strings.Contains(c.TLSKey, "PRIVATE") {
			t.Errorf("%d: the key holds material", i)
		}
	}
}

// FuzzPEMBlocks writes the blocks that were found and wants to find the same again.
func FuzzPEMBlocks(f *testing.F) {
	f.Add("-----BEGIN CERTIFICATE-----AAAA-----END CERTIFICATE-----")
	f.Add("-----BEGIN A-----\nProc-Type: x\n\nAAAA\n-----END A-----")
	f.Add("-----BEGIN A-----\\nQUJD\\n-----END A----- -----BEGIN B-----REVG-----END B-----")
	f.Fuzz(func(t *testing.T, text string) {
		blocks, err := pemBlocks(text)
		if err != nil {
			return
		}
		var written strings.Builder
		for _, b := range blocks {
			written.Write(pem.EncodeToMemory(b))
		}
		again, err := pemBlocks(written.String())
		if diff := cmp.Diff(blocks, again, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%q: %v %s", text, err, diff)
		}
	})
}
