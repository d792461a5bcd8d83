package wire

import (
	"fmt"
	"testing"
	"time"
)

func TestHostsThatFailAreSlowedDown(t *testing.T) {
	now := time.Unix(1000, 0)
	th := throttle{now: func() time.Time { return now }}
	for range freeFailures {
		if d, ok := th.wait("10.0.0.1"); d != 0 || !ok {
			t.Fatalf("waits %v before the free failures are used up", d)
		}
		th.failed("10.0.0.1")
	}
	// However many try at once, they get slots of one rate; those who would wait too long are turned away.
	admitted := 0
	for i := range 100 {
		d, ok := th.wait("10.0.0.1")
		if want := time.Duration(i+1) * slotTime; ok && d != want {
			t.Fatalf("login %d waits %v, want %v", i, d, want)
		}
		if ok {
			admitted++
		}
	}
	if want := int(longestWait / slotTime); admitted != want {
		t.Errorf("%d admitted, want %d", admitted, want)
	}
	if d, ok := th.wait("10.0.0.2"); d != 0 || !ok {
		t.Error("another host waits")
	}
	now = now.Add(time.Duration(1.5/forgetPerSec*1e9) * time.Nanosecond)
	if d, _ := th.wait("10.0.0.1"); d != 0 {
		t.Errorf("still waits %v after a failure is forgotten", d)
	}
}

func TestThrottleIsBounded(t *testing.T) {
	now := time.Unix(1000, 0)
	th := throttle{now: func() time.Time { return now }}
	for i := range hostsRemember + 10 {
		th.failed(fmt.Sprintf("host %d", i))
	}
	if len(th.hosts) > hostsRemember {
		t.Error(len(th.hosts))
	}
	now = now.Add(time.Hour)
	th.failed("new")
	if len(th.hosts) != 1 {
		t.Errorf("%d hosts after all are forgiven", len(th.hosts))
	}
}

func TestNetworkOfAHost(t *testing.T) {
	for host, want := range map[string]string{
		"10.0.0.1": "10.0.0.1", "localhost": "localhost", "2001:db8::1": "2001:db8::/64", "fe80::1%eth0": "fe80::/64", "": "",
	} {
		if got := network(host); got != want {
			t.Errorf("%s: %s, want %s", host, got, want)
		}
	}
}

func TestLoginsOfAFailingHostAreRefused(t *testing.T) {
	s := start(t, nil)
	for range 2 * freeFailures {
		s.logins.failed("127.0.0.1")
	}
	for range longestWait / slotTime {
		s.logins.wait("127.0.0.1")
	}
	wantError(t, dial(t, s, nil).Ping(), 1129, "too many failed logins from '127.0.0.1'")
}
