package convert

import (
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // the same regions on every machine
)

// regions caches time zones by name. Names come from data, so the cache must not grow with them: only zones that exist are kept, and of
// these there are a few hundred.
var regions sync.Map // string → *time.Location

// maxRegion is longer than any name of a region.
const maxRegion = 64

// inRegion reads micros, a time on the clock of a region such as Europe/Berlin, as an instant. A time that the clock skips in spring is moved
// forward, one that it shows twice in autumn is the first, as time.Date does.
func inRegion(name []byte, micros int64) (int64, bool) {
	if len(name) > maxRegion {
		return 0, false
	}
	for _, c := range name {
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && !strings.ContainsRune("_/+-:", rune(c)) {
			return 0, false
		}
	}
	for _, utc := range [...]string{"UTC", "GMT", "UT"} {
		if rest, ok := strings.CutPrefix(string(name), utc); ok {
			if rest == "" {
				return micros, true
			}
			if offset, ok := zoneOffset(name[len(utc):]); ok {
				return micros - offset, true
			}
		}
	}
	var location *time.Location
	if known, ok := regions.Load(string(name)); ok {
		location = known.(*time.Location)
	} else {
		loaded, err := time.LoadLocation(string(name))
		if err != nil || string(name) == "Local" { // Local is this machine's zone, whatever that is
			return 0, false
		}
		regions.Store(string(name), loaded)
		location = loaded
	}
	clock := time.UnixMicro(micros).UTC()
	return time.Date(clock.Year(), clock.Month(), clock.Day(), clock.Hour(), clock.Minute(), clock.Second(), clock.Nanosecond(), location).UnixMicro(), true
}
