package kafka

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// unsecuredToken is what Java's login makes itself when no endpoint is given: a JWT without a signature (RFC 7515, appendix A.5), for development. The
// options are those of its login module: unsecuredLoginStringClaim_sub="alice", unsecuredLoginLifetimeSeconds="3600" and so on.
type unsecuredToken struct {
	claims map[string]any
	life   time.Duration
}

// newUnsecuredToken reads the options; who is the principal.
func newUnsecuredToken(options map[string]string) (t unsecuredToken, who string, err error) {
	t = unsecuredToken{claims: map[string]any{}, life: time.Hour}
	for name, value := range options {
		kind, claim, _ := strings.Cut(name, "_")
		switch kind {
		case "unsecuredLoginStringClaim":
			t.claims[claim] = value
		case "unsecuredLoginNumberClaim":
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return t, "", fmt.Errorf("the option %s is no number", name)
			}
			t.claims[claim] = n
		case "unsecuredLoginListClaim":
			if value == "" {
				continue
			}
			// The first character separates the entries, as in ",a,b".
			list := strings.Split(value[1:], value[:1])
			t.claims[claim] = list
		case "unsecuredLoginLifetimeSeconds":
			n, err := strconv.ParseUint(value, 10, 31)
			if err != nil || n == 0 {
				return t, "", fmt.Errorf("the option %s is no number of seconds", name)
			}
			t.life = time.Duration(n) * time.Second
		}
	}
	name := "sub"
	if n := options["unsecuredLoginPrincipalClaimName"]; n != "" {
		name = n
	}
	who, ok := t.claims[name].(string)
	if !ok || who == "" {
		return t, "", fmt.Errorf("it names no principal: the option unsecuredLoginStringClaim_%s is missing", name)
	}
	return t, who, nil
}

// make makes a token.
func (t unsecuredToken) make(now time.Time) (string, error) {
	claims := map[string]any{"iat": float64(now.Unix()), "exp": float64(now.Add(t.life).Unix())}
	for name, value := range t.claims {
		if name != "iat" && name != "exp" {
			claims[name] = value
		}
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"none"}`)) + "." + encode(payload) + ".", nil
}
