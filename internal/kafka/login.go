package kafka

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/aws"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"millrace/internal/sqlerr"
)

// Login is how a Config logs in by a mechanism that wants more than a user and a password. The clients of a cluster share it, and each asks it anew
// whenever it authenticates: for every connection, and again before the session that the broker granted ends (KIP-368). So credentials that live for
// minutes stay fresh under reads that run for hours.
type Login struct {
	// key is a digest of everything in the login; who names whom it logs in, without a secret.
	key, who string
	// session gives what to authenticate with. cfg is the Config of the cluster: its dialer reaches token endpoints and its time-outs hold for them.
	mechanism func(cfg Config) sasl.Mechanism
}

// newLogin makes a Login; parts are all that tells it from others, secrets included.
func newLogin(who string, mechanism func(Config) sasl.Mechanism, parts ...any) *Login {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%q\n", fmt.Sprint(p))
	}
	return &Login{key: hex.EncodeToString(h.Sum(nil)), who: who, mechanism: mechanism}
}

// String keeps what a Login holds out of messages.
func (l *Login) String() string { return "login of " + l.who }

// Format does so for every verb.
func (l *Login) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, l.String()) }

// who names whom c logs in as, for messages.
func (c Config) who() string {
	switch {
	case c.Label != "":
		return "the user of " + c.Label
	case c.Login != nil:
		return c.Login.who
	default:
		return "user '" + c.User + "'"
	}
}

// mechanism is what franz-go asks for credentials.
func (c Config) mechanism() (sasl.Mechanism, error) {
	switch c.Mechanism {
	case "PLAIN":
		return plain.Auth{User: c.User, Pass: c.Password}.AsMechanism(), nil
	case "SCRAM-SHA-256":
		return scram.Auth{User: c.User, Pass: c.Password, IsToken: c.DelegationToken}.AsSha256Mechanism(), nil
	case "SCRAM-SHA-512":
		return scram.Auth{User: c.User, Pass: c.Password, IsToken: c.DelegationToken}.AsSha512Mechanism(), nil
	}
	if c.Login != nil {
		return c.Login.mechanism(c), nil
	}
	if c.Mechanism == "" {
		return nil, sqlerr.New(sqlerr.OptionMissing, "'kafka.sasl.mechanism' is missing: 'kafka.security.protocol' is %s", c.Protocol).WithHint("%s", mechanismsHint)
	}
	return nil, sqlerr.New(sqlerr.NotSupported, "'kafka.sasl.mechanism' %q is not supported", c.Mechanism).WithHint("%s", mechanismsHint)
}

const mechanismsHint = "allowed are PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER, AWS_MSK_IAM and GSSAPI"

// bearer is a mechanism of OAUTHBEARER that asks from for a token at each authentication.
func bearer(from func(context.Context) (string, error), extensions map[string]string) sasl.Mechanism {
	return oauth.Oauth(func(ctx context.Context) (oauth.Auth, error) {
		token, err := from(ctx)
		if err != nil {
			return oauth.Auth{}, &loginError{err}
		}
		return oauth.Auth{Token: token, Extensions: extensions}, nil
	})
}

// awsKeys is the login of AWS_MSK_IAM: each authentication signs the broker's name anew, so nothing expires but the keys themselves.
func awsKeys(id, secret, session string) *Login {
	return newLogin("the AWS access key", func(Config) sasl.Mechanism {
		return aws.Auth{AccessKey: id, SecretKey: secret, SessionToken: session, UserAgent: "millrace"}.AsManagedStreamingIAMMechanism()
	}, "aws", id, secret, session)
}

// loginError says that whoever gives out credentials gave none. It tells a refusal, which waiting does not mend, from what a broker that restarts may
// answer, which looks alike.
type loginError struct{ err error }

func (e *loginError) Error() string { return e.err.Error() }
func (e *loginError) Unwrap() error { return e.err }

// refusedLogin finds a loginError that waiting does not mend.
func refusedLogin(err error) *sqlerr.Error {
	var login *loginError
	if !errors.As(err, &login) {
		return nil
	}
	if e, ok := sqlerr.As(login.err); ok && !e.Kind.Retry {
		return e
	}
	return nil
}
