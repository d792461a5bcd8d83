package kafka

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/pavlo-v-chernykh/keystore-go/v4"
	"software.sslmate.com/src/go-pkcs12"
)

// keyStore is what a key store of any format holds.
type keyStore struct {
	// chain is the client's certificate with those that sign it, key its private key.
	chain [][]byte
	key   crypto.PrivateKey
}

// The formats of stores.
const (
	formatPEM    = "PEM"
	formatJKS    = "JKS"
	formatPKCS12 = "PKCS12"
)

// formatOf tells the format by the first bytes, empty when it is none.
func formatOf(content string) string {
	switch {
	case strings.Contains(content, "-----BEGIN "):
		return formatPEM
	case strings.HasPrefix(content, "\xfe\xed\xfe\xed"):
		return formatJKS
	case strings.HasPrefix(content, "\xce\xce\xce\xce"):
		return "JCEKS"
	case strings.HasPrefix(content, "\x30\x82"), strings.HasPrefix(content, "\x30\x83"), strings.HasPrefix(content, "\x30\x80"):
		return formatPKCS12
	default:
		return ""
	}
}

// unarmored takes the base64 off a store of bytes that was given as text.
func unarmored(text string) string {
	raw, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	if f := formatOf(string(raw)); err != nil || f == "" || f == formatPEM {
		return text
	}
	return string(raw)
}

// passwords of a store: that of the store, nil when none was given, and that of the key in it.
type passwords struct {
	store *string
	key   string
}

// opened remembers stores that a password opened. Opening hashes the password up to millions of times, and a statement binds its arguments more than
// once. It holds no more than the process has seen, and forgets everything when it is full.
var opened = struct {
	sync.Mutex
	stores map[[sha256.Size]byte]any
}{stores: map[[sha256.Size]byte]any{}}

const maxOpened = 64

// once opens a store, or gives what opening it gave before.
func once[T any](open func() (T, error), parts ...string) (T, error) {
	key := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	opened.Lock()
	known, ok := opened.stores[key]
	opened.Unlock()
	if t, is := known.(T); ok && is {
		return t, nil
	}
	t, err := open()
	if err != nil {
		return t, err
	}
	opened.Lock()
	defer opened.Unlock()
	if len(opened.stores) >= maxOpened {
		clear(opened.stores)
	}
	opened.stores[key] = t
	return t, nil
}

// trustStore reads the certificates of a trust store.
func trustStore(format, content string, p passwords) ([]*x509.Certificate, error) {
	return once(func() ([]*x509.Certificate, error) { return openTrustStore(format, content, p) }, "trust", format, content, fmt.Sprint(p.store != nil), p.of())
}

func openTrustStore(format, content string, p passwords) ([]*x509.Certificate, error) {
	switch format {
	case formatJKS:
		return jksTrusted(content, p)
	case formatPKCS12:
		if !modestIterations([]byte(content)) {
			return nil, errTooManyIterations
		}
		certs, err := pkcs12.DecodeTrustStore([]byte(content), p.of())
		return certs, pkcs12Error(err, p)
	}
	blocks, err := pemBlocks(content)
	if err != nil {
		return nil, err
	}
	var certs []*x509.Certificate
	for i, b := range blocks {
		if b.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("block %d is a %s, expected are only certificates", i+1, b.Type)
		}
		c, err := x509.ParseCertificate(b.Bytes)
		if err != nil {
			return nil, fmt.Errorf("block %d is no valid certificate", i+1)
		}
		certs = append(certs, c)
	}
	return certs, nil
}

func (p passwords) of() string {
	if p.store == nil {
		return ""
	}
	return *p.store
}

var (
	errTooManyIterations = errors.New("its password is hashed more often than this server is willing to")
	errNoPassword        = errors.New("it needs a password")
	errNoKey             = errors.New("it holds no private key")
	errNoCertificate     = errors.New("it holds no certificate")
	errSeveralKeys       = errors.New("it holds more than one private key, and there is no way to choose")
	errTwoKeys           = errors.New("there is more than one private key")
	errNoKeyPassword     = errors.New("the private key is encrypted and 'ssl.key.password' is missing")
	errDamaged           = errors.New("it is damaged")
)

