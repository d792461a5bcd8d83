package kafka

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/url"
	"time"
)

// googleKey is the key file of a Google service account. Managed Service for Apache Kafka takes a token that names the account beside its access
// token, in the shape of a JWT: header {"typ":"JWT","alg":"GOOG_OAUTH2_TOKEN"}, claims, and the access token where a signature would be.
type googleKey struct {
	Type     string `json:"type"`
	Email    string `json:"client_email"`
	ID       string `json:"private_key_id"`
	PEM      string `json:"private_key"`
	TokenURI string `json:"token_uri"`

	key *rsa.PrivateKey
}

// googleScope is what the token is asked for.
const googleScope = "https://www.googleapis.com/auth/cloud-platform"

// parseGoogleKey reads the JSON of a key file, also in base64. Errors hold nothing of it.
func parseGoogleKey(text string) (*googleKey, error) {
	if raw, err := base64.StdEncoding.DecodeString(text); err == nil {
		text = string(raw)
	}
	k := &googleKey{}
	if err := json.Unmarshal([]byte(text), k); err != nil {
		return nil, errors.New("is not the JSON of a key file")
	}
	if k.Type != "service_account" || k.Email == "" || k.TokenURI == "" {
		return nil, errors.New("is not the key file of a service account")
	}
	block, _ := pem.Decode([]byte(k.PEM))
	if block == nil {
		return nil, errors.New("holds no private key")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	key, ok := parsed.(*rsa.PrivateKey)
	if err != nil || !ok {
		return nil, errors.New("holds no RSA private key")
	}
	k.key = key
	return k, nil
}

// request asks for an access token by a signed assertion (RFC 7523).
func (k *googleKey) request(now time.Time) (url.Values, string, error) {
	header, err := json.Marshal(map[string]string{"alg": "RS256", "typ": "JWT", "kid": k.ID})
	if err != nil {
		return nil, "", err
	}
	claims, err := json.Marshal(map[string]any{"iss": k.Email, "scope": googleScope, "aud": k.TokenURI, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()})
	if err != nil {
		return nil, "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode(header) + "." + encode(claims)
	digest := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, k.key, crypto.SHA256, digest[:])
	if err != nil {
		return nil, "", err
	}
	return url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {signed + "." + encode(signature)}}, "", nil
}

// wrap gives the access token the shape that the brokers take.
func (k *googleKey) wrap(now func() time.Time) func(token string, expires time.Time) string {
	return func(token string, expires time.Time) string {
		encode := base64.RawURLEncoding.EncodeToString
		claims, _ := json.Marshal(map[string]any{"exp": expires.Unix(), "iat": now().Unix(), "iss": "Google", "sub": k.Email, "scope": "kafka"}) // strings and numbers
		return encode([]byte(`{"typ":"JWT","alg":"GOOG_OAUTH2_TOKEN"}`)) + "." + encode(claims) + "." + encode([]byte(token))
	}
}
