package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"millrace/internal/option"
	"millrace/internal/sqlerr"
)

// tokenSource gets access tokens of OAUTHBEARER and keeps the last one while it is young. It may be asked by several connections at once: one of them
// fetches, the others wait for what it gets.
type tokenSource struct {
	// endpoint is where tokens come from, nil when request makes them itself.
	endpoint *url.URL
	// tls is for the endpoint, nil for the defaults; trust in the brokers is another matter.
	tls *tls.Config
	// request makes the body of one request and the value of its Authorization header, empty for none.
	request func(now time.Time) (body url.Values, authorization string, err error)
	// finish makes what the broker is sent of the access token; nil leaves it as it is.
	finish func(token string, expires time.Time) string
	now    func() time.Time

	// turn holds the right to look at and change the rest.
	turn    chan struct{}
	token   string
	renewAt time.Time
}

func newTokenSource() *tokenSource {
	return &tokenSource{now: time.Now, turn: make(chan struct{}, 1)}
}

const (
	// maxTokenAnswer bounds what is read of an answer: tokens take a few KB.
	maxTokenAnswer = 1 << 20
	// tokenAttempts is how often one authentication asks when the endpoint fails for a passing cause.
	tokenAttempts = 3
	// youth is the share of its life for which a token is used for new logins, as in Java's client. A broker ends the session with the token, and
	// franz-go logs in anew shortly before that, so an old token would make for short sessions.
	youth = 0.8
	// rest is what a token must have left for a new login. franz-go logs in anew a second before a session ends, and a broker closes a connection that
	// does so within a second.
	rest = 5 * time.Second
)

// get gives a token for one authentication.
func (s *tokenSource) get(ctx context.Context, cfg Config) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, cfg.ConnectTimeout)
	defer cancel()
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return "", s.unreachable(ctx.Err())
	}
	if s.token != "" && s.now().Before(s.renewAt) {
		return s.token, nil
	}
	wait := newBackoff()
	for attempt := 1; ; attempt++ {
		err := s.fetch(ctx, cfg)
		if err == nil {
			return s.token, nil
		}
		e, ok := sqlerr.As(err)
		if !ok || !e.Kind.Retry || attempt == tokenAttempts || wait.sleep(ctx) != nil {
			return "", err
		}
	}
}

// fetch asks the endpoint once. The turn is held.
func (s *tokenSource) fetch(ctx context.Context, cfg Config) error {
	now := s.now()
	body, authorization, err := s.request(now)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.endpoint.String(), strings.NewReader(body.Encode()))
	if err != nil {
		return s.unreachable(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	// A connection for each request: an endpoint is asked every few minutes at most, and nothing stays open that somebody would have to close.
	client := http.Client{
		Transport:     &http.Transport{DialContext: cfg.dialTCP, TLSClientConfig: s.tls, DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: false},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(req)
	if err != nil {
		return s.unreachable(err)
	}
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxTokenAnswer))
	if err = errors.Join(err, res.Body.Close()); err != nil {
		return s.unreachable(err)
	}
	if res.StatusCode != http.StatusOK {
		return s.refusal(res.StatusCode, answer)
	}
	return s.accept(answer, now)
}

// accept keeps the token of an answer.
func (s *tokenSource) accept(answer []byte, now time.Time) error {
	var a struct {
		AccessToken string      `json:"access_token"`
		ExpiresIn   json.Number `json:"expires_in"`
	}
	// What is wrong with the answer is not shown: it may hold the token.
	if err := json.Unmarshal(answer, &a); err != nil || a.AccessToken == "" {
		return sqlerr.New(sqlerr.KafkaProtocol, "token endpoint '%s' answers without an access token", s.where()).
			WithHint("expected is JSON with access_token, as RFC 6749 has it; check 'kafka.sasl.oauthbearer.token.endpoint.url'")
	}
	if strings.ContainsAny(a.AccessToken, "\x01\x00\r\n ") {
		return sqlerr.New(sqlerr.KafkaProtocol, "token endpoint '%s' answers with an access token that is none", s.where())
	}
	var life time.Duration
	if seconds, err := a.ExpiresIn.Float64(); err == nil && seconds > 0 {
		life = time.Duration(min(seconds, 365*24*3600) * float64(time.Second))
	} else if at, ok := expiry(a.AccessToken); ok {
		life = at.Sub(now)
	}
	s.keep(a.AccessToken, now, life)
	return nil
}

// keep makes token the one to use. Without a known life it is used once.
func (s *tokenSource) keep(token string, now time.Time, life time.Duration) {
	if s.finish != nil {
		token = s.finish(token, now.Add(life))
	}
	s.token, s.renewAt = token, now.Add(min(time.Duration(float64(life)*youth), life-rest))
}

// where is the endpoint without query and user.
func (s *tokenSource) where() string {
	return s.endpoint.Scheme + "://" + s.endpoint.Host + s.endpoint.EscapedPath()
}

