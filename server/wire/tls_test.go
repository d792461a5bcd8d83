package wire

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"
)

// authority is a certificate authority of the tests with a server and a client certificate.
type authority struct {
	pool           *x509.CertPool
	server, client tls.Certificate
}

var testAuthority = sync.OnceValue(func() *authority {
	key, ca := issue("test authority", nil, nil)
	a := &authority{pool: x509.NewCertPool()}
	a.pool.AddCert(ca)
	for name, into := range map[string]*tls.Certificate{"server": &a.server, "client": &a.client} {
		k, c := issue(name, key, ca)
		*into = tls.Certificate{Certificate: [][]byte{c.Raw}, PrivateKey: k}
	}
	return a
})

func issue(name string, caKey *ecdsa.PrivateKey, ca *x509.Certificate) (*ecdsa.PrivateKey, *x509.Certificate) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if ca == nil {
		c.IsCA, c.BasicConstraintsValid = true, true
		ca, caKey = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, ca, &key.PublicKey, caKey)
	if err != nil {
		panic(err)
	}
	if c, err = x509.ParseCertificate(der); err != nil {
		panic(err)
	}
	return key, c
}

func serverTLS() *tls.Config {
	a := testAuthority()
	return &tls.Config{Certificates: []tls.Certificate{a.server}, ClientCAs: a.pool, ClientAuth: tls.VerifyClientCertIfGiven}
}

// A client can tell the end of a connection from one that was cut.
func TestTLSConnectionsEndWithANotice(t *testing.T) {
	s := start(t, func(c *Config) { c.TLS = serverTLS() })
	r := connect(t, s)
	r.caps = rawCaps | capTLS
	packet := r.loginPacket("root", PluginNative, nil, "")
	r.write(packet[:sslRequest])
	r.nc = tls.Client(r.nc, &tls.Config{InsecureSkipVerify: true})
	r.reader.src = r.nc
	r.write(packet)
	r.wantOK()
	r.ping()
	r.command(comQuit)
	if p := r.reader.next(); p.err != io.EOF {
		t.Errorf("%q, %v", p.data, p.err)
	}
}
