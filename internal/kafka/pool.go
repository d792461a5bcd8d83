package kafka

import (
	"context"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/internal/sqlerr"
)

// PoolOptions are what a process decides once about its connections. The zero value is ready to use.
type PoolOptions struct {
	// MaxLanes caps the connections for fetching to each broker of a cluster with one identity; 0 for 16. Scans beyond it share connections.
	MaxLanes int
	// IdleTimeout closes a client that nobody has used for so long; 0 for a minute.
	IdleTimeout time.Duration
	// ClientOptions are added to those of every franz-go client: hooks for metrics, a logger.
	ClientOptions []kgo.Opt
}

// Pool keeps the connections of a process, by Config key. All methods may be called from several goroutines.
type Pool struct {
	opts   PoolOptions
	stop   chan struct{}
	done   chan struct{}
	behind *behind

	mu     sync.Mutex
	closed bool
	groups map[string]*group
}

// NewPool returns an empty pool. Close it to close its connections.
func NewPool(opts PoolOptions) *Pool {
	if opts.MaxLanes <= 0 {
		opts.MaxLanes = 16
	}
	if opts.IdleTimeout <= 0 {
		opts.IdleTimeout = time.Minute
	}
	p := &Pool{opts: opts, stop: make(chan struct{}), done: make(chan struct{}), behind: newBehind(), groups: map[string]*group{}}
	go p.sweep()
	return p
}

// Close closes every connection, also those that scans still use, and waits for the pool's goroutines. It is safe to call twice.
func (p *Pool) Close() {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		<-p.done
		return
	}
	p.closed = true
	groups := p.groups
	p.groups = nil
	p.mu.Unlock()
	close(p.stop)
	<-p.done
	p.behind.close()
	for _, g := range groups {
		g.mu.Lock()
		g.closed = true
		g.mu.Unlock()
		g.close(func(*client) bool { return true })
		g.closeTails()
	}
}

// sweep closes idle clients until the pool is closed.
func (p *Pool) sweep() {
	defer close(p.done)
	tick := time.NewTicker(p.opts.IdleTimeout / 2)
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-tick.C:
		}
		p.mu.Lock()
		groups := make([]*group, 0, len(p.groups))
		for _, g := range p.groups {
			groups = append(groups, g)
		}
		p.mu.Unlock()
		before := time.Now().Add(-p.opts.IdleTimeout)
		for _, g := range groups {
			g.close(func(c *client) bool { return c.users == 0 && c.idleSince.Before(before) })
		}
	}
}

// Cluster gives the cluster that cfg describes. It does not connect: the first Snapshot does, and says what is wrong.
func (p *Pool) Cluster(_ context.Context, cfg Config) (*Cluster, error) {
	cfg = cfg.withDefaults()
	if len(cfg.Brokers) == 0 {
		return nil, sqlerr.New(sqlerr.OptionMissing, "'bootstrapServers' names no broker")
	}
	if cfg.Protocol.usesSASL() {
		if _, err := cfg.mechanism(); err != nil {
			return nil, err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errPoolClosed
	}
	key := cfg.Key()
	g := p.groups[key]
	if g == nil {
		g = &group{cfg: cfg, opts: p.opts, behind: p.behind}
		p.groups[key] = g
	}
	return &Cluster{cfg: cfg, group: g}, nil
}

var errPoolClosed = sqlerr.New(sqlerr.ServerGone, "the server is shutting down")

// group is the clients that share a Config key: one for planning and up to MaxLanes for fetching.
type group struct {
	cfg    Config
	opts   PoolOptions
	behind *behind

	mu      sync.Mutex
	closed  bool
	control *client
	lanes   []*client // those in use and idle ones
	known   []string  // the brokers' addresses as last seen
	id      string    // the cluster's id as last seen, empty where it has none
	tails   map[Isolation]*hub
}

// learn notes where the cluster's brokers are, and its id. A client for fetching starts from them, so it never meets a bootstrap server that is down.
func (g *group) learn(now *kmsg.MetadataResponse) {
	known := make([]string, 0, len(now.Brokers))
	for _, b := range now.Brokers {
		known = append(known, net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port))))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(known) > 0 {
		g.known = known
	}
	if now.ClusterID != nil {
		g.id = *now.ClusterID
	}
}

// clusterID is the id that the cluster gave itself when it was last asked.
func (g *group) clusterID() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.id
}

// client is a franz-go client with the number of its users.
type client struct {
	kgo *kgo.Client
	// ready is set when a metadata answer has told the client its brokers: before that it knows no broker id.
	ready     sync.Mutex
	isReady   bool
	users     int
	idleSince time.Time
}

// controlClient gives the client for metadata and offsets; it is shared, for it carries small requests only.
func (g *group) controlClient() (*client, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.control == nil {
		c, err := g.open(g.cfg.Brokers)
		if err != nil {
			return nil, err
		}
		g.control = c
	}
	g.control.users++
	return g.control, nil
}

