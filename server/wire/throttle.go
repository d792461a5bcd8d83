package wire

import (
	"net/netip"
	"sync"
	"time"
)

// throttle slows down the guessing of passwords. A host may fail some times for free; after that its logins, the right ones too,
// wait for slots of a fixed rate, however many connections it opens. Were the right ones let through at once, the time of an answer
// would tell a guesser enough. Failures are forgotten at a fixed rate.
type throttle struct {
	mu    sync.Mutex
	hosts map[string]*failures
	// now is time.Now, or a test's clock.
	now func() time.Time
}

type failures struct {
	count float64
	// at is when count was right.
	at time.Time
	// slot is when the last admitted login may go on.
	slot time.Time
}

const (
	freeFailures  = 10
	forgetPerSec  = 1.0
	slotTime      = 250 * time.Millisecond
	longestWait   = 5 * time.Second
	hostsRemember = 10_000
)

func (t *throttle) time() time.Time {
	if t.now != nil {
		return t.now()
	}
	return time.Now()
}

func (f *failures) forget(now time.Time) {
	f.count = max(0, f.count-forgetPerSec*now.Sub(f.at).Seconds())
	f.at = now
}

// wait says how long a login from host has to wait for its turn, and false when there are too many before it.
func (t *throttle) wait(host string) (time.Duration, bool) {
	host = network(host)
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.hosts[host]
	if f == nil {
		return 0, true
	}
	now := t.time()
	f.forget(now)
	if f.count < freeFailures {
		return 0, true
	}
	slot := f.slot.Add(slotTime)
	if slot.Before(now) {
		slot = now.Add(slotTime)
	}
	d := slot.Sub(now)
	if d > longestWait {
		return 0, false
	}
	f.slot = slot
	return d, true
}

// failed counts a failed login.
func (t *throttle) failed(host string) {
	host = network(host)
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.time()
	f := t.hosts[host]
	if f == nil {
		if t.hosts == nil {
			t.hosts = map[string]*failures{}
		}
		t.makeRoom(now)
		f = &failures{at: now}
		t.hosts[host] = f
	}
	f.forget(now)
	f.count = min(f.count+1, 2*freeFailures)
}

// makeRoom drops the hosts that are forgiven, or any one if none is.
func (t *throttle) makeRoom(now time.Time) {
	if len(t.hosts) < hostsRemember {
		return
	}
	for h, f := range t.hosts {
		if f.forget(now); f.count == 0 {
			delete(t.hosts, h)
		}
	}
	for h := range t.hosts {
		if len(t.hosts) < hostsRemember {
			return
		}
		delete(t.hosts, h)
	}
}

// network is what counts as one host: an IPv6 peer has a whole /64 of addresses to choose from.
func network(host string) string {
	ip, err := netip.ParseAddr(host)
	if err != nil || ip.Is4() {
		return host
	}
	p, err := ip.WithZone("").Prefix(64)
	if err != nil {
		return host
	}
	return p.String()
}
