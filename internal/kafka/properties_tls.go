package kafka

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"millrace/internal/option"
	"millrace/internal/sqlerr"
)

// tls turns the ssl.* properties into Config.TLS. Without any, TLS stays nil: the defaults.
func (p *propertyParser) tls() error {
	if !p.config.Protocol.usesTLS() {
		p.config.TLS, p.config.TLSKey = nil, ""
		return nil
	}
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	identity := sha256.New()
	note := func(what string, parts ...string) { fmt.Fprintf(identity, "%s %q\n", what, parts) }
	touched := false

	trust, err := p.store("truststore", "ssl.truststore.certificates")
	if err != nil {
		return err
	}
	if trust != nil {
		touched = true
		note("trust", trust.content)
		if t.RootCAs, err = trust.pool(); err != nil {
			return err
		}
	}
	key, err := p.store("keystore", "ssl.keystore.certificate.chain")
	if err != nil {
		return err
	}
	if key != nil {
		touched = true
		certificate, material, err := p.clientCertificate(key)
		if err != nil {
			return err
		}
		note("client", material)
		t.Certificates = []tls.Certificate{certificate}
	} else if p.Has("ssl.keystore.key") {
		return sqlerr.New(sqlerr.OptionMissing, "'%s' needs its certificate in 'ssl.keystore.certificate.chain'", p.As("ssl.keystore.key"))
	}
	if p.Has("ssl.endpoint.identification.algorithm") {
		switch algorithm := strings.TrimSpace(p.String("ssl.endpoint.identification.algorithm")); {
		case algorithm == "":
			touched = true
			note("any host")
			verifyChainOnly(t)
		case !strings.EqualFold(algorithm, "https"):
			return p.Invalid("ssl.endpoint.identification.algorithm", "is '%s', expected https or nothing", option.Show(algorithm))
		}
	}
	if p.Has("ssl.enabled.protocols") || p.Has("ssl.protocol") {
		touched = true
		if err := p.versions(t); err != nil {
			return err
		}
		note("versions", fmt.Sprint(t.MinVersion, t.MaxVersion))
	}
	if p.Has("ssl.cipher.suites") {
		touched = true
		if err := p.suites(t); err != nil {
			return err
		}
		note("suites", fmt.Sprint(t.CipherSuites))
	}
	if touched {
		p.config.TLS, p.config.TLSKey = t, hex.EncodeToString(identity.Sum(nil))
	}
	return nil
}

// verifyChainOnly accepts any host name and still wants a chain to a trusted root. crypto/tls can only skip both, so the chain is checked here.
func verifyChainOnly(t *tls.Config) {
	roots := t.RootCAs
	t.InsecureSkipVerify = true
	t.VerifyConnection = func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) == 0 {
			return errors.New("the broker sent no certificate")
		}
		between := x509.NewCertPool()
		for _, c := range state.PeerCertificates[1:] {
			between.AddCert(c)
		}
		_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between})
		return err
	}
}

func (p *propertyParser) versions(t *tls.Config) error {
	known := map[string]uint16{"TLSv1.2": tls.VersionTLS12, "TLSv1.3": tls.VersionTLS13}
	t.MaxVersion = known[p.String("ssl.protocol")] // TLS itself sets no maximum
	if !p.Has("ssl.enabled.protocols") {
		return nil
	}
	var versions []uint16
	for _, name := range p.List("ssl.enabled.protocols") {
		version, ok := known[name]
		if !ok {
			return p.Invalid("ssl.enabled.protocols", "holds '%s', expected TLSv1.2, TLSv1.3 or both", option.Show(name))
		}
		versions = append(versions, version)
	}
	t.MinVersion = slices.Min(versions)
	if highest := slices.Max(versions); t.MaxVersion == 0 || highest < t.MaxVersion {
		t.MaxVersion = highest
	}
	if t.MinVersion > t.MaxVersion {
		return sqlerr.New(sqlerr.OptionConflict, "'%s' allows no version of '%s'", p.As("ssl.protocol"), p.As("ssl.enabled.protocols"))
	}
	return nil
}

func (p *propertyParser) suites(t *tls.Config) error {
	for _, name := range p.List("ssl.cipher.suites") {
		i := slices.IndexFunc(tls.CipherSuites(), func(s *tls.CipherSuite) bool { return s.Name == name })
		if i < 0 {
			return p.Invalid("ssl.cipher.suites", "holds '%s', which is no cipher suite that counts as secure", option.Show(name))
		}
		// The suites of TLS 1.3 are always on; to list only them leaves those of 1.2 at their default.
		if suite := tls.CipherSuites()[i]; slices.Contains(suite.SupportedVersions, tls.VersionTLS12) {
			t.CipherSuites = append(t.CipherSuites, suite.ID)
		}
	}
	return nil
}

// pemStore is the content of a trust store or key store with the property that named it.
type pemStore struct {
	as, content string
	blocks      []*pem.Block
}

