//go:build integration

package integration

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// secretCanary is in every secret of these tests that goes through SQL; no message and no log may hold it.
const secretCanary = "canary-8c41"

// authServer is a server with a key and with the broker's certificates, stores and keytabs below --files-dir.
func authServer(t *testing.T) (*server, *sql.DB, string) {
	t.Helper()
	files := t.TempDir()
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte(hex.EncodeToString(bytes.Repeat([]byte{7}, 32))), 0o600); err != nil {
		t.Fatal(err)
	}
	copyFile := func(from string) {
		content, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(filepath.Join(files, filepath.Base(from)), content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"ca.pem", "client.pem", "client.key"} {
		copyFile(filepath.Join(env(t, "KAFKA_TLS_DIR"), name))
	}
	if dir := os.Getenv("KRB5_DIR"); dir != "" {
		copyFile(filepath.Join(dir, "reader.keytab"))
		copyFile(filepath.Join(dir, "kafka.keytab"))
	}
	s := start(t, t.TempDir(), "--files-dir", files, "--key-file", key)
	t.Cleanup(func() {
		if strings.Contains(s.log.String(), secretCanary) {
			t.Error("a secret is in the log")
		}
	})
	return s, s.open(t, ""), files
}

// count reads the one record of a topic by these arguments.
func count(t *testing.T, db *sql.DB, listener, topic string, args ...string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	arguments := []string{"subscribe => '" + topic + "'"}
	if listener != "" {
		arguments = append(arguments, "bootstrapServers => '"+env(t, listener)+"'")
	}
	q := "SELECT COUNT(*) FROM read_kafka(" + strings.Join(append(arguments, args...), ", ") + ")"
	var n int
	err := db.QueryRowContext(ctx, q).Scan(&n)
	if err == nil && n != 1 {
		err = fmt.Errorf("%d records, want 1", n)
	}
	if err != nil && strings.Contains(err.Error(), secretCanary) {
		t.Errorf("a secret is in the message: %v", err)
	}
	return err
}

func oneRecord(t *testing.T) string {
	t.Helper()
	cl, adm := client(t)
	name := topic(t, adm, 1, nil)
	produce(t, cl, &kgo.Record{Topic: name, Value: []byte("x")})
	return name
}

// wantFault checks the number of an error.
func wantFault(t *testing.T, err error, number string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), "Error "+number) {
		t.Errorf("%v, want error %s", err, number)
	}
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

