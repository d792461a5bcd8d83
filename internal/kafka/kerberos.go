package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	krb5 "github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/kerberos"

	"millrace/internal/sqlerr"
)

// kerberosLogin is the login of GSSAPI: a principal with its keys, and where the realm's KDCs are.
//
// gokrb5 dials KDCs itself, so that Config.Allow cannot be asked in the dialer as for everything else. The KDCs are resolved and asked about here, and
// gokrb5 is given the addresses that were found to be allowed, never a name that could resolve anew.
type kerberosLogin struct {
	principal, realm, service string
	keys                      *keytab.Keytab
	kdcs                      []string
}

// newKerberosLogin checks what was given; keys is the content of a keytab.
func newKerberosLogin(principal, service, keys string, kdcs []string) (*Login, error) {
	name, realm, ok := strings.Cut(principal, "@")
	if !ok || name == "" || realm == "" || strings.ContainsAny(realm, "@ \t\r\n{}=\"#;[]") {
		return nil, errors.New("expected a principal such as reader@EXAMPLE.COM")
	}
	k := &kerberosLogin{principal: name, realm: realm, service: service, keys: keytab.New(), kdcs: kdcs}
	if err := unmarshalKeytab(k.keys, []byte(keys)); err != nil {
		return nil, errors.New("the keytab cannot be read")
	}
	return newLogin("principal '"+principal+"'", func(cfg Config) sasl.Mechanism { return kerberosMechanism{k, cfg} }, "gssapi", principal, service, keys, kdcs), nil
}

// unmarshalKeytab contains the panics of a decoder that indexes what it is given.
func unmarshalKeytab(k *keytab.Keytab, b []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("damaged: %v", p)
		}
	}()
	if len(b) < 2 {
		return errors.New("too short")
	}
	return k.Unmarshal(b)
}

// kerberosMechanism logs in at the KDC for each authentication.
type kerberosMechanism struct {
	*kerberosLogin
	cfg Config
}

// Name implements sasl.Mechanism.
func (kerberosMechanism) Name() string { return "GSSAPI" }

// Authenticate implements sasl.Mechanism.
func (m kerberosMechanism) Authenticate(ctx context.Context, hostPort string) (sasl.Session, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, m.cfg.ConnectTimeout)
	defer cancel()
	kdcs, err := m.allowed(ctx)
	if err != nil {
		return nil, nil, &loginError{err}
	}
	conf, err := config.NewFromString(m.conf(kdcs))
	if err != nil {
		return nil, nil, sqlerr.New(sqlerr.OptionInvalid, "the settings of Kerberos cannot be used").WithCause(err)
	}
	cl := krb5.NewWithKeytab(m.principal, m.realm, m.keys, conf, krb5.DisablePAFXFAST(true))
	// The session needs the ticket only, so the client's own goroutine ends here.
	defer cl.Destroy()
	if err := cl.Login(); err != nil {
		return nil, nil, &loginError{m.failed(err)}
	}
	session, first, err := kerberos.Auth{Client: cl, Service: m.service, PersistAfterAuth: true}.AsMechanism().Authenticate(ctx, hostPort)
	if err != nil {
		return nil, nil, &loginError{m.failed(err)}
	}
	return session, first, nil
}

func (m kerberosMechanism) failed(err error) error {
	text := err.Error()
	if strings.Contains(text, "communication error") || strings.Contains(text, "sending to a KDC") {
		return sqlerr.New(sqlerr.KafkaUnreachable, "no KDC of realm '%s' can be reached at '%s'", m.realm, strings.Join(m.kdcs, ",")).WithCause(err).WithHint("check 'kafka.sasl.kerberos.kdc'")
	}
	return sqlerr.New(sqlerr.KafkaAuth, "the KDC of realm '%s' gives principal '%s' no ticket for '%s'", m.realm, m.principal, m.service).WithCause(err).
		WithHint("check principal, keytab and 'kafka.sasl.kerberos.service.name', and that the clocks agree")
}

// allowed resolves the KDCs to the addresses that may be connected to.
func (m kerberosMechanism) allowed(ctx context.Context) ([]string, error) {
	var found []string
	var last error
	for _, kdc := range m.kdcs {
		host, port, err := net.SplitHostPort(kdc)
		if err != nil {
			return nil, err
		}
		addresses, err := net.DefaultResolver.LookupIPAddr(ctx, host)
		if err != nil {
			last = sqlerr.New(sqlerr.KafkaUnreachable, "KDC '%s' cannot be reached: the name does not resolve: %w", kdc, err)
			continue
		}
		for _, a := range addresses {
			if m.cfg.Allow != nil {
				if err := m.cfg.Allow(kdc, a.IP); err != nil {
					last = sqlerr.New(sqlerr.KafkaHostRefused, "KDC '%s' (%s) may not be connected to: %w", kdc, a.IP, err).
						WithHint("An administrator decides which hosts are allowed, by --allow-hosts.")
					continue
				}
			}
			found = append(found, net.JoinHostPort(a.String(), port))
		}
	}
	if len(found) == 0 {
		return nil, last
	}
	return found, nil
}

// conf writes the little of krb5.conf that is needed: one realm, its KDCs, TCP.
func (m kerberosMechanism) conf(kdcs []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[libdefaults]\n default_realm = %s\n dns_lookup_kdc = false\n dns_lookup_realm = false\n udp_preference_limit = 1\n[realms]\n %s = {\n", m.realm, m.realm)
	for _, kdc := range kdcs {
		fmt.Fprintf(&b, "  kdc = %s\n", kdc)
	}
	b.WriteString(" }\n")
	return b.String()
}