// store reads ssl.<kind>.location or the inline property; nil when neither is given.
func (p *propertyParser) store(kind, inline string) (*pemStore, error) {
	location, typ := "ssl."+kind+".location", "ssl."+kind+".type"
	if p.Has(typ) && p.String(typ) != "PEM" {
		return nil, sqlerr.New(sqlerr.NotSupported, "'%s' %s is not supported yet", p.As(typ), p.String(typ)).
			WithHint("export the store to PEM, for example with keytool and openssl, and set %s=PEM", typ)
	}
	s := &pemStore{}
	switch {
	case p.Has(location) && p.Has(inline):
		return nil, sqlerr.New(sqlerr.OptionConflict, "'%s' and '%s' exclude each other", p.As(location), p.As(inline)).WithHint("keep one of them")
	case p.Has(inline):
		s.as, s.content = p.As(inline), p.String(inline)
	case p.Has(location):
		content, err := p.file(location)
		if err != nil {
			return nil, err
		}
		s.as, s.content = p.As(location), content
	default:
		return nil, nil
	}
	var err error
	if s.blocks, err = pemBlocks(s.content); err != nil {
		return nil, sqlerr.New(sqlerr.OptionInvalid, "'%s' is no PEM text: %v", s.as, err)
	}
	if len(s.blocks) == 0 {
		if p.Has(location) && !p.Has(typ) {
			return nil, sqlerr.New(sqlerr.NotSupported, "'%s' is no PEM file, and JKS and PKCS12 are not supported yet", s.as).
				WithHint("export the store to PEM, for example with keytool and openssl")
		}
		return nil, sqlerr.New(sqlerr.OptionInvalid, "'%s' holds no PEM block", s.as).WithHint("PEM text begins with a line such as -----BEGIN CERTIFICATE-----")
	}
	return s, nil
}

// maxStoreBytes bounds a file that SQL names; bundles of public authorities take about 300 KB.
const maxStoreBytes = 4 << 20

// file reads a file below FilesDir. os.Root keeps symbolic links and .. from leading out of it.
func (p *propertyParser) file(name string) (string, error) {
	as, path := p.As(name), p.String(name)
	if p.files == "" {
		return "", sqlerr.New(sqlerr.OptionForbidden, "'%s' names a file, and this server lets SQL name none", as).
			WithHint("start the server with --files-dir, or give the PEM text itself in ssl.truststore.certificates, ssl.keystore.certificate.chain and ssl.keystore.key")
	}
	outside := sqlerr.New(sqlerr.OptionForbidden, "'%s' is '%s', which is not below the server's --files-dir", as, option.Show(path))
	local := filepath.Clean(path)
	if filepath.IsAbs(local) {
		base, err := filepath.Abs(p.files)
		if err != nil {
			return "", outside.WithCause(err)
		}
		if local, err = filepath.Rel(base, local); err != nil {
			return "", outside.WithCause(err)
		}
	}
	if !filepath.IsLocal(local) {
		return "", outside
	}
	content, err := readBelow(p.files, local)
	if err != nil {
		return "", sqlerr.New(sqlerr.OptionInvalid, "'%s' is '%s', which cannot be read below the server's --files-dir: %v", as, option.Show(path), cause(err)).WithCause(err)
	}
	return content, nil
}

func readBelow(dir, local string) (content string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	// A look before the open: opening a named pipe would block.
	info, err := root.Stat(local)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("it is not a regular file")
	}
	if info.Size() > maxStoreBytes {
		return "", fmt.Errorf("it is larger than %d MiB", maxStoreBytes>>20)
	}
	f, err := root.Open(local)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	b, err := io.ReadAll(io.LimitReader(f, maxStoreBytes))
	return string(b), err
}

// cause leaves the server's paths out of what a user is told.
func cause(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
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

func (s *pemStore) pool() (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	for i, b := range s.blocks {
		if b.Type != "CERTIFICATE" {
			return nil, sqlerr.New(sqlerr.OptionInvalid, "'%s' holds a %s as block %d, expected only certificates", s.as, b.Type, i+1)
		}
		c, err := x509.ParseCertificate(b.Bytes)
		if err != nil {
			return nil, sqlerr.New(sqlerr.OptionInvalid, "'%s' holds no valid certificate as block %d", s.as, i+1).WithCause(err)
		}
		pool.AddCert(c)
	}
	return pool, nil
}

// clientCertificate joins the chain with its key, which stands in the same file or in ssl.keystore.key. material identifies both.
func (p *propertyParser) clientCertificate(chain *pemStore) (certificate tls.Certificate, material string, err error) {
	blocks, as := chain.blocks, chain.as
	if p.Has("ssl.keystore.key") {
		keys, err := pemBlocks(p.String("ssl.keystore.key"))
		if err != nil {
			return tls.Certificate{}, "", sqlerr.New(sqlerr.OptionInvalid, "'%s' is no PEM text: %v", p.As("ssl.keystore.key"), err)
		}
		blocks = append(slices.Clone(blocks), keys...)
	}
	var chainPEM, keyPEM []byte
	for _, b := range blocks {
		switch {
		case b.Type == "CERTIFICATE":
			chainPEM = append(chainPEM, pem.EncodeToMemory(b)...)
		case b.Type == "ENCRYPTED PRIVATE KEY":
			return tls.Certificate{}, "", sqlerr.New(sqlerr.NotSupported, "the private key for '%s' is encrypted, which is not supported yet", as).
				WithHint("decrypt it, for example with openssl pkcs8, and keep the file readable by the server only")
		case strings.HasSuffix(b.Type, "PRIVATE KEY"):
			if keyPEM != nil {
				return tls.Certificate{}, "", sqlerr.New(sqlerr.OptionConflict, "there is more than one private key for '%s'", as)
			}
			keyPEM = pem.EncodeToMemory(b)
		}
	}
	if chainPEM == nil {
		return tls.Certificate{}, "", sqlerr.New(sqlerr.OptionInvalid, "'%s' holds no certificate", as)
	}
	if keyPEM == nil {
		return tls.Certificate{}, "", sqlerr.New(sqlerr.OptionMissing, "there is no private key for '%s'", as).
			WithHint("add it to the PEM file, or give it in ssl.keystore.key")
	}
	certificate, err = tls.X509KeyPair(chainPEM, keyPEM)
	if err != nil {
		return tls.Certificate{}, "", sqlerr.New(sqlerr.OptionInvalid, "certificate and private key for '%s' cannot be used: %v", as, err)
	}
	return certificate, string(chainPEM) + string(keyPEM), nil
}