// The stores that keytool writes: SCRAM over TLS with a trust store, mTLS with a key store of each format.
func TestStoresOfJava(t *testing.T) {
	name := oneRecord(t)
	_, db, files := authServer(t)
	at := func(name string) string { return filepath.Join(files, name) }
	for _, format := range []string{"JKS", "PKCS12"} {
		run(t, "keytool", "-importcert", "-noprompt", "-alias", "ca", "-file", at("ca.pem"), "-keystore", at("trust."+format), "-storetype", format, "-storepass", "trust-"+secretCanary)
	}
	run(t, "openssl", "pkcs12", "-export", "-in", at("client.pem"), "-inkey", at("client.key"), "-name", "me", "-out", at("client.PKCS12"), "-passout", "pass:store-"+secretCanary)
	run(t, "keytool", "-importkeystore", "-noprompt", "-srckeystore", at("client.PKCS12"), "-srcstoretype", "PKCS12", "-srcstorepass", "store-"+secretCanary,
		"-destkeystore", at("client.JKS"), "-deststoretype", "JKS", "-deststorepass", "store-"+secretCanary, "-destkeypass", "key-"+secretCanary)
	run(t, "openssl", "pkcs8", "-topk8", "-in", at("client.key"), "-out", at("client.enc.key"), "-v2", "aes-256-cbc", "-passout", "pass:key-"+secretCanary)
	trust := func(format string) []string {
		return []string{"`kafka.ssl.truststore.location` => 'trust." + format + "'", "`kafka.ssl.truststore.type` => '" + format + "'", "`kafka.ssl.truststore.password` => 'trust-" + secretCanary + "'"}
	}
	for _, format := range []string{"JKS", "PKCS12"} {
		t.Run(format, func(t *testing.T) {
			login := []string{"`kafka.security.protocol` => 'SASL_SSL'", "`kafka.sasl.mechanism` => 'SCRAM-SHA-512'",
				"`kafka.sasl.jaas.config` => 'org.apache.kafka.common.security.scram.ScramLoginModule required username=\"alice\" password=\"alice-secret\";'"}
			if err := count(t, db, "KAFKA_SASL_SSL", name, append(login, trust(format)...)...); err != nil {
				t.Errorf("SCRAM: %v", err)
			}
			wantFault(t, count(t, db, "KAFKA_SASL_SSL", name, login...), "31015")
			keys := append([]string{"`kafka.security.protocol` => 'SSL'", "`kafka.ssl.keystore.location` => 'client." + format + "'", "`kafka.ssl.keystore.password` => 'store-" + secretCanary + "'"}, trust(format)...)
			if format == "JKS" {
				keys = append(keys, "`kafka.ssl.key.password` => 'key-"+secretCanary+"'")
			}
			if err := count(t, db, "KAFKA_MTLS", name, keys...); err != nil {
				t.Errorf("mTLS: %v", err)
			}
			wantFault(t, count(t, db, "KAFKA_MTLS", name, append(keys, "`kafka.ssl.keystore.type` => 'PEM'")...), "31004")
		})
	}
	read := func(file string) string {
		content, err := os.ReadFile(at(file))
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	if err := count(t, db, "KAFKA_MTLS", name, append(trust("PKCS12"), "`kafka.security.protocol` => 'SSL'", "`kafka.ssl.keystore.certificate.chain` => '"+read("client.pem")+"'",
		"`kafka.ssl.keystore.key` => '"+read("client.enc.key")+"'", "`kafka.ssl.key.password` => 'key-"+secretCanary+"'")...); err != nil {
		t.Errorf("encrypted PEM key: %v", err)
	}
}

// identities is a token endpoint. Its tokens live for life.
func identities(t *testing.T, life time.Duration) (endpoint string, asked *atomic.Int32) {
	t.Helper()
	asked = &atomic.Int32{}
	encode := base64.RawURLEncoding.EncodeToString
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if password != secretCanary || r.PostFormValue("grant_type") != "client_credentials" {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error":"invalid_client"}`))
			return
		}
		asked.Add(1)
		now := time.Now()
		claims := fmt.Sprintf(`{"sub":%q,"iat":%d,"exp":%d,"scope":%q}`, user, now.Unix(), now.Add(life).Unix(), r.PostFormValue("scope"))
		_, _ = fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":%d}`, encode([]byte(`{"alg":"none"}`))+"."+encode([]byte(claims))+".", int(life.Seconds()))
	}))
	t.Cleanup(s.Close)
	return s.URL + "/token", asked
}

func bearer(endpoint, client, secret string) []string {
	return []string{"`kafka.security.protocol` => 'SASL_PLAINTEXT'", "`kafka.sasl.mechanism` => 'OAUTHBEARER'", "`kafka.sasl.oauthbearer.token.endpoint.url` => '" + endpoint + "'",
		"`kafka.sasl.login.callback.handler.class` => 'kafkashaded.org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler'",
		fmt.Sprintf("`kafka.sasl.jaas.config` => 'kafkashaded.org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required clientId=\"%s\" clientSecret=\"%s\" scope=\"kafka\";'", client, secret)}
}

