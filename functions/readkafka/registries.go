package readkafka

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/dolthub/go-mysql-server/sql"

	"millrace/internal/decode/framed"
	"millrace/internal/kafka"
	"millrace/internal/option"
	"millrace/internal/registry"
	"millrace/internal/sqlerr"
)

// Registries holds the clients of schema registries, one for each set of URLs and credentials, with the schemas that they have seen. It is safe for concurrent
// use.
type Registries struct {
	allow    func(hostPort string, ip net.IP) error
	filesDir string

	mu      sync.Mutex
	clients map[string]*registryClient
	closed  bool
}

type registryClient struct {
	*registry.Client
	used  time.Time
	users int
}

// mostRegistries is how many clients are kept. Those beyond it that nobody uses are closed, the one used longest ago first.
const mostRegistries = 64

// NewRegistries returns an empty set of clients; allow is that of kafka.Config, filesDir where files for TLS may lie.
func NewRegistries(allow func(hostPort string, ip net.IP) error, filesDir string) *Registries {
	return &Registries{allow: allow, filesDir: filesDir, clients: map[string]*registryClient{}}
}

// Close closes all clients. No call may be running or begin.
func (r *Registries) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for key, c := range r.clients {
		c.Close()
		delete(r.clients, key)
	}
}

// acquire gives the client of a call's arguments, to be released.
func (r *Registries) acquire(a *registryArgs) (*registryClient, error) {
	if r == nil {
		return nil, sqlerr.New(sqlerr.NotSupported, "schema registries cannot be reached from here")
	}
	key := a.key()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, sqlerr.New(sqlerr.ServerGone, "the server is shutting down")
	}
	c := r.clients[key]
	if c == nil {
		tls, _, err := a.tls(r.filesDir)
		if err != nil {
			return nil, err
		}
		client, err := registry.New(registry.Config{URLs: a.urls(), User: a.user, Password: a.password, Token: a.token, Patience: a.patience, TLS: tls, Allow: r.allow})
		if err != nil {
			return nil, err
		}
		c = &registryClient{Client: client}
		r.clients[key] = c
	}
	c.used = time.Now()
	c.users++
	r.evict()
	return c, nil
}

// evict closes clients beyond the number that is kept.
func (r *Registries) evict() {
	for len(r.clients) > mostRegistries {
		oldest := ""
		for key, c := range r.clients {
			if c.users == 0 && (oldest == "" || c.used.Before(r.clients[oldest].used)) {
				oldest = key
			}
		}
		if oldest == "" {
			return
		}
		r.clients[oldest].Close()
		delete(r.clients, oldest)
	}
}

func (r *Registries) release(c *registryClient) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.users--
	r.evict()
}

// ask calls f with the client of a call's arguments.
func (r *Registries) ask(a *registryArgs, f func(*registry.Client) error) error {
	c, err := r.acquire(a)
	if err != nil {
		return err
	}
	defer r.release(c)
	return f(c.Client)
}

// subject gives a version of a subject.
func (r *Registries) subject(ctx context.Context, a *registryArgs, subject string) (s *registry.Schema, err error) {
	err = r.ask(a, func(c *registry.Client) error {
		s, err = c.SchemaOf(ctx, subject, cmp.Or(a.version, registry.Latest))
		return err
	})
	return s, err
}

// id gives the schema with an id.
func (r *Registries) id(ctx context.Context, a *registryArgs, id framed.ID) (s *registry.Schema, err error) {
	err = r.ask(a, func(c *registry.Client) error {
		if id.Global {
			s, err = c.SchemaByGUID(ctx, id.String())
		} else {
			s, err = c.SchemaByID(ctx, int(id.Number))
		}
		return err
	})
	return s, err
}

// registryArgs are the arguments that say where a registry is, how to log in, and which schemas are meant. Two that are equal mean the same.
type registryArgs struct {
	// list are the URLs with commas between them, empty for no registry.
	list                  string
	user, password, token string
	// patience bounds the time for a schema.
	patience time.Duration
	// properties are the ssl.* properties, as the text of a JSON object; empty for none.
	properties string
	// subject and keySubject are those of values and keys, empty for the usual ones; version is that of the former, 0 for the latest.
	subject, keySubject string
	version             int
}

func (a *registryArgs) given() bool { return a.list != "" }

func (a *registryArgs) urls() []string { return strings.Split(a.list, ",") }

// key tells apart what must not share a client. It is a hash, as it holds secrets.
func (a *registryArgs) key() string {
	h := sha256.Sum256([]byte(strings.Join([]string{a.list, a.user, a.password, a.token, a.properties, a.patience.String()}, "\x00")))
	return hex.EncodeToString(h[:])
}

// tls makes a TLS configuration of the ssl.* properties, which mean what they mean for Kafka; nil without any.
func (a *registryArgs) tls(filesDir string) (*tls.Config, []string, error) {
	if a.properties == "" {
		return nil, nil, nil
	}
	var properties map[string]string
	if err := json.Unmarshal([]byte(a.properties), &properties); err != nil {
		return nil, nil, err
	}
	properties["security.protocol"] = string(kafka.SSL)
	config, warnings, err := kafka.ParseProperties(kafka.Config{}, properties, kafka.PropertyOptions{FilesDir: filesDir})
	return config.TLS, warnings, err
}

// Registry is the schema registry that a call of another table function names.
type Registry struct {
	registries *Registries
	args       registryArgs
}

// BindRegistry binds RegistryArguments, of which the URL must be given.
func BindRegistry(v *option.Values, env Env, ctx *sql.Context) (*Registry, error) {
	if err := v.Require("schemaRegistryUrl"); err != nil {
		return nil, err
	}
	a, err := bindRegistry(v, env.In(ctx))
	return &Registry{env.Registries, a}, err
}

// OptionalRegistry binds RegistryArguments for a call that may do without; then it is nil. What it gives must be told where clients are, by In.
func OptionalRegistry(v *option.Values, env ArgsEnv) (*Registry, error) {
	a, err := bindRegistry(v, env)
	if err != nil || !a.given() {
		return nil, err
	}
	return &Registry{args: a}, nil
}

// In is r with the clients of a process.
func (r *Registry) In(registries *Registries) *Registry { return &Registry{registries, r.args} }

// Ask calls f with a client of the registry, which f must not keep.
func (r *Registry) Ask(f func(*registry.Client) error) error { return r.registries.ask(&r.args, f) }
