package wire

import (
	"crypto/sha256"
	"crypto/tls"
	"sync"
)

// The authentication plugins.
const (
	PluginNative = "mysql_native_password"
	PluginSHA2   = "caching_sha2_password"
)

// Account is a stored user.
type Account struct {
	// User and Host are those of the grant tables; Host may be a pattern.
	User, Host string
	// Plugin is PluginNative or PluginSHA2, Auth the stored hash in that plugin's form; empty means no password.
	Plugin, Auth string
	// Locked accounts may not log in.
	Locked bool
	// Allowed, when not nil, checks what the account requires of the transport: TLS, a certificate, its subject. The state is nil
	// without TLS.
	Allowed func(*tls.ConnectionState) bool
	// Check compares a password with Auth, for PluginSHA2. It is slow by design.
	Check func(password string) bool
}

// Accounts finds the account of a user who connects from host. It may be asked by several goroutines at once.
type Accounts interface {
	// Find reports false for users that do not exist; the login goes on and fails at the end, as with a wrong password.
	Find(user, host string) (Account, bool)
}

// decoy stands in for an account that does not exist, so that an attacker cannot tell it from one that does: the exchange is that
// of the default plugin, and the check takes about as long as a real one.
func decoy(user string) Account {
	return Account{User: user, Plugin: PluginSHA2, Auth: "-", Check: func(password string) bool {
		const rounds = 5000 // of a stored caching_sha2_password hash
		sum := sha256.Sum256([]byte(password))
		for range rounds {
			sum = sha256.Sum256(sum[:])
		}
		return false
	}}
}

// passwordCache remembers SHA256(SHA256(password)) of passwords that were right, which is what the fast path of caching_sha2_password
// needs. The stored hash is part of the key: when the password changes, the old entry is not found any more.
type passwordCache struct {
	mu      sync.Mutex
	entries map[passwordKey][sha256.Size]byte
}

type passwordKey struct{ user, host, auth string }

// passwordsKept bounds the cache. Beyond it any entry makes room: losing one costs a slow login.
const passwordsKept = 10_000

func (a *Account) key() passwordKey { return passwordKey{a.User, a.Host, a.Auth} }

func (p *passwordCache) get(a *Account) ([sha256.Size]byte, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	sum, ok := p.entries[a.key()]
	return sum, ok
}

func (p *passwordCache) put(a *Account, password []byte) {
	once := sha256.Sum256(password)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.entries == nil {
		p.entries = map[passwordKey][sha256.Size]byte{}
	}
	if len(p.entries) >= passwordsKept {
		for k := range p.entries {
			delete(p.entries, k)
			break
		}
	}
	p.entries[a.key()] = sha256.Sum256(once[:])
}
