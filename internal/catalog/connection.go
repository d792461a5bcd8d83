package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Kind tells what a name of ours stands for.
type Kind string

// The kinds of named settings.
const (
	KindConnection Kind = "connection"
	KindCredential Kind = "credential"
)

// Connection is the settings that a name stands for: of a connection, brokers and how to log in; of a credential, how to log in and at which brokers.
type Connection struct {
	Name string `json:"name"`
	// Type is what it connects to, such as kafka.
	Type string `json:"type"`
	// Hosts are the patterns of the brokers it may be used for; none in a connection means its own brokers.
	Hosts []string `json:"hosts,omitempty"`
	// Options are the settings in the clear; when there is a key, there are none and all lie in Sealed.
	Options map[string]string `json:"options,omitempty"`
	// Sealed is the settings encrypted with the key whose fingerprint is KeyID.
	Sealed []byte `json:"sealed,omitempty"`
	KeyID  string `json:"key_id,omitempty"`
}

// ErrNoKey says that settings are sealed and there is no key.
var ErrNoKey = errors.New("there is no key (--key-file or MILLRACE_KEY)")

// ErrOtherKey says that settings were sealed with another key.
var ErrOtherKey = errors.New("it was stored with another key than that of --key-file or MILLRACE_KEY")

// Seal puts settings into c: encrypted when there is a key, in the clear otherwise. Whether they may lie in the clear is for the caller to decide.
func (c *Connection) Seal(kind Kind, options map[string]string, key *Key) error {
	c.Options, c.Sealed, c.KeyID = maps.Clone(options), nil, ""
	if key == nil {
		return nil
	}
	plain, err := json.Marshal(options)
	if err != nil {
		return err
	}
	c.Options, c.KeyID = nil, key.ID()
	c.Sealed = key.Seal(plain, c.identity(kind))
	return nil
}

// Open gives the settings of c.
func (c Connection) Open(kind Kind, key *Key) (map[string]string, error) {
	switch {
	case c.Sealed == nil:
		return maps.Clone(c.Options), nil
	case key == nil:
		return nil, ErrNoKey
	case c.KeyID != key.ID():
		return nil, ErrOtherKey
	}
	plain, err := key.Open(c.Sealed, c.identity(kind))
	if err != nil {
		return nil, err
	}
	var options map[string]string
	if err := json.Unmarshal(plain, &options); err != nil {
		return nil, fmt.Errorf("what the key opens is damaged: %w", err)
	}
	return options, nil
}

// identity is what the seal holds beside the settings: somebody who can write the file must not move a seal to another name or to other hosts.
func (c Connection) identity(kind Kind) []byte {
	return fmt.Appendf(nil, "millrace %s %q %q %q", kind, strings.ToLower(c.Name), c.Type, c.Hosts)
}

// Named gives the map of a kind.
func (s *State) Named(kind Kind) map[string]Connection {
	if kind == KindCredential {
		return s.Credentials
	}
	return s.Connections
}

// SetNamed adds or replaces what a name of a kind stands for.
func (s *State) SetNamed(kind Kind, c Connection) {
	to := &s.Connections
	if kind == KindCredential {
		to = &s.Credentials
	}
	if *to == nil {
		*to = map[string]Connection{}
	}
	(*to)[strings.ToLower(c.Name)] = c
}

// Named looks up one connection or credential without copying the rest. Names are case-insensitive.
func (c *Catalog) Named(kind Kind, name string) (Connection, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, ok := c.state.Named(kind)[strings.ToLower(name)]
	n.Hosts = slices.Clone(n.Hosts)
	return n, ok
}
