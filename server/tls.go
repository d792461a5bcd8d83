package server

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
)

// certificates is the TLS configuration of the MySQL listener. Reload reads the files again, so that a renewed certificate needs no restart:
// connections made after it get the new one.
type certificates struct {
	cert, key, ca string
	current       atomic.Pointer[tls.Config]
}

// openCertificates loads the files of --tls-cert, --tls-key and --tls-ca; without any there is no TLS and the result is nil.
func openCertificates(cert, key, ca string) (*certificates, error) {
	switch {
	case cert == "" && key == "" && ca == "":
		return nil, nil
	case cert == "":
		return nil, errors.New("'--tls-cert' is missing: TLS needs a certificate and its key")
	case key == "":
		return nil, errors.New("'--tls-key' is missing: TLS needs a certificate and its key")
	}
	c := &certificates{cert: cert, key: key, ca: ca}
	return c, c.reload()
}

func (c *certificates) reload() error {
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return fmt.Errorf("'--tls-cert', '--tls-key': %w", err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if c.ca != "" {
		data, err := os.ReadFile(c.ca)
		if err != nil {
			return fmt.Errorf("'--tls-ca': %w", err)
		}
		config.ClientCAs = x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM(data) {
			return fmt.Errorf("'--tls-ca': %s holds no certificate in PEM form", c.ca)
		}
		// Users that REQUIRE X509 are checked at login; others need no certificate.
		config.ClientAuth = tls.VerifyClientCertIfGiven
	}
	c.current.Store(config)
	return nil
}

// get gives the configuration in force; nil without TLS.
func (c *certificates) get() *tls.Config {
	if c == nil {
		return nil
	}
	return c.current.Load()
}

// loginKey is the RSA key with which clients that have no TLS encrypt their password (caching_sha2_password). It is made at the first start and
// kept: making one takes a good part of a second.
func loginKey(dir string) (*rsa.PrivateKey, error) {
	path := filepath.Join(dir, "login-key.pem")
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return newLoginKey(path)
	}
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("%s is not a key in PEM form: remove it and a new one is made", path)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: remove it and a new one is made", path, err)
	}
	private, ok := key.(*rsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s holds a %T, not an RSA key: remove it and a new one is made", path, key)
	}
	return private, nil
}

func newLoginKey(path string) (*rsa.PrivateKey, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600)
}
