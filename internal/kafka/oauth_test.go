package kafka

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"millrace/internal/sqlerr"
)

// tokenServer answers the client credentials grant; answer may replace what it says.
type tokenServer struct {
	*httptest.Server
	asked  atomic.Int32
	answer atomic.Pointer[func(http.ResponseWriter, *http.Request)]
}

func newTokenServer(t *testing.T, start func(http.Handler) *httptest.Server) *tokenServer {
	t.Helper()
	s := &tokenServer{}
	s.Server = start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := s.asked.Add(1)
		if f := s.answer.Load(); f != nil {
			(*f)(w, r)
			return
		}
		user, password, _ := r.BasicAuth()
		if user != "reports" || password != canarySecret || r.PostFormValue("grant_type") != "client_credentials" || r.PostFormValue("scope") != "kafka" {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = fmt.Fprintf(w, `{"error":"invalid_client","error_description":"%s is wrong"}`, password)
			return
		}
		_, _ = fmt.Fprintf(w, `{"access_token":"token-%d","expires_in":100,"token_type":"Bearer"}`, n)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *tokenServer) says(f func(http.ResponseWriter, *http.Request)) { s.answer.Store(&f) }

const canarySecret = "canary/secret+="

// oauthConfig parses a login at endpoint.
func oauthConfig(t *testing.T, endpoint, secret, extra string) Config {
	t.Helper()
	c, _, err := ParseProperties(Config{Brokers: []string{"k:9092"}}, map[string]string{
		"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url": endpoint,
		"sasl.jaas.config": `org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required clientId="reports" clientSecret="` + secret + `" scope="kafka" ` + extra + `;`,
	}, PropertyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return c.withDefaults()
}

// initial is what a new connection sends first.
func initial(t *testing.T, c Config) (string, error) {
	t.Helper()
	m, err := c.mechanism()
	if err != nil {
		t.Fatal(err)
	}
	_, first, err := m.Authenticate(t.Context(), "k:9092")
	return string(first), err
}

func TestTokensAreFetchedAndKeptWhileYoung(t *testing.T) {
	s := newTokenServer(t, httptest.NewServer)
	c := oauthConfig(t, s.URL+"/token", canarySecret, `extension_logicalCluster="lkc-1"`)
	source := newTokenSource()
	source.endpoint, _ = url.Parse(s.URL)
	source.request = clientCredentials("reports", canarySecret, "kafka", false)
	now := time.Unix(1_700_000_000, 0)
	source.now = func() time.Time { return now }
	get := func(want string) {
		t.Helper()
		if token, err := source.get(t.Context(), c); err != nil || token != want {
			t.Errorf("%s, %v, want %s", token, err, want)
		}
	}
	get("token-1")
	now = now.Add(79 * time.Second)
	get("token-1")
	now = now.Add(2 * time.Second) // past 80 % of its 100 s
	get("token-2")
	get("token-2")

	first, err := initial(t, c)
	if want := "n,,\x01auth=Bearer token-3\x01logicalCluster=lkc-1\x01\x01"; err != nil || first != want {
		t.Errorf("%q, %v, want %q", first, err, want)
	}
	if first, err := initial(t, c); err != nil || !strings.Contains(first, "token-3") {
		t.Errorf("a second connection has another token: %q, %v", first, err)
	}
}

func TestConnectionsShareOneFetch(t *testing.T) {
	s := newTokenServer(t, httptest.NewServer)
	c := oauthConfig(t, s.URL, canarySecret, "")
	m, err := c.mechanism()
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, _, err := m.Authenticate(t.Context(), "k:9092"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := s.asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// expires_in may be missing: then the token itself says it, or it is used once.
func TestLifeOfATokenWithoutExpiresIn(t *testing.T) {
	s := newTokenServer(t, httptest.NewServer)
	c := oauthConfig(t, s.URL, canarySecret, "")
	jwt := "e30." + base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"exp":%d}`, time.Now().Add(time.Hour).Unix())) + ".c2ln"
	for token, asks := range map[string]int32{"opaque": 2, jwt: 1} {
		s.asked.Store(0)
		s.says(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintf(w, `{"access_token":"%s"}`, token) })
		fresh := oauthConfig(t, s.URL, canarySecret, "")
		for range 2 {
			if first, err := initial(t, fresh); err != nil || !strings.Contains(first, token) {
				t.Errorf("%q, %v", first, err)
			}
		}
		if n := s.asked.Load(); n != asks {
			t.Errorf("%s: asked %d times, want %d", token, n, asks)
		}
	}
	_ = c
}

func TestFaultsOfATokenEndpointNameItAndNotTheSecret(t *testing.T) {
	s := newTokenServer(t, httptest.NewServer)
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	status := func(code int, body string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
		}
	}
	for name, test := range map[string]struct {
		says func(http.ResponseWriter, *http.Request)
		kind *sqlerr.Kind
		text string
		asks int32
	}{
		"wrong secret": {nil, sqlerr.KafkaAuth, "refuses the client with status 401: invalid_client", 1},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}, sqlerr.KafkaProtocol, "redirect (status 307)", 1},
		"overloaded":       {status(503, canarySecret), sqlerr.KafkaUnreachable, "fails with status 503", tokenAttempts},
		"not found":        {status(404, canarySecret), sqlerr.KafkaProtocol, "answers with status 404", 1},
		"not JSON":         {status(200, "<html>"+canarySecret), sqlerr.KafkaProtocol, "without an access token", 1},
		"no token":         {status(200, `{"id_token":"x"}`), sqlerr.KafkaProtocol, "without an access token", 1},
		"token with frame": {status(200, `{"access_token":"a\u0001auth=Bearer b"}`), sqlerr.KafkaProtocol, "that is none", 1},
		"unknown code":     {status(400, `{"error":"`+canarySecret+`"}`), sqlerr.KafkaAuth, "refuses the client with status 400", 1},
	} {
		t.Run(name, func(t *testing.T) {
			s.asked.Store(0)
			s.answer.Store(nil)
			secret := canarySecret
			if test.says != nil {
				s.says(test.says)
			} else {
				secret += "x"
			}
			c := oauthConfig(t, s.URL+"/token?tenant="+url.QueryEscape(canarySecret), secret, "")
			_, err := initial(t, c)
			if !sqlerr.HasKind(err, test.kind) || !strings.Contains(err.Error(), test.text) || !strings.Contains(err.Error(), "'"+s.URL+"/token'") {
				t.Errorf("%v", err)
			}
			if err != nil && strings.Contains(err.Error(), "canary") {
				t.Errorf("the secret is in %v", err)
			}
			if n := s.asked.Load(); n != test.asks {
				t.Errorf("asked %d times, want %d", n, test.asks)
			}
		})
	}
	if elsewhere.Load() != 0 {
		t.Error("a redirect was followed, with the secret")
	}
}

func TestTokenEndpointsAreReachedByTheRulesOfTheServer(t *testing.T) {
	s := newTokenServer(t, httptest.NewServer)
	c := oauthConfig(t, s.URL, canarySecret, "")
	c.Allow = func(hostPort string, ip net.IP) error {
		if hostPort != strings.TrimPrefix(s.URL, "http://") || !ip.IsLoopback() {
			t.Errorf("asked about %s, %s", hostPort, ip)
		}
		return errors.New("not covered")
	}
	if _, err := initial(t, c); !sqlerr.HasKind(err, sqlerr.KafkaHostRefused) || !strings.Contains(err.Error(), "token endpoint '"+s.URL+"'") {
		t.Error(err)
	}
	if s.asked.Load() != 0 {
		t.Error("the endpoint was asked")
	}
	closed := oauthConfig(t, "http://127.0.0.1:1/token", canarySecret, "")
	if _, err := initial(t, closed); !sqlerr.HasKind(err, sqlerr.KafkaUnreachable) || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Error(err)
	}
	// One that accepts and is silent is given up on in time.
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	slow := oauthConfig(t, "http://"+silent.Addr().String(), canarySecret, "")
	slow.ConnectTimeout = 50 * time.Millisecond
	if _, err := initial(t, slow); !sqlerr.HasKind(err, sqlerr.KafkaUnreachable) || !strings.Contains(err.Error(), "did not answer in time") {
		t.Error(err)
	}
}

func TestTrustInTheTokenEndpointIsItsOwn(t *testing.T) {
	s := newTokenServer(t, httptest.NewTLSServer)
	s.Config.ErrorLog = nil
	c := oauthConfig(t, s.URL, canarySecret, "")
	if _, err := initial(t, c); !sqlerr.HasKind(err, sqlerr.KafkaTLS) || !strings.Contains(err.Error(), "the certificate of token endpoint '"+s.URL+"'") {
		t.Error(err)
	}
	ca := strings.ReplaceAll(string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})), "\n", " ")
	c = oauthConfig(t, s.URL, canarySecret, `ssl.truststore.certificates="`+ca+`"`)
	if first, err := initial(t, c); err != nil || !strings.Contains(first, "token-1") {
		t.Errorf("%q, %v", first, err)
	}
	if c.TLS != nil {
		t.Error("the brokers got the endpoint's authorities")
	}
}

func TestGoogleTokensNameTheServiceAccount(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	s := newTokenServer(t, httptest.NewServer)
	s.says(func(w http.ResponseWriter, r *http.Request) {
		parts := strings.Split(r.PostFormValue("assertion"), ".")
		if r.PostFormValue("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" || len(parts) != 3 {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		claims, _ := base64.RawURLEncoding.DecodeString(parts[1])
		if !strings.Contains(string(claims), `"iss":"reader@project.iam.gserviceaccount.com"`) || !strings.Contains(string(claims), googleScope) {
			t.Errorf("claims %s", claims)
		}
		_, _ = w.Write([]byte(`{"access_token":"ya29.x","expires_in":3600}`))
	})
	file, err := json.Marshal(map[string]string{"type": "service_account", "client_email": "reader@project.iam.gserviceaccount.com", "private_key_id": "1",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "token_uri": s.URL + "/token"})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(file), base64.StdEncoding.EncodeToString(file)} {
		c, _, err := ParseProperties(Config{}, map[string]string{"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.google.credentials": text,
			"sasl.login.callback.handler.class": googleHandler}, PropertyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		first, err := initial(t, c.withDefaults())
		if err != nil {
			t.Fatal(err)
		}
		token := strings.TrimSuffix(strings.TrimPrefix(first, "n,,\x01auth=Bearer "), "\x01\x01")
		var parts []string
		for _, p := range strings.Split(token, ".") {
			raw, err := base64.RawURLEncoding.DecodeString(p)
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, string(raw))
		}
		if len(parts) != 3 || parts[0] != `{"typ":"JWT","alg":"GOOG_OAUTH2_TOKEN"}` || parts[2] != "ya29.x" ||
			!strings.Contains(parts[1], `"sub":"reader@project.iam.gserviceaccount.com"`) || !strings.Contains(parts[1], `"iss":"Google"`) {
			t.Errorf("%q", parts)
		}
	}
}

func TestUnsecuredTokensHoldTheClaims(t *testing.T) {
	token, who, err := newUnsecuredToken(map[string]string{"unsecuredLoginStringClaim_sub": "alice", "unsecuredLoginNumberClaim_level": "3", "unsecuredLoginListClaim_scope": ",a,b",
		"unsecuredLoginLifetimeSeconds": "60", "unsecuredLoginStringClaim_exp": "never"})
	if err != nil || who != "alice" {
		t.Fatal(who, err)
	}
	jwt, err := token.make(time.Unix(1000, 0))
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(jwt, ".")
	claims, _ := base64.RawURLEncoding.DecodeString(parts[1])
	if len(parts) != 3 || parts[2] != "" || string(claims) != `{"exp":1060,"iat":1000,"level":3,"scope":["a","b"],"sub":"alice"}` {
		t.Errorf("%s", claims)
	}
}

// FuzzTokenAnswer feeds answers of an endpoint: nothing of them may break the frame of the token, and no error may show them.
func FuzzTokenAnswer(f *testing.F) {
	for _, s := range []string{`{"access_token":"x","expires_in":1}`, `{"access_token":"a.eyJleHAiOjF9.c"}`, `{"access_token":"x","expires_in":"60"}`, `{"expires_in":-1}`, `[]`, `{"access_token":"x","expires_in":1e400}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		s := newTokenSource()
		s.endpoint = &url.URL{Scheme: "https", Host: "login.test"}
		err := s.accept([]byte(answer), time.Unix(1000, 0))
		if err != nil && len(answer) > 12 && strings.Contains(err.Error(), answer) {
			t.Errorf("shown: %v", err)
		}
		if err == nil && (s.token == "" || strings.ContainsAny(s.token, "\x01\x00\r\n ")) {
			t.Errorf("token %q", s.token)
		}
	})
}