// laneClient gives a client to fetch with: an idle one, a new one, or at the cap the least used, to share. So no lane ever waits for another, and a
// scan that runs inside another cannot stop it.
func (g *group) laneClient() (*client, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var best *client
	for _, c := range g.lanes {
		if best == nil || c.users < best.users {
			best = c
		}
	}
	if (best == nil || best.users > 0) && len(g.lanes) < g.opts.MaxLanes {
		seeds := g.known
		if len(seeds) == 0 {
			seeds = g.cfg.Brokers
		}
		c, err := g.open(seeds)
		if err != nil {
			return nil, err
		}
		g.lanes = append(g.lanes, c)
		best = c
	}
	best.users++
	return best, nil
}

// release gives a client back.
func (g *group) release(c *client) {
	g.mu.Lock()
	c.users--
	c.idleSince = time.Now()
	g.mu.Unlock()
}

// close closes the clients that which selects.
func (g *group) close(which func(*client) bool) {
	g.mu.Lock()
	var out []*client
	if g.control != nil && which(g.control) {
		out = append(out, g.control)
		g.control = nil
	}
	g.lanes = slices.DeleteFunc(g.lanes, func(c *client) bool {
		if !which(c) {
			return false
		}
		out = append(out, c)
		return true
	})
	g.mu.Unlock()
	for _, c := range out {
		c.kgo.Close()
	}
}

// open makes a client; g.mu is held.
func (g *group) open(seeds []string, more ...kgo.Opt) (*client, error) {
	if g.closed {
		return nil, errPoolClosed
	}
	cfg := g.cfg
	opts := []kgo.Opt{
		kgo.SeedBrokers(seeds...),
		kgo.ClientID(cfg.ClientID),
		kgo.SoftwareNameAndVersion("millrace", "1"),
		kgo.Dialer(cfg.dialer()),
		kgo.RequestTimeoutOverhead(min(cfg.RequestTimeout, 15*time.Minute)),
		kgo.RetryTimeout(cfg.ConnectTimeout),
		kgo.ConnIdleTimeout(max(g.opts.IdleTimeout, time.Second)),
		kgo.MetadataMaxAge(time.Hour), // leaders are looked up when a fetch says they moved
		kgo.DisableClientMetrics(),
	}
	if cfg.Rack != "" {
		opts = append(opts, kgo.Rack(cfg.Rack))
	}
	if cfg.Protocol.usesSASL() {
		m, err := cfg.mechanism()
		if err != nil {
			return nil, err
		}
		opts = append(opts, kgo.SASL(m))
	}
	cl, err := kgo.NewClient(slices.Concat(opts, more, g.opts.ClientOptions)...)
	if err != nil {
		return nil, sqlerr.New(sqlerr.OptionInvalid, "the Kafka client refuses its configuration: %w", err)
	}
	return &client{kgo: cl, idleSince: time.Now()}, nil
}

// connect makes sure that the client has reached the cluster once and knows its brokers; before that, every broker id is unknown to it.
// With probe, it is the first to talk to the cluster, and its error is to say what is wrong.
func (c *client) connect(ctx context.Context, cfg Config, probe bool) error {
	c.ready.Lock()
	defer c.ready.Unlock()
	if c.isReady {
		return nil
	}
	if probe {
		if err := c.probe(ctx, cfg); err != nil {
			return err
		}
	}
	if err := c.refresh(ctx); err != nil {
		return cfg.requestError(ctx, err)
	}
	c.isReady = true
	return nil
}

// probe asks the bootstrap servers one after the other until one answers. It exists for its errors: each is tied to the address it came from.
func (c *client) probe(ctx context.Context, cfg Config) error {
	seeds := c.kgo.SeedBrokers()
	var worst *sqlerr.Error
	for i, s := range seeds {
		ask, cancel := ctx, context.CancelFunc(func() {})
		if deadline, ok := ctx.Deadline(); ok { // an unresponsive server leaves time for the next
			ask, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(len(seeds)-i))
		}
		req := kmsg.NewPtrMetadataRequest()
		req.Topics = []kmsg.MetadataRequestTopic{}
		_, err := s.Request(ask, req)
		silent := ask.Err() != nil
		cancel()
		if err == nil {
			return nil
		}
		if canceled(ctx) {
			return context.Cause(ctx)
		}
		e := cfg.connectError(cfg.Brokers[i], err, silent)
		// Tell the cause that waiting cannot mend, where there is one.
		if worst == nil || worst.Kind.Retry && !e.Kind.Retry {
			worst = e
		}
	}
	return worst
}

// refresh loads the brokers' ids and addresses.
func (c *client) refresh(ctx context.Context) error {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	_, err := c.kgo.Request(ctx, req)
	return err
}
