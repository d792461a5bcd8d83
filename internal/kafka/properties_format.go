package kafka

import (
	"fmt"
	"io"
	"log/slog"
	"strings"

	"millrace/internal/option"
)

// String describes c without credentials, so that a Config may be printed or logged by anybody.
func (c Config) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s over %s", strings.Join(c.Brokers, ","), c.Protocol)
	if c.Mechanism != "" {
		fmt.Fprintf(&b, ", %s as %s", c.Mechanism, option.Redacted)
	}
	if c.TLS != nil {
		b.WriteString(", own TLS settings")
	}
	if c.ClientID != "" {
		fmt.Fprintf(&b, ", client.id %s", c.ClientID)
	}
	return b.String()
}

// Format keeps the credentials out of every verb, %+v and %#v included.
func (c Config) Format(f fmt.State, _ rune) {
	// The state keeps a failed write to itself, as for every Formatter.
	_, _ = io.WriteString(f, "kafka.Config{"+c.String()+"}")
}

// LogValue is what slog writes.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalText keeps the credentials out of JSON and the like.
func (c Config) MarshalText() ([]byte, error) { return []byte(c.String()), nil }
