package registry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/sr"

	"millrace/internal/sqlerr"
)

// UnknownID is the error for an id that the registry does not have. It tells of the record that carries the id: bad data.
type UnknownID struct {
	ID int
	// GUID is set where the schema was asked for by that.
	GUID string
}

func (e *UnknownID) Error() string {
	if e.GUID != "" {
		return "the schema registry has no schema with GUID " + e.GUID
	}
	return fmt.Sprintf("the schema registry has no schema with id %d", e.ID)
}

// outcome is what an error of one try means for the next.
type outcome uint8

const (
	final outcome = iota
	// again is for what may pass while somebody waits.
	again
	// soon is for what hardly passes: an address where nobody listens, or that does not exist. It is tried again for a moment only, for a registry that is just
	// being restarted.
	soon
)

// missing says that what was asked for is not there.
type missing struct {
	message string
	// path is set where the registry may not know the request's path at all.
	path bool
}

func (e *missing) Error() string { return e.message }

// Codes of the registry's own for things that are not there. Any other 404 comes from something that is no registry.
const (
	firstNotFound = 40400
	lastNotFound  = 40499
)

// judge turns the error of one try at a URL into one for the user.
func judge(at string, err error) (outcome, error) {
	var answer *sr.ResponseError
	if errors.As(err, &answer) {
		return judgeAnswer(at, answer)
	}
	var refused *refusedError
	var redirect *redirectError
	var notTLS tls.RecordHeaderError
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var certificate *tls.CertificateVerificationError
	var alert tls.AlertError
	var network *net.OpError
	var unknownName *net.DNSError
	switch {
	case errors.As(err, &refused):
		text := refused.Error()
		if e, ok := sqlerr.As(refused); ok {
			text = e.Msg
		}
		return final, sqlerr.New(sqlerr.RegistryHostRefused, "schema registry '%s': %s", at, text).WithCause(err).
			WithHint("ask the operator of the server to add it to --allow-hosts")
	case errors.As(err, &redirect):
		return final, sqlerr.New(sqlerr.RegistryProtocol, "schema registry '%s': %s, which is not followed", at, redirect).WithCause(err).
			WithHint("give the URL that it redirects to")
	case errors.Is(err, errTooLarge):
		return final, sqlerr.New(sqlerr.RegistryProtocol, "schema registry '%s': the answer is too large", at).WithCause(err)
	case errors.As(err, &notTLS):
		return final, sqlerr.New(sqlerr.RegistryTLS, "schema registry '%s' does not speak TLS", at).WithCause(err).WithHint("use http:// for it")
	case errors.As(err, &authority), errors.As(err, &name), errors.As(err, &certificate):
		return final, sqlerr.New(sqlerr.RegistryTLS, "schema registry '%s': its certificate is refused: %s", at, cause(err)).WithCause(err)
	case errors.As(err, &alert), errors.As(err, &network) && network.Op == "remote error":
		return final, sqlerr.New(sqlerr.RegistryTLS, "schema registry '%s' refused the TLS handshake: %s", at, cause(err)).WithCause(err).
			WithHint("it may want a client certificate")
	case strings.Contains(err.Error(), "unable to decode ok response body"):
		return final, notARegistry(at, "its answer is not what a registry gives").WithCause(err)
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return final, sqlerr.New(sqlerr.RegistryTLS, "schema registry '%s' does not speak TLS", at).WithCause(err).WithHint("use http:// for it")
	case strings.Contains(err.Error(), "malformed HTTP"):
		return final, notARegistry(at, "what listens there does not speak HTTP").WithCause(err)
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		// A port of another protocol does this, but so does a balancer without anything behind it, which passes.
		return soon, unreachable(at, "closes the connection without an answer, as a port does that does not speak HTTP").WithCause(err)
	case errors.As(err, &unknownName) && unknownName.IsNotFound, errors.As(err, &network) && network.Op == "dial":
		return soon, unreachable(at, "cannot be reached: "+cause(err)).WithCause(err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return again, silence(at).WithCause(err)
	default:
		return again, unreachable(at, "cannot be reached: "+cause(err)).WithCause(err)
	}
}

// unreachable is the error for a registry that does not answer as one.
func unreachable(at, what string) *sqlerr.Error {
	return sqlerr.New(sqlerr.RegistryUnreachable, "schema registry '%s' %s", at, what).
		WithHint("check 'schemaRegistryUrl', that the registry runs, and that the server's network reaches it; no record was judged bad")
}

// silence is the error of a request without an answer.
func silence(at string) *sqlerr.Error {
	return sqlerr.New(sqlerr.RegistryTimeout, "schema registry '%s' does not answer in time", at)
}

func judgeAnswer(at string, answer *sr.ResponseError) (outcome, error) {
	switch code := answer.StatusCode; {
	case code == http.StatusUnauthorized:
		return final, sqlerr.New(sqlerr.RegistryAuth, "schema registry '%s' refused the login (HTTP 401)", at).WithCause(answer)
	case code == http.StatusForbidden:
		return final, sqlerr.New(sqlerr.RegistryAuth, "schema registry '%s' does not allow the request (HTTP 403)", at).WithCause(answer)
	case code == http.StatusNotFound && (answer.ErrorCode >= firstNotFound && answer.ErrorCode <= lastNotFound || answer.ErrorCode == http.StatusNotFound && answer.Message != ""):
		return final, &missing{answer.Message, answer.ErrorCode == http.StatusNotFound}
	case code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code >= 500:
		return again, unreachable(at, fmt.Sprintf("answers with HTTP %d%s", code, said(answer))).WithCause(answer)
	default:
		return final, notARegistry(at, fmt.Sprintf("it answers with HTTP %d%s", code, said(answer))).WithCause(answer)
	}
}

// notARegistry is the error for a server of another kind.
func notARegistry(at, why string) *sqlerr.Error {
	return sqlerr.New(sqlerr.RegistryProtocol, "'%s' is not a schema registry: %s", at, why).
		WithHint("the URL is the base of the Confluent-compatible interface; 'GET <url>/subjects' lists subjects there")
}

// said is what a registry said about a fault of its own, cut; nothing where it is not a registry that speaks.
func said(answer *sr.ResponseError) string {
	const most = 200
	text := strings.Join(strings.Fields(answer.Message), " ")
	if answer.ErrorCode == 0 || text == "" {
		return ""
	}
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return ": " + text
}

// cause is the innermost part of an error that says something, without the URL and the method that go before it.
func cause(err error) string {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "no answer in time"
	}
	return err.Error()
}
