package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/sqlerr"
)

// canceled reports whether ctx ended for another reason than its deadline: the statement was killed or the client is gone.
func canceled(ctx context.Context) bool {
	return ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded)
}

// requestError classifies a failed request to the cluster as a whole. The broker's address is taken from the error where it has one.
func (c Config) requestError(ctx context.Context, err error) error {
	if e, ok := sqlerr.As(err); ok {
		return e
	}
	if canceled(ctx) {
		return context.Cause(ctx)
	}
	return c.connectError(strings.Join(c.Brokers, ","), err, ctx.Err() != nil)
}

// connectError says why a broker cannot be used. silent means that it did not answer in time. addr is the address as configured; an error of the
// dialer knows better.
func (c Config) connectError(addr string, err error, silent bool) *sqlerr.Error {
	if e, ok := sqlerr.As(err); ok { // of a login, which knows what went wrong
		var refused *refusedError
		if !errors.As(err, &refused) {
			return e
		}
	}
	var dial *dialError
	if errors.As(err, &dial) {
		addr = dial.hostPort
	}
	var (
		refused *refusedError
		record  tls.RecordHeaderError
		verify  *tls.CertificateVerificationError
		dns     *net.DNSError
		op      *net.OpError
		eof     *kgo.ErrFirstReadEOF
		ke      *kerr.Error
	)
	unencrypted := "The broker's listener may not be encrypted: check 'kafka.security.protocol' (now %s) and the port."
	encrypted := "The broker's listener may want TLS or SASL: check 'kafka.security.protocol' (now %s) and the port."
	switch {
	case errors.Is(err, kgo.ErrClientClosed):
		return errPoolClosed
	case errors.As(err, &refused):
		return sqlerr.New(sqlerr.KafkaHostRefused, "broker '%s' (%s) may not be connected to: %w", refused.hostPort, refused.ip, refused.err).
			WithHint("An administrator decides which hosts are allowed, by --allow-hosts.")
	case errors.As(err, &record):
		return sqlerr.New(sqlerr.KafkaProtocol, "broker '%s' does not answer with TLS", addr).WithCause(err).WithHint(unencrypted, c.Protocol)
	case tlsAlert(err) != nil:
		alert := tlsAlert(err)
		if s := alert.Error(); strings.Contains(s, "certificate required") || strings.Contains(s, "bad certificate") {
			return sqlerr.New(sqlerr.KafkaAuth, "broker '%s' refuses the client's certificate: %w", addr, alert).
				WithHint("The broker asks for a client certificate that it trusts: set 'kafka.ssl.keystore.certificate.chain' and 'kafka.ssl.keystore.key'.")
		}
		return sqlerr.New(sqlerr.KafkaTLS, "TLS with broker '%s' failed: %w", addr, alert)
	case errors.As(err, &verify), isX509(err):
		return sqlerr.New(sqlerr.KafkaTLS, "the certificate of broker '%s' is not accepted: %w", addr, innermost(err)).
			WithHint("Give the authority that signed it by 'kafka.ssl.truststore.certificates', and use the name that the certificate is for.")
	case errors.As(err, &ke):
		return c.codeError(addr, ke)
	case errors.As(err, &dial) && dial.tls && (silent || errors.Is(err, context.DeadlineExceeded)):
		return sqlerr.New(sqlerr.KafkaProtocol, "broker '%s' accepts the connection but does not answer the TLS handshake", addr).
			WithCause(err).WithHint(unencrypted, c.Protocol)
	case errors.As(err, &dial) && dial.tls:
		return sqlerr.New(sqlerr.KafkaTLS, "TLS handshake with broker '%s' failed: %w", addr, innermost(err)).WithHint(unencrypted, c.Protocol)
	case errors.As(err, &dns):
		return sqlerr.New(sqlerr.KafkaUnreachable, "broker '%s' cannot be reached: the name does not resolve: %w", addr, err).
			WithHint("Check 'bootstrapServers' and what the brokers advertise.")
	case errors.As(err, &op) && op.Op == "dial":
		return sqlerr.New(sqlerr.KafkaUnreachable, "broker '%s' cannot be reached: %w", addr, innermost(err)).
			WithHint("Check 'bootstrapServers', what the brokers advertise, and that a broker listens there.")
	case strings.Contains(err.Error(), "HTTP response"):
		return sqlerr.New(sqlerr.KafkaProtocol, "'%s' answers with HTTP, not as a Kafka broker", addr).WithCause(err).WithHint("Check the port in 'bootstrapServers'.")
	case strings.Contains(err.Error(), "tls alert record"):
		return sqlerr.New(sqlerr.KafkaProtocol, "broker '%s' expects TLS", addr).WithCause(err).
			WithHint("Set 'kafka.security.protocol' to SSL or SASL_SSL (now %s).", c.Protocol)
	case strings.Contains(err.Error(), "response size"):
		return sqlerr.New(sqlerr.KafkaProtocol, "'%s' does not answer as a Kafka broker", addr).WithCause(err).WithHint(encrypted, c.Protocol)
	case c.Protocol.usesSASL() && (errors.As(err, &eof) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)):
		return sqlerr.New(sqlerr.KafkaAuth, "broker '%s' closed the connection during authentication as %s by %s", addr, c.who(), c.Mechanism).
			WithCause(err).WithHint("Check user, password and 'kafka.sasl.mechanism'.")
	case errors.As(err, &eof), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return sqlerr.New(sqlerr.KafkaProtocol, "broker '%s' closed the connection at the first request", addr).WithCause(err).WithHint(encrypted, c.Protocol)
	case silent || errors.Is(err, context.DeadlineExceeded):
		return sqlerr.New(sqlerr.KafkaUnreachable, "broker '%s' did not answer within %v", addr, c.ConnectTimeout).WithCause(err).WithHint(encrypted, c.Protocol)
	default:
		return sqlerr.New(sqlerr.KafkaUnreachable, "broker '%s' cannot be used: %w", addr, err)
	}
}

