package kafka

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"time"
)

// The defaults of a Config, and the bounds of what a lane fetches at once.
const (
	defaultConnectTimeout    = 10 * time.Second
	defaultFetchRetryTimeout = 60 * time.Second
	defaultDialTimeout       = 5 * time.Second
	defaultRequestTimeout    = 30 * time.Second
	// A bounded scan asks only for offsets that exist, so a broker has nothing to wait for, unless it must get them from remote storage first. This is
	// Kafka's own default; half of what it costs to prove that nothing is left in front of an end.
	defaultFetchMaxWait  = 500 * time.Millisecond
	defaultMaxBatchBytes = 256 << 20
	// Views are uint32, so a decompressed batch must stay below this whatever the configuration says.
	maxMaxBatchBytes = math.MaxInt32

	firstFetchBytesLimit = 64 << 10
	firstFetchBytes      = 256 << 10
	maxFetchBytes        = 8 << 20
)

func (c Config) withDefaults() Config {
	set := func(d *time.Duration, to time.Duration) {
		if *d <= 0 {
			*d = to
		}
	}
	set(&c.ConnectTimeout, defaultConnectTimeout)
	set(&c.FetchRetryTimeout, defaultFetchRetryTimeout)
	set(&c.DialTimeout, defaultDialTimeout)
	set(&c.RequestTimeout, defaultRequestTimeout)
	set(&c.FetchMaxWait, defaultFetchMaxWait)
	if c.FetchMinBytes <= 0 {
		c.FetchMinBytes = 1
	}
	if c.MaxBatchBytes <= 0 {
		c.MaxBatchBytes = defaultMaxBatchBytes
	}
	c.MaxBatchBytes = min(c.MaxBatchBytes, maxMaxBatchBytes)
	if c.Protocol == "" {
		c.Protocol = Plaintext
	}
	if c.ClientID == "" {
		c.ClientID = "millrace"
	}
	return c
}

// Key identifies the connections that c needs: two Configs with the same Key share them. It is a digest, so it may be logged.
func (c Config) Key() string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %q %q %q %q %q %v %v %d %d", c.Brokers, c.ClientID, c.Rack, c.Protocol, c.TLSKey, c.Mechanism, c.User, c.Password,
		c.DialTimeout, c.RequestTimeout, c.ReceiveBuffer, c.SendBuffer)
	if c.Login != nil {
		fmt.Fprintf(h, " %q", c.Login.key)
	}
	fmt.Fprintf(h, " %v %q", c.DelegationToken, c.Hosts)
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// usesTLS reports whether connections are encrypted.
func (p Protocol) usesTLS() bool { return p == SSL || p == SASLSSL }

// usesSASL reports whether connections authenticate by SASL.
func (p Protocol) usesSASL() bool { return p == SASLPlaintext || p == SASLSSL }
