package registry

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"millrace/internal/sqlerr"
)

// Config says where a registry is and how to talk to it.
type Config struct {
	// URLs are base URLs of the same registry, tried in order. A path is kept; a user and password in a URL are used as if they were given below.
	URLs []string
	// User and Password are sent as basic authentication, Token as a bearer token. At most one of the two kinds.
	User, Password string
	Token          string
	// TLS is the configuration of https; nil is the system's authorities and no client certificate. It is not changed.
	TLS *tls.Config
	// Allow, when not nil, is asked before each connection: the host:port that was named, and the address that it stands for. Redirects
	// and names that resolve anew do not get around it.
	Allow func(hostPort string, ip net.IP) error
	// Redirect decides whether a redirection is followed, as http.Client.CheckRedirect does. nil follows up to three within the same scheme, host and
	// port.
	Redirect func(next *http.Request, via []*http.Request) error
	// Patience bounds all tries for one schema together (10 s), Timeout one request (Patience, with several URLs a part of it that leaves time for the next), MaxAnswer
	// the bytes of an answer (8 MiB). Zero is the default.
	Timeout, Patience time.Duration
	MaxAnswer         int64
}

const (
	defaultPatience  = 10 * time.Second
	defaultMaxAnswer = 8 << 20
	maxRedirects     = 3
)

// complete fills in defaults, and takes credentials out of the URLs.
func (c Config) complete() (Config, error) {
	c.Patience = cmp.Or(c.Patience, defaultPatience)
	c.Timeout = cmp.Or(c.Timeout, c.Patience/time.Duration(max(1, len(c.URLs))))
	c.MaxAnswer = cmp.Or(c.MaxAnswer, defaultMaxAnswer)
	if c.Redirect == nil {
		c.Redirect = sameOrigin
	}
	if len(c.URLs) == 0 {
		return c, sqlerr.New(sqlerr.OptionMissing, "a schema registry needs a URL")
	}
	urls := make([]string, 0, len(c.URLs))
	for _, given := range c.URLs {
		given = strings.TrimSpace(given)
		if !strings.Contains(given, "://") {
			given = "http://" + given
		}
		u, err := url.Parse(given)
		if err != nil { // the text of err holds the URL, and that may hold a password
			return c, sqlerr.New(sqlerr.OptionInvalid, "the URL of a schema registry is not one").WithHint("for example https://registry.example.com:8081")
		}
		if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
			return c, sqlerr.New(sqlerr.OptionInvalid, "the URL of a schema registry is '%s', expected http:// or https:// and a host", u.Redacted())
		}
		if u.User != nil {
			if c.User == "" && c.Token == "" {
				c.User = u.User.Username()
				c.Password, _ = u.User.Password()
			}
			u.User = nil
		}
		u.RawQuery, u.Fragment = "", ""
		urls = append(urls, strings.TrimSuffix(u.String(), "/"))
	}
	c.URLs = urls
	if c.User != "" && c.Token != "" {
		return c, sqlerr.New(sqlerr.OptionConflict, "a schema registry takes a user and password or a token, not both")
	}
	return c, nil
}

// sameOrigin is the default policy of redirects: credentials go nowhere but where they were meant to.
func sameOrigin(next *http.Request, via []*http.Request) error {
	first := via[0].URL
	if next.URL.Scheme != first.Scheme || next.URL.Host != first.Host {
		return fmt.Errorf("it redirects to %s://%s", next.URL.Scheme, next.URL.Host)
	}
	if len(via) > maxRedirects {
		return fmt.Errorf("it redirects more than %d times", maxRedirects)
	}
	return nil
}