// codeError turns an error code that concerns the connection, not a topic, into an error for the user.
func (c Config) codeError(addr string, ke *kerr.Error) *sqlerr.Error {
	switch ke {
	case kerr.SaslAuthenticationFailed:
		return sqlerr.New(sqlerr.KafkaAuth, "broker '%s' refuses %s by %s: %w", addr, c.who(), c.Mechanism, ke).
			WithHint("Check user, password and 'kafka.sasl.mechanism'.")
	case kerr.UnsupportedSaslMechanism:
		return sqlerr.New(sqlerr.KafkaAuth, "broker '%s' does not offer 'kafka.sasl.mechanism' %s", addr, c.Mechanism).WithCause(ke)
	case kerr.IllegalSaslState:
		return sqlerr.New(sqlerr.KafkaProtocol, "broker '%s' does not expect SASL on this listener", addr).WithCause(ke).
			WithHint("Check 'kafka.security.protocol' (now %s) and the port.", c.Protocol)
	case kerr.ClusterAuthorizationFailed, kerr.TopicAuthorizationFailed, kerr.GroupAuthorizationFailed:
		return sqlerr.New(sqlerr.KafkaNotAuthorized, "broker '%s' does not allow it: %w", addr, ke)
	default:
		return sqlerr.New(sqlerr.KafkaUnreachable, "broker '%s' answers %w", addr, ke)
	}
}

// topicNotAuthorized is the error for a topic whose ACLs do not allow op.
func topicNotAuthorized(topic, op string) *sqlerr.Error {
	return sqlerr.New(sqlerr.KafkaNotAuthorized, "topic '%s' may not be used: the Kafka user lacks %s on it", topic, op).
		WithCause(kerr.TopicAuthorizationFailed).WithHint("Grant %s on the topic to the Kafka principal.", op)
}

// tlsAlert finds the alert that the other side ended TLS with. With TLS 1.3 it may come after the handshake.
func tlsAlert(err error) error {
	var alert tls.AlertError
	if errors.As(err, &alert) {
		return alert
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "remote error" {
		return op
	}
	return nil
}

func isX509(err error) bool {
	var (
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
	)
	return errors.As(err, &authority) || errors.As(err, &host) || errors.As(err, &invalid)
}

// innermost leaves out the wrapping of dial and client, which would say the address twice.
func innermost(err error) error {
	var dial *dialError
	if errors.As(err, &dial) {
		err = dial.err
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return op.Err
	}
	return err
}

// codeClass is what to do about an error code in the answer for a partition.
type codeClass uint8

const (
	codeFatal     codeClass = iota // nothing helps
	codeTransient                  // leadership or load: back off, refresh, try again
	codeMissing                    // the topic or partition is not there (yet, or any more)
	codeIdentity                   // the topic id is not the one that was planned
	codeRange                      // the offset is outside the log
	codeDenied                     // an ACL
)

// classify sorts the error codes of metadata, offset and fetch answers. kerr's own notion of retriable is not used: it holds an unknown topic for
// retriable and a broker's full disk for fatal.
func classify(code int16) codeClass {
	switch kerr.ErrorForCode(code) {
	case kerr.NotLeaderForPartition, kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch, kerr.LeaderNotAvailable, kerr.ReplicaNotAvailable,
		kerr.BrokerNotAvailable, kerr.RequestTimedOut, kerr.KafkaStorageError, kerr.OffsetNotAvailable, kerr.NetworkException,
		kerr.CoordinatorLoadInProgress, kerr.FetchSessionIDNotFound, kerr.InvalidFetchSessionEpoch, kerr.ThrottlingQuotaExceeded:
		return codeTransient
	case kerr.UnknownTopicOrPartition:
		return codeMissing
	case kerr.UnknownTopicID, kerr.InconsistentTopicID:
		return codeIdentity
	case kerr.OffsetOutOfRange:
		return codeRange
	case kerr.TopicAuthorizationFailed, kerr.ClusterAuthorizationFailed:
		return codeDenied
	default:
		return codeFatal
	}
}
