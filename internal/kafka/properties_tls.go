package kafka

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
		certificates, err := trustStore(trust.format, trust.content, trust.passwords)
		if err == nil && len(certificates) == 0 {
			err = errNoCertificate
		}
		if err != nil {
			return p.fault(trust, "truststore", err)
		}
		t.RootCAs = x509.NewCertPool()
		for _, c := range certificates {
			t.RootCAs.AddCert(c)
		}
	}
	if err := p.client(t, note); err != nil {
		return err
	}
	touched = touched || t.Certificates != nil
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

// client reads the client's certificate.
func (p *propertyParser) client(t *tls.Config, note func(string, ...string)) error {
	key, err := p.store("keystore", "ssl.keystore.certificate.chain")
	if err != nil {
		return err
	}
	separate := ""
	if p.Has("ssl.keystore.key") {
		separate = p.String("ssl.keystore.key")
	}
	switch {
	case key == nil && separate != "":
		return sqlerr.New(sqlerr.OptionMissing, "'%s' needs its certificate in 'ssl.keystore.certificate.chain'", p.As("ssl.keystore.key"))
	case key == nil:
		return nil
	case separate != "" && key.format != formatPEM:
		return sqlerr.New(sqlerr.OptionConflict, "'%s' is for PEM, and '%s' is %s, which holds its key", p.As("ssl.keystore.key"), key.as, key.format).WithHint("keep one of them")
	}
	certificate, err := clientStore(key.format, key.content, separate, key.passwords)
	if err != nil {
		return p.fault(key, "keystore", err)
	}
	note("client", key.content, separate)
	t.Certificates = []tls.Certificate{certificate}
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

// store is the content of a trust store or key store with the property that named it.
type store struct {
	as, format, content string
	passwords           passwords
}

// store reads ssl.<kind>.location or the inline property; nil when neither is given.
func (p *propertyParser) store(kind, inline string) (*store, error) {
	location, typ, password := "ssl."+kind+".location", "ssl."+kind+".type", "ssl."+kind+".password"
	s := &store{}
	switch {
	case p.Has(location) && p.Has(inline):
		return nil, sqlerr.New(sqlerr.OptionConflict, "'%s' and '%s' exclude each other", p.As(location), p.As(inline)).WithHint("keep one of them")
	case p.Has(inline):
		s.as, s.content = p.As(inline), unarmored(p.String(inline))
	case p.Has(location):
		content, err := p.file(location)
		if err != nil {
			return nil, err
		}
		s.as, s.content = p.As(location), content
	default:
		return nil, nil
	}
	s.format = formatOf(s.content)
	switch {
	case s.format == "JCEKS":
		return nil, sqlerr.New(sqlerr.NotSupported, "'%s' is a JCEKS store, which is not supported", s.as).WithHint("keytool -importkeystore -deststoretype PKCS12 converts it")
	case s.format == "" && p.Has(inline):
		return nil, sqlerr.New(sqlerr.OptionInvalid, "'%s' holds no PEM block", s.as).WithHint("PEM text begins with a line such as -----BEGIN CERTIFICATE-----; a JKS or PKCS12 store is given in base64")
	case s.format == "":
		return nil, sqlerr.New(sqlerr.OptionInvalid, "'%s' is no store: neither PEM nor JKS nor PKCS12", s.as)
	case p.Has(typ) && p.String(typ) != s.format:
		return nil, sqlerr.New(sqlerr.OptionConflict, "'%s' is %s and '%s' is %s", p.As(typ), p.String(typ), s.as, s.format).WithHint("leave '%s' out: the format is recognised", p.As(typ))
	}
	if p.Has(password) {
		text := p.String(password)
		s.passwords.store, s.passwords.key = &text, text
		if s.format == formatPEM {
			p.warn("'" + p.As(password) + "' is ignored: a store in PEM has no password")
			s.passwords.key = ""
		}
	}
	if p.Has("ssl.key.password") {
		s.passwords.key = p.String("ssl.key.password")
	}
	return s, nil
}

// fault is the error of a store that cannot be used.
func (p *propertyParser) fault(s *store, kind string, err error) error {
	password := "ssl." + kind + ".password"
	e := sqlerr.New(sqlerr.OptionInvalid, "'%s' cannot be used as a %s store: %v", s.as, strings.TrimSuffix(kind, "store"), err)
	switch {
	case errors.Is(err, errNoPassword):
		return sqlerr.New(sqlerr.OptionMissing, "'%s' needs '%s'", s.as, password)
	case errors.Is(err, errTwoKeys):
		return sqlerr.New(sqlerr.OptionConflict, "there is more than one private key for '%s'", s.as)
	case errors.Is(err, errNoKeyPassword):
		return sqlerr.New(sqlerr.OptionMissing, "the private key for '%s' is encrypted, and 'ssl.key.password' is missing", s.as)
	case errors.Is(err, errNoKey) && s.format == formatPEM:
		return sqlerr.New(sqlerr.OptionMissing, "there is no private key for '%s'", s.as).WithHint("add it to the PEM file, or give it in ssl.keystore.key")
	case errors.Is(err, errWrongPassword) && s.format != formatPEM && p.Has("ssl.key.password"):
		return e.WithHint("check '%s' and '%s'", p.As(password), p.As("ssl.key.password"))
	case errors.Is(err, errWrongPassword) && s.format != formatPEM:
		return e.WithHint("check '%s'", p.As(password))
	case errors.Is(err, errWrongPassword):
		return e.WithHint("check '%s'", p.As("ssl.key.password"))
	}
	return e
}

// maxStoreBytes bounds a file that SQL names; bundles of public authorities take about 300 KB.
const maxStoreBytes = 4 << 20

// file reads a file below FilesDir. os.Root keeps symbolic links and .. from leading out of it.
func (p *propertyParser) file(name string) (string, error) { return p.fileAt(name, p.String(name)) }

// fileAt reads the file that the property names in a part of its value.
func (p *propertyParser) fileAt(name, path string) (string, error) {
	return ReadFile(p.files, p.As(name), path, "start the server with --files-dir, or give the content itself: ssl.truststore.certificates, ssl.keystore.certificate.chain, ssl.keystore.key")
}

// ReadFile reads a file that SQL names, which must lie below dir; an empty dir allows none, and hint then says what else the user can do. as is the option that names
// it.
func ReadFile(dir, as, path, hint string) (string, error) {
	if dir == "" {
		return "", sqlerr.New(sqlerr.OptionForbidden, "'%s' names a file, and this server lets SQL name none", as).WithHint("%s", hint)
	}
	outside := sqlerr.New(sqlerr.OptionForbidden, "'%s' is '%s', which is not below the server's --files-dir", as, option.Show(path))
	local := filepath.Clean(path)
	if filepath.IsAbs(local) {
		base, err := filepath.Abs(dir)
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
	content, err := readBelow(dir, local)
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
