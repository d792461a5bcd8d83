package wire

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"time"

	"millrace/internal/sqlerr"
)

// What the second byte of an AuthMoreData packet of caching_sha2_password says, and the client's request for the public key.
const (
	fastAuthDone   = 3
	fullAuthNeeded = 4
	wantPublicKey  = 2
)

// authenticate checks who the client says it is and sets facts.Account. plugin and response are those of the login packet; COM_CHANGE_USER
// passes none, because a challenge is good for one answer.
func (c *connection) authenticate(facts *Conn, plugin string, response []byte) error {
	if err := c.waitTurn(); err != nil {
		return err
	}
	account, known := c.server.cfg.Accounts.Find(facts.User, facts.Host)
	if !known {
		account = decoy(facts.User)
	}
	if plugin != account.Plugin {
		var err error
		if response, err = c.switchPlugin(account.Plugin); err != nil {
			return err
		}
	}
	hasPassword := len(response) > 0 && !(len(response) == 1 && response[0] == 0)
	ok, err := false, error(nil)
	switch {
	case !hasPassword:
		ok = account.Auth == ""
	case account.Auth == "":
	case account.Plugin == PluginNative:
		ok = nativeMatches(response, c.salt[:], account.Auth)
	case account.Plugin == PluginSHA2:
		ok, err = c.sha2Matches(response, &account)
	default:
		c.server.cfg.Log.Warn("account with an unknown authentication plugin", "user", account.User, "host", account.Host, "plugin", account.Plugin)
	}
	if err != nil {
		return err
	}
	if !ok || !known || account.Locked || account.Allowed != nil && !account.Allowed(facts.TLS) {
		c.server.logins.failed(c.host)
		c.server.cfg.Log.Info("access denied", "connection", c.id, "user", facts.User, "host", facts.Host)
		using := "NO"
		if hasPassword {
			using = "YES"
		}
		return sqlerr.New(sqlerr.AccessDenied, "Access denied for user '%s'@'%s' (using password: %s)", facts.User, facts.Host, using)
	}
	facts.Account = account
	return nil
}

// waitTurn holds up hosts that fail to log in all the time.
func (c *connection) waitTurn() error {
	d, ok := c.server.logins.wait(c.host)
	if !ok {
		return sqlerr.New(sqlerr.HostBlocked, "too many failed logins from '%s'", c.host).WithHint("wait a few seconds, then use the right password")
	}
	if d == 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-c.server.closing:
		return ErrShutdown
	}
}

// exchange sends a packet of the login and reads the answer, which is valid until the next but one.
func (c *connection) exchange(data ...byte) ([]byte, error) {
	if err := c.w.packet(func(b []byte) []byte { return append(b, data...) }); err != nil {
		return nil, err
	}
	if err := c.w.flush(); err != nil {
		return nil, err
	}
	p := c.next()
	if p.err == nil {
		c.w.reply(p)
	}
	return p.data, p.err
}

// switchPlugin asks for an answer to a new challenge with another plugin.
func (c *connection) switchPlugin(plugin string) ([]byte, error) {
	if c.capabilities&capPluginAuth == 0 && plugin != PluginNative {
		return nil, errBadHandshake
	}
	c.newSalt()
	b := append([]byte{headerAuthSwitch}, plugin...)
	b = append(append(append(b, 0), c.salt[:]...), 0)
	response, err := c.exchange(b...)
	return bytes.Clone(response), err
}

// nativeMatches checks SHA1(password) XOR SHA1(salt, SHA1(SHA1(password))) against the stored '*' and hexadecimal SHA1(SHA1(password)).
func nativeMatches(response, salt []byte, stored string) bool {
	if len(response) != sha1.Size || len(stored) != 1+2*sha1.Size {
		return false
	}
	want, err := hex.DecodeString(stored[1:])
	if err != nil {
		return false
	}
	h := sha1.New()
	h.Write(salt)
	h.Write(want)
	once := h.Sum(nil)
	subtle.XORBytes(once, once, response)
	got := sha1.Sum(once)
	return subtle.ConstantTimeCompare(got[:], want) == 1
}

// sha2Fast checks SHA256(password) XOR SHA256(SHA256(SHA256(password)), salt) against SHA256(SHA256(password)).
func sha2Fast(response, salt []byte, want [sha256.Size]byte) bool {
	if len(response) != sha256.Size {
		return false
	}
	h := sha256.New()
	h.Write(want[:])
	h.Write(salt)
	once := h.Sum(nil)
	subtle.XORBytes(once, once, response)
	got := sha256.Sum256(once)
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// sha2Matches runs caching_sha2_password: the fast path if the password has been checked before, else the client sends the password
// itself, over TLS or a unix socket as it is, otherwise encrypted with our public key.
func (c *connection) sha2Matches(response []byte, a *Account) (bool, error) {
	if sum, ok := c.server.passwords.get(a); ok && sha2Fast(response, c.salt[:], sum) {
		return true, c.w.packet(func(b []byte) []byte { return append(b, headerAuthMore, fastAuthDone) })
	}
	sent, err := c.exchange(headerAuthMore, fullAuthNeeded)
	if err != nil {
		return false, err
	}
	var password []byte
	if c.tlsState() != nil || c.raw.RemoteAddr().Network() == "unix" {
		password = bytes.Clone(sent)
	} else if password, err = c.decryptPassword(sent); err != nil || password == nil {
		return false, err
	}
	password = bytes.TrimSuffix(password, []byte{0})
	if a.Check == nil || !a.Check(string(password)) {
		return false, nil
	}
	c.server.passwords.put(a, password)
	return true, nil
}

// decryptPassword gives nil for what is not a password encrypted with our key. MySQL's clients fix the padding: OAEP with SHA-1.
func (c *connection) decryptPassword(sent []byte) ([]byte, error) {
	key := c.server.cfg.RSA
	if key == nil {
		return nil, nil
	}
	if len(sent) == 1 && sent[0] == wantPublicKey {
		var err error
		if sent, err = c.exchange(append([]byte{headerAuthMore}, c.server.publicKey...)...); err != nil {
			return nil, err
		}
	}
	password, err := rsa.DecryptOAEP(sha1.New(), rand.Reader, key, sent, nil)
	if err != nil {
		return nil, nil // to the client all wrong answers look alike
	}
	for i := range password {
		password[i] ^= c.salt[i%saltSize]
	}
	return password, nil
}

func publicKeyPEM(key *rsa.PrivateKey) []byte {
	if key == nil {
		return nil
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return nil
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}