// pkcs12Error says what went wrong in the words of this package.
func pkcs12Error(err error, p passwords) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pkcs12.ErrIncorrectPassword) && p.store == nil:
		return errNoPassword
	case errors.Is(err, pkcs12.ErrIncorrectPassword):
		return errWrongPassword
	case strings.Contains(err.Error(), "not marked as trusted"):
		return errors.New("it holds certificates that are not marked as trusted (keytool -importcert marks them)")
	case strings.Contains(err.Error(), "expected only certificate bags"):
		return errors.New("it holds more than certificates")
	case strings.Contains(err.Error(), "exactly one key bag"):
		return errSeveralKeys
	case strings.Contains(err.Error(), "private key missing"):
		return errNoKey
	case strings.Contains(err.Error(), "certificate missing"):
		return errNoCertificate
	default:
		return errDamaged
	}
}

// loadJKS opens a Java key store. Its password proves that nobody changed it; Java takes a trust store without one, and so do we. A key is opened by
// its own password.
func loadJKS(content string, p passwords) (keystore.KeyStore, error) {
	ks := keystore.New(keystore.WithOrderedAliases(), keystore.WithCaseExactAliases())
	err := ks.Load(strings.NewReader(content), []byte(p.of()))
	if err != nil && err.Error() == "got invalid digest" {
		if p.store == nil {
			return ks, nil
		}
		return ks, errWrongPassword
	}
	if err != nil {
		return ks, errDamaged
	}
	return ks, nil
}

func jksTrusted(content string, p passwords) ([]*x509.Certificate, error) {
	ks, err := loadJKS(content, p)
	if err != nil {
		return nil, err
	}
	var certs []*x509.Certificate
	for _, alias := range ks.Aliases() {
		if !ks.IsTrustedCertificateEntry(alias) {
			continue
		}
		entry, err := ks.GetTrustedCertificateEntry(alias)
		if err != nil {
			return nil, errDamaged
		}
		c, err := x509.ParseCertificate(entry.Certificate.Content)
		if err != nil {
			return nil, errDamaged
		}
		certs = append(certs, c)
	}
	return certs, nil
}

// clientStore reads the chain and the key of a key store.
func clientStore(format, content, keyPEM string, p passwords) (tls.Certificate, error) {
	return once(func() (tls.Certificate, error) { return openClientStore(format, content, keyPEM, p) }, "client", format, content, keyPEM, fmt.Sprint(p.store != nil), p.of(), p.key)
}

func openClientStore(format, content, keyPEM string, p passwords) (tls.Certificate, error) {
	var s keyStore
	var err error
	switch format {
	case formatJKS:
		s, err = jksClient(content, p)
	case formatPKCS12:
		s, err = pkcs12Client(content, p)
	default:
		s, err = pemClient(content, keyPEM, p)
	}
	if err != nil {
		return tls.Certificate{}, err
	}
	return pair(s)
}

