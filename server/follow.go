package server

import (
	"context"
	"sync"
	"time"

	"github.com/dolthub/go-mysql-server/sql"
)

// followTime is how often a server looks whether others have changed the catalog that they share.
const followTime = 250 * time.Millisecond

// follower keeps what a server has made of the catalog, databases, users and streaming tables, in line with a catalog that other servers change too.
type follower struct {
	*Server
	stop context.CancelFunc
	done sync.WaitGroup

	mu sync.Mutex
	// version is that of the catalog that everything is in line with.
	version int64
	// looked is when the catalog was last known to be current.
	looked time.Time
	away   bool
}

// follow starts a follower.
func (s *Server) follow() *follower {
	ctx, stop := context.WithCancel(context.Background())
	f := &follower{Server: s, stop: stop, version: s.catalog.Version(), looked: time.Now()}
	s.metrics.gauge("millrace_catalog_age_seconds", "Time since the catalog in the shared store was last known to be current.", func() float64 {
		f.mu.Lock()
		defer f.mu.Unlock()
		return time.Since(f.looked).Seconds()
	})
	f.done.Go(func() {
		tick := time.NewTicker(followTime)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				f.tell(ctx, f.catchUp(ctx))
			}
		}
	})
	return f
}

// close ends the follower and waits for it.
func (f *follower) close() {
	f.stop()
	f.done.Wait()
}

// tell logs that the catalog cannot be read, once, and that it can again.
func (f *follower) tell(ctx context.Context, err error) {
	switch {
	case ctx.Err() != nil:
	case err != nil && !f.away:
		f.away = true
		f.cfg.Log.Warn("the catalog cannot be read; what was read last holds until it can", "error", err)
	case err == nil && f.away:
		f.away = false
		f.cfg.Log.Info("the catalog can be read again")
	}
}

// catchUp looks whether the catalog has changed, and makes everything be as it says.
func (f *follower) catchUp(ctx context.Context) error {
	if _, err := f.catalog.Refresh(ctx); err != nil {
		return err
	}
	f.mu.Lock()
	f.looked = time.Now()
	version := f.catalog.Version()
	changed := version != f.version
	f.mu.Unlock()
	if !changed {
		return nil
	}
	if err := f.engine.provider.follow(); err != nil {
		return err
	}
	if err := f.engine.stored.follow(); err != nil {
		return err
	}
	f.tables.Reconcile()
	f.mu.Lock()
	f.version = max(f.version, version)
	f.mu.Unlock()
	return nil
}

// catchUp makes a statement that changes definitions or users see what other servers have done before it.
func (e *engine) catchUp(c *sql.Context) error {
	if e.follower == nil {
		return nil
	}
	return e.follower.catchUp(c)
}