// refusal turns the answer of an endpoint that gives no token into an error. RFC 6749 has codes for what is wrong; descriptions are left out, for
// they may repeat what was sent.
func (s *tokenSource) refusal(status int, answer []byte) error {
	var a struct {
		Error string `json:"error"`
	}
	code := ""
	if json.Unmarshal(answer, &a) == nil && tokenErrors[a.Error] {
		code = ": " + a.Error
	}
	switch {
	case status/100 == 3:
		return sqlerr.New(sqlerr.KafkaProtocol, "token endpoint '%s' answers with a redirect (status %d), which is not followed", s.where(), status).
			WithHint("give the address that it leads to in 'kafka.sasl.oauthbearer.token.endpoint.url'")
	case status == http.StatusTooManyRequests, status/100 == 5:
		return sqlerr.New(sqlerr.KafkaUnreachable, "token endpoint '%s' fails with status %d%s", s.where(), status, code)
	case status == http.StatusBadRequest, status == http.StatusUnauthorized, status == http.StatusForbidden:
		return sqlerr.New(sqlerr.KafkaAuth, "token endpoint '%s' refuses the client with status %d%s", s.where(), status, code).
			WithHint("check clientId, clientSecret and scope")
	default:
		return sqlerr.New(sqlerr.KafkaProtocol, "token endpoint '%s' answers with status %d%s", s.where(), status, code).
			WithHint("check 'kafka.sasl.oauthbearer.token.endpoint.url'")
	}
}

// tokenErrors are the codes of RFC 6749, section 5.2.
var tokenErrors = map[string]bool{
	"invalid_request": true, "invalid_client": true, "invalid_grant": true, "unauthorized_client": true, "unsupported_grant_type": true, "invalid_scope": true,
}

// unreachable says why no answer came.
func (s *tokenSource) unreachable(err error) error {
	var (
		refused *refusedError
		verify  *tls.CertificateVerificationError
		unknown x509.UnknownAuthorityError
		dns     *net.DNSError
		op      *net.OpError
		record  tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &refused):
		return sqlerr.New(sqlerr.KafkaHostRefused, "token endpoint '%s' (%s) may not be connected to: %w", s.where(), refused.ip, refused.err).
			WithHint("An administrator decides which hosts are allowed, by --allow-hosts.")
	case errors.As(err, &verify), errors.As(err, &unknown), isX509(err):
		return sqlerr.New(sqlerr.KafkaTLS, "the certificate of token endpoint '%s' is not accepted: %v", s.where(), innermost(plainCause(err))).
			WithHint("name the authority that signed it by ssl.truststore.location in 'kafka.sasl.jaas.config'")
	case errors.As(err, &record):
		return sqlerr.New(sqlerr.KafkaProtocol, "token endpoint '%s' does not answer with TLS", s.where())
	case errors.Is(err, context.DeadlineExceeded):
		return sqlerr.New(sqlerr.KafkaUnreachable, "token endpoint '%s' did not answer in time", s.where()).WithCause(err)
	case errors.As(err, &dns):
		return sqlerr.New(sqlerr.KafkaUnreachable, "token endpoint '%s' cannot be reached: the name does not resolve: %v", s.where(), dns)
	case errors.As(err, &op):
		return sqlerr.New(sqlerr.KafkaUnreachable, "token endpoint '%s' cannot be reached: %v", s.where(), op.Err)
	default:
		return sqlerr.New(sqlerr.KafkaUnreachable, "token endpoint '%s' cannot be used: %v", s.where(), plainCause(err))
	}
}

// plainCause takes off the wrapper of net/http, which repeats the address.
func plainCause(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// expiry reads the claim exp of a JWT, whose signature is the broker's business.
func expiry(token string) (time.Time, bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}, false
	}
	claims, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil {
		return time.Time{}, false
	}
	var c struct {
		Exp float64 `json:"exp"`
	}
	if json.Unmarshal(claims, &c) != nil || c.Exp <= 0 || c.Exp > 1<<40 {
		return time.Time{}, false
	}
	return time.Unix(int64(c.Exp), 0), true
}

// clientCredentials is the request of the client credentials grant.
func clientCredentials(id, secret, scope string, urlEncode bool) func(time.Time) (url.Values, string, error) {
	user, password := id, secret
	if urlEncode { // RFC 6749 wants it; Java leaves it off unless told, and many endpoints expect what Java does
		user, password = url.QueryEscape(id), url.QueryEscape(secret)
	}
	authorization := "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
	body := url.Values{"grant_type": {"client_credentials"}}
	if scope != "" {
		body.Set("scope", scope)
	}
	return func(time.Time) (url.Values, string, error) { return body, authorization, nil }
}

// tokenEndpoint checks the address of an endpoint.
func tokenEndpoint(text string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	switch {
	case err != nil:
		return nil, errors.New("is no URL")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("has the scheme '%s', expected https", option.Show(u.Scheme))
	case u.Host == "" || u.User != nil || u.Fragment != "":
		return nil, errors.New("is expected to hold a host and a path, no user and no fragment")
	}
	return u, nil
}
