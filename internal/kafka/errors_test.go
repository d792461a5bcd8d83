package kafka_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/internal/kafka"
	"millrace/internal/sqlerr"
	"millrace/internal/testkit"
)

// certificate makes a certificate for localhost that nobody trusts but pool.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, pool
}

// answering is the address of a server that gives everyone who writes to it the same answer.
func answering(t *testing.T, with string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	t.Cleanup(func() { l.Close(); serving.Wait() })
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				if _, err := conn.Read(make([]byte, 1)); err == nil {
					_, _ = conn.Write([]byte(with))
					_, _ = io.Copy(io.Discard, conn) // until the client has read it and goes
				}
			})
		}
	})
	return l.Addr().String()
}

const password = "correct-horse-battery-staple"

// TestConnectionErrorsAreHonestAndQuick has one case per way in which a cluster cannot be used.
func TestConnectionErrorsAreHonestAndQuick(t *testing.T) {
	cert, roots := certificate(t)
	plain := testkit.StartBroker(t, kfake.SeedTopics(1, "t"))
	encrypted := testkit.StartBroker(t, kfake.SeedTopics(1, "t"), kfake.TLS(&tls.Config{Certificates: []tls.Certificate{cert}}))
	mutual := testkit.StartBroker(t, kfake.SeedTopics(1, "t"), kfake.TLS(&tls.Config{Certificates: []tls.Certificate{cert}, ClientCAs: roots, ClientAuth: tls.RequireAndVerifyClientCert}))
	authenticating := testkit.StartBroker(t, kfake.SeedTopics(1, "t"), kfake.EnableSASL(), kfake.Superuser("PLAIN", "ada", password))
	rejecting := testkit.StartBroker(t, kfake.SeedTopics(1, "t"), kfake.EnableSASL(), kfake.Superuser("PLAIN", "ada", password))
	rejecting.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.SASLAuthenticate}, TopLevel: true, Err: kerr.SaslAuthenticationFailed, Count: -1})
	guarded := testkit.StartBroker(t, kfake.SeedTopics(1, "t"), kfake.EnableSASL(), kfake.EnableACLs(), kfake.User("PLAIN", "bob", password))
	web := answering(t, "HTTP/1.1 400 Bad Request\r\n\r\n")
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	sasl := func(user, pass string) func(*kafka.Config) {
		return func(c *kafka.Config) {
			c.Protocol, c.Mechanism, c.User, c.Password = kafka.SASLPlaintext, "PLAIN", user, pass
		}
	}
	withTLS := func(roots *x509.CertPool) func(*kafka.Config) {
		return func(c *kafka.Config) { c.Protocol, c.TLS = kafka.SSL, &tls.Config{RootCAs: roots} }
	}
	none := func(*kafka.Config) {}
	for name, c := range map[string]struct {
		addrs []string
		set   func(*kafka.Config)
		kind  *sqlerr.Kind
		says  string
	}{
		"refused":                      {[]string{gone.Addr().String()}, none, sqlerr.KafkaUnreachable, "connection refused"},
		"no such host":                 {[]string{"no-such-host.invalid:9092"}, none, sqlerr.KafkaUnreachable, "does not resolve"},
		"silent":                       {[]string{silent.Addr().String()}, none, sqlerr.KafkaUnreachable, "did not answer within"},
		"HTTP":                         {[]string{web}, none, sqlerr.KafkaProtocol, "HTTP"},
		"plaintext to TLS":             {encrypted.Addrs, none, sqlerr.KafkaProtocol, ""},
		"TLS to plaintext":             {plain.Addrs, withTLS(roots), sqlerr.KafkaProtocol, "TLS"},
		"unknown authority":            {encrypted.Addrs, withTLS(x509.NewCertPool()), sqlerr.KafkaTLS, "unknown authority"},
		"no client certificate":        {mutual.Addrs, withTLS(roots), sqlerr.KafkaAuth, "certificate"},
		"wrong password":               {rejecting.Addrs, sasl("ada", "wrong-"+password), sqlerr.KafkaAuth, "refuses user 'ada'"},
		"wrong password, closed":       {authenticating.Addrs, sasl("ada", "wrong-"+password), sqlerr.KafkaAuth, "closed the connection"},
		"no SASL to SASL":              {authenticating.Addrs, none, sqlerr.KafkaProtocol, ""},
		"mechanism not offered":        {authenticating.Addrs, func(c *kafka.Config) { sasl("ada", password)(c); c.Mechanism = "SCRAM-SHA-256" }, sqlerr.KafkaAuth, ""},
		"no ACL":                       {guarded.Addrs, sasl("bob", password), sqlerr.KafkaNotAuthorized, "topic 't'"},
		"address not allowed":          {plain.Addrs, func(c *kafka.Config) { c.Allow = func(string, net.IP) error { return errors.New("not on the list") } }, sqlerr.KafkaHostRefused, "not on the list"},
		"the worst of several servers": {[]string{gone.Addr().String(), web}, none, sqlerr.KafkaProtocol, "HTTP"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &testkit.Broker{Addrs: c.addrs}
			cl := cluster(t, b, c.set, func(cfg *kafka.Config) { cfg.ConnectTimeout, cfg.DialTimeout = 3*time.Second, time.Second })
			began := time.Now()
			_, err := cl.Snapshot(t.Context(), kafka.Selection{Topics: []string{"t"}})
			if !sqlerr.HasKind(err, c.kind) || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("got %v, want %s with %q", err, c.kind.Symbol, c.says)
			}
			if !strings.Contains(err.Error(), c.addrs[len(c.addrs)-1]) && c.kind != sqlerr.KafkaNotAuthorized {
				t.Errorf("the error does not name the broker: %v", err)
			}
			if strings.Contains(err.Error(), password) {
				t.Errorf("the error holds the password: %v", err)
			}
			if d := time.Since(began); d > 8*time.Second {
				t.Errorf("it took %v", d)
			}
		})
	}
	t.Run("the next bootstrap server is tried", func(t *testing.T) {
		cl := cluster(t, &testkit.Broker{Addrs: append([]string{gone.Addr().String()}, plain.Addrs...)})
		if _, err := cl.Snapshot(t.Context(), kafka.Selection{Topics: []string{"t"}}); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("right credentials", func(t *testing.T) {
		if _, err := cluster(t, authenticating, sasl("ada", password)).Snapshot(t.Context(), kafka.Selection{Topics: []string{"t"}}); err != nil {
			t.Fatal(err)
		}
		if _, err := cluster(t, encrypted, withTLS(roots)).Snapshot(t.Context(), kafka.Selection{Topics: []string{"t"}}); err != nil {
			t.Fatal(err)
		}
	})
}

func TestAllowIsAskedForAdvertisedBrokersToo(t *testing.T) {
	b := testkit.StartBroker(t, kfake.NumBrokers(2), kfake.SeedTopics(1, "t"))
	if err := b.MoveTopicPartition("t", 0, 1); err != nil {
		t.Fatal(err)
	}
	leader := b.Addrs[1]
	cl := cluster(t, &testkit.Broker{Addrs: b.Addrs[:1]}, func(c *kafka.Config) {
		c.Allow = func(hostPort string, ip net.IP) error {
			if !ip.IsLoopback() {
				t.Errorf("asked for %v", ip)
			}
			if hostPort == leader {
				return errors.New("not on the list")
			}
			return nil
		}
	})
	_, err := cl.Snapshot(t.Context(), kafka.Selection{Topics: []string{"t"}})
	if !sqlerr.HasKind(err, sqlerr.KafkaHostRefused) || !strings.Contains(err.Error(), leader) {
		t.Fatalf("got %v, want a refusal of %s", err, leader)
	}
}

func TestSelection(t *testing.T) {
	b := testkit.StartBroker(t, kfake.SeedTopics(3, "orders", "orders-eu", "payments", "__internal"))
	c := cluster(t, b)
	names := func(sel kafka.Selection) string {
		s, err := c.Snapshot(t.Context(), sel)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, topic := range s.Topics {
			out = append(out, topic.Name)
		}
		return strings.Join(out, " ")
	}
	for pattern, want := range map[string]string{
		"orders": "orders", "orders.*": "orders orders-eu", "orders|orders-eu": "orders orders-eu", "ord|pay": "", ".*": "orders orders-eu payments", "(?i)ORDERS": "orders",
	} {
		if got := names(kafka.Selection{Pattern: regexp.MustCompile(pattern)}); got != want {
			t.Errorf("%q selects %q, want %q", pattern, got, want)
		}
	}
	if got := names(kafka.Selection{Topics: []string{"payments", "orders", "orders"}}); got != "orders payments" {
		t.Errorf("got %q", got)
	}
	s, err := c.Snapshot(t.Context(), kafka.Selection{Assign: map[string][]int32{"orders": {2, 0}}})
	if err != nil || len(s.Topics) != 1 || len(s.Topics[0].Partitions) != 2 || s.Topics[0].Partitions[1].Partition != 2 {
		t.Errorf("%+v %v", s, err)
	}
	for name, sel := range map[string]kafka.Selection{
		"'nowhere'":    {Topics: []string{"orders", "nowhere"}},
		"partition 3":  {Assign: map[string][]int32{"orders": {0, 3}}},
		"'no topic !'": {Topics: []string{"no topic !"}},
	} {
		began := time.Now()
		_, err := c.Snapshot(context.Background(), sel)
		if !sqlerr.HasKind(err, sqlerr.KafkaTopicNotFound) || !strings.Contains(err.Error(), name) || time.Since(began) > 5*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	}
}