func TestOAuthBearer(t *testing.T) {
	name := oneRecord(t)
	_, db, _ := authServer(t)
	endpoint, asked := identities(t, time.Hour)
	for range 3 {
		if err := count(t, db, "KAFKA_OAUTH", name, bearer(endpoint, "alice", secretCanary)...); err != nil {
			t.Fatal(err)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("three statements asked for %d tokens", n)
	}
	wantFault(t, count(t, db, "KAFKA_OAUTH", name, bearer(endpoint, "alice", secretCanary+"x")...), "31013")
	wantFault(t, count(t, db, "KAFKA_OAUTH", name, bearer(endpoint, "mallory", secretCanary)...), "31014")
	wantFault(t, count(t, db, "KAFKA_OAUTH", name, bearer("http://127.0.0.1:1/token", "alice", secretCanary)...), "31010")
	wantFault(t, count(t, db, "KAFKA_SASL", name, bearer(endpoint, "alice", secretCanary)...), "31013")
	if err := count(t, db, "KAFKA_OAUTH", name, "`kafka.security.protocol` => 'SASL_PLAINTEXT'", "`kafka.sasl.mechanism` => 'OAUTHBEARER'",
		"`kafka.sasl.jaas.config` => 'org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub=\"alice\";'"); err != nil {
		t.Errorf("unsecured: %v", err)
	}
}

// The broker ends a session with its token; a read over the same connections goes on with a new one.
func TestSessionsAreRenewedWithFreshTokens(t *testing.T) {
	name := oneRecord(t)
	s, db, _ := authServer(t)
	endpoint, asked := identities(t, 8*time.Second)
	until(t, "a third token", func() (bool, error) {
		err := count(t, db, "KAFKA_OAUTH", name, bearer(endpoint, "alice", secretCanary)...)
		if err != nil {
			t.Fatalf("after %d tokens: %v\n%s", asked.Load(), err, s.log)
		}
		return asked.Load() >= 3, nil
	})
}

func TestDelegationTokens(t *testing.T) {
	name := oneRecord(t)
	_, db, _ := authServer(t)
	cl, err := kgo.NewClient(kgo.SeedBrokers(env(t, "KAFKA_SASL")), kgo.SASL(scram.Auth{User: "alice", Pass: "alice-secret"}.AsSha256Mechanism()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	token, err := kadm.NewClient(cl).CreateDelegationToken(t.Context(), kadm.CreateDelegationToken{MaxLifetime: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	login := func(tokenauth string) []string {
		return []string{"`kafka.security.protocol` => 'SASL_PLAINTEXT'", "`kafka.sasl.mechanism` => 'SCRAM-SHA-256'",
			fmt.Sprintf("`kafka.sasl.jaas.config` => 'org.apache.kafka.common.security.scram.ScramLoginModule required username=\"%s\" password=\"%s\" tokenauth=\"%s\";'",
				token.TokenID, base64.StdEncoding.EncodeToString(token.HMAC), tokenauth)}
	}
	until(t, "the token at the broker", func() (bool, error) {
		err := count(t, db, "KAFKA_SASL", name, login("true")...)
		return err == nil, err
	})
	wantFault(t, count(t, db, "KAFKA_SASL", name, login("false")...), "31013")
}

func TestKerberos(t *testing.T) {
	kdc := os.Getenv("KRB5_KDC")
	if kdc == "" {
		t.Skip("there is no KDC: krb5-kdc and krb5-admin-server are not installed")
	}
	name := oneRecord(t)
	_, db, _ := authServer(t)
	login := func(kdc, keytab, principal, service string) []string {
		return []string{"`kafka.security.protocol` => 'SASL_PLAINTEXT'", "`kafka.sasl.mechanism` => 'GSSAPI'", "`kafka.sasl.kerberos.service.name` => '" + service + "'", "`kafka.sasl.kerberos.kdc` => '" + kdc + "'",
			fmt.Sprintf("`kafka.sasl.jaas.config` => 'com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true keyTab=\"%s\" principal=\"%s\";'", keytab, principal)}
	}
	if err := count(t, db, "KAFKA_GSSAPI", name, login(kdc, "reader.keytab", "reader@MILLRACE.TEST", "kafka")...); err != nil {
		t.Error(err)
	}
	wantFault(t, count(t, db, "KAFKA_GSSAPI", name, login(kdc, "kafka.keytab", "reader@MILLRACE.TEST", "kafka")...), "31013")
	wantFault(t, count(t, db, "KAFKA_GSSAPI", name, login(kdc, "reader.keytab", "reader@MILLRACE.TEST", "nope")...), "31013")
	wantFault(t, count(t, db, "KAFKA_GSSAPI", name, login("127.0.0.1:1", "reader.keytab", "reader@MILLRACE.TEST", "kafka")...), "31010")
}

// Names hold what the tests above write out; a server that is started again still has them.
func TestConnectionsOnRealBrokers(t *testing.T) {
	name := oneRecord(t)
	_, db, _ := authServer(t)
	endpoint, _ := identities(t, time.Hour)
	create := func(statement string) {
		t.Helper()
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	create("CREATE CONNECTION mtls OPTIONS (bootstrapServers '" + env(t, "KAFKA_MTLS") + "', kafka.security.protocol 'SSL', kafka.ssl.truststore.location 'ca.pem', " +
		"kafka.ssl.keystore.certificate.chain '" + pemOf(t, "client.pem") + "', kafka.ssl.keystore.key '" + pemOf(t, "client.key") + "')")
	create("CREATE CREDENTIAL reader OPTIONS (hosts '127.0.0.1', kafka.security.protocol 'SASL_PLAINTEXT', kafka.sasl.mechanism 'OAUTHBEARER', kafka.sasl.oauthbearer.token.endpoint.url '" + endpoint + "', " +
		"kafka.sasl.oauthbearer.client.credentials.client.id 'alice', kafka.sasl.oauthbearer.client.credentials.client.secret '" + secretCanary + "')")
	if err := count(t, db, "", name, "connection => 'mtls'"); err != nil {
		t.Error(err)
	}
	if err := count(t, db, "KAFKA_OAUTH", name, "serviceCredential => 'reader'"); err != nil {
		t.Error(err)
	}
	wantFault(t, count(t, db, "KAFKA_SASL_SSL", name, "serviceCredential => 'reader'"), "31011")
}

func pemOf(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(env(t, "KAFKA_TLS_DIR"), file))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
