package data

import (
	"fmt"
	"math/rand/v2"
)

var (
	eventTypes = []string{"view", "click", "search", "cart", "purchase", "refund", "login", "logout", "share", "rate"}
	countries  = []string{"DE", "FR", "US", "NZ", "JP", "BR", "IN", "ZA", "CZ", "CA"}
)

// Events are flat, of about 200 bytes, with a key.
var Events = Set{Name: "events", append: appendEvent}

func appendEvent(rng *rand.Rand, i int, key, value []byte) ([]byte, []byte) {
	user := rng.IntN(100_000)
	key = fmt.Appendf(key, "user-%06d", user)
	value = fmt.Appendf(value, `{"id":%d,"user":"user-%06d","type":"%s","country":"%s","amount":%d.%02d,"qty":%d,"ts":"%s","session":"%016x","url":"/items/%d/view","ok":true}`,
		i, user, eventTypes[rng.IntN(len(eventTypes))], countries[rng.IntN(len(countries))], rng.IntN(100), rng.IntN(100), rng.IntN(10), At(i).Format(timeFormat), rng.Uint64(), rng.IntN(1_000_000))
	return key, value
}