// pair joins chain and key, which must belong together.
func pair(s keyStore) (tls.Certificate, error) {
	var chain []byte
	for _, der := range s.chain {
		chain = append(chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	der, err := x509.MarshalPKCS8PrivateKey(s.key)
	if err != nil {
		return tls.Certificate{}, errors.New("its private key is of a kind that TLS does not use")
	}
	certificate, err := tls.X509KeyPair(chain, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("certificate and private key cannot be used: %w", err)
	}
	return certificate, nil
}

func jksClient(content string, p passwords) (keyStore, error) {
	ks, err := loadJKS(content, p)
	if err != nil {
		return keyStore{}, err
	}
	keys := slices.DeleteFunc(ks.Aliases(), func(a string) bool { return !ks.IsPrivateKeyEntry(a) })
	switch {
	case len(keys) == 0:
		return keyStore{}, errNoKey
	case len(keys) > 1:
		return keyStore{}, errSeveralKeys
	case p.key == "":
		return keyStore{}, errNoPassword
	}
	entry, err := ks.GetPrivateKeyEntry(keys[0], []byte(p.key))
	if err != nil {
		return keyStore{}, errWrongPassword
	}
	s := keyStore{}
	if s.key, err = x509.ParsePKCS8PrivateKey(entry.PrivateKey); err != nil {
		return keyStore{}, errDamaged
	}
	for _, c := range entry.CertificateChain {
		s.chain = append(s.chain, c.Content)
	}
	if s.chain == nil {
		return keyStore{}, errNoCertificate
	}
	return s, nil
}

func pkcs12Client(content string, p passwords) (keyStore, error) {
	if !modestIterations([]byte(content)) {
		return keyStore{}, errTooManyIterations
	}
	key, leaf, others, err := pkcs12.DecodeChain([]byte(content), p.of())
	if err != nil {
		return keyStore{}, pkcs12Error(err, p)
	}
	// The file has no order among the certificates: first comes that of the key, each is followed by the one that signed it.
	if signer, ok := key.(crypto.Signer); ok {
		others = append([]*x509.Certificate{leaf}, others...)
		i := slices.IndexFunc(others, func(c *x509.Certificate) bool {
			public, ok := c.PublicKey.(interface{ Equal(crypto.PublicKey) bool })
			return ok && public.Equal(signer.Public())
		})
		if i < 0 {
			return keyStore{}, errNoCertificate
		}
		leaf = others[i]
		others = slices.Delete(others, i, i+1)
	}
	s := keyStore{key: key, chain: [][]byte{leaf.Raw}}
	for last := leaf; ; {
		i := slices.IndexFunc(others, func(c *x509.Certificate) bool { return bytes.Equal(c.RawSubject, last.RawIssuer) })
		if i < 0 {
			return s, nil
		}
		last = others[i]
		others = slices.Delete(others, i, i+1)
		s.chain = append(s.chain, last.Raw)
	}
}

func pemClient(content, keyPEM string, p passwords) (keyStore, error) {
	blocks, err := pemBlocks(content + "\n" + keyPEM)
	if err != nil {
		return keyStore{}, err
	}
	var s keyStore
	for _, b := range blocks {
		if b.Type == "CERTIFICATE" {
			s.chain = append(s.chain, b.Bytes)
			continue
		}
		if !strings.HasSuffix(b.Type, "PRIVATE KEY") {
			continue
		}
		if s.key != nil {
			return keyStore{}, errTwoKeys
		}
		if s.key, err = privateKey(b, p.key); err != nil {
			return keyStore{}, err
		}
	}
	switch {
	case s.chain == nil:
		return keyStore{}, errNoCertificate
	case s.key == nil:
		return keyStore{}, errNoKey
	}
	return s, nil
}

// privateKey reads a key in one of the forms that PEM has for them.
func privateKey(b *pem.Block, password string) (crypto.PrivateKey, error) {
	der := b.Bytes
	if b.Type == "ENCRYPTED PRIVATE KEY" {
		if password == "" {
			return nil, errNoKeyPassword
		}
		var err error
		if der, err = decryptPKCS8(der, password); err != nil {
			return nil, fmt.Errorf("the private key cannot be decrypted: %w", err)
		}
		if _, err := x509.ParsePKCS8PrivateKey(der); err != nil {
			return nil, fmt.Errorf("the private key cannot be decrypted: %w", errWrongPassword)
		}
	}
	if key, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		return key, nil
	}
	if key, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return key, nil
	}
	if key, err := x509.ParseECPrivateKey(der); err == nil {
		return key, nil
	}
	return nil, errors.New("the private key is damaged or of an unknown kind")
}

// pemBlock finds blocks as Java's reader does, which does not mind how a text is broken into lines; encoding/pem does, and properties often come on one.
var pemBlock = regexp.MustCompile(`(?s)-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END ([A-Z0-9 ]+)-----`)

func pemBlocks(text string) ([]*pem.Block, error) {
	var blocks []*pem.Block
	for i, m := range pemBlock.FindAllStringSubmatch(text, -1) {
		if strings.Contains(m[2], ":") {
			return nil, fmt.Errorf("block %d has headers, which an encrypted key of an old format has", i+1)
		}
		body := strings.ReplaceAll(strings.ReplaceAll(m[2], `\r`, ""), `\n`, "")
		der, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(body), ""))
		if err != nil || m[1] != m[3] {
			return nil, fmt.Errorf("block %d is damaged", i+1)
		}
		blocks = append(blocks, &pem.Block{Type: m[1], Bytes: der})
	}
	return blocks, nil
}
