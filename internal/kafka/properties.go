package kafka

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"millrace/internal/option"
	"millrace/internal/sqlerr"
)

// PropertyOptions is what the server allows client properties to do.
type PropertyOptions struct {
	// FilesDir is the directory below which files may be named, empty for none.
	FilesDir string
	// Environment, when not nil, gives variables of the server, whose AWS keys then stand in for those that are not given. It is for settings that an
	// administrator stored, not for those of a statement: they would lend the server's identity to everybody.
	Environment func(name string) string
}

// ParseProperties applies Java client properties to base, whose fields it overrides. Names may carry the prefix kafka. and match without regard to case.
// It gives warnings for what changes nothing and a *sqlerr.Error for what is unknown, wrong, refused, or not supported yet; neither holds a secret.
func ParseProperties(base Config, properties map[string]string, o PropertyOptions) (Config, []string, error) {
	pairs := make([]option.Pair, 0, len(properties))
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		pairs = append(pairs, option.Pair{Name: name, Value: properties[name]})
	}
	v, err := Properties.Bind(pairs, false)
	if err != nil {
		return Config{}, nil, err
	}
	p := &propertyParser{Values: v, config: base, files: o.FilesDir, environment: o.Environment}
	for _, step := range []func() error{p.connection, p.protocol, p.sasl, p.tls} {
		if err := step(); err != nil {
			return Config{}, nil, err
		}
	}
	return p.config, v.Warnings, nil
}

// propertyParser carries one ParseProperties through its steps.
type propertyParser struct {
	*option.Values
	config Config
	files  string
	// environment is that of PropertyOptions.
	environment func(string) string
}

func (p *propertyParser) warn(text string) { p.Warnings = append(p.Warnings, text) }

func (p *propertyParser) connection() error {
	c := &p.config
	if p.Has("bootstrap.servers") {
		brokers, err := ParseBrokers(p.List("bootstrap.servers"))
		if err != nil {
			return p.Invalid("bootstrap.servers", "%w", err)
		}
		c.Brokers = brokers
	}
	if p.Has("client.id") {
		c.ClientID = p.String("client.id")
	}
	if p.Has("client.rack") {
		c.Rack = p.String("client.rack")
	}
	if p.Has("check.crcs") {
		c.SkipCRC = !p.Bool("check.crcs")
	}
	for name, field := range map[string]*int32{
		"fetch.max.bytes": &c.FetchMaxBytes, "max.partition.fetch.bytes": &c.PartitionMaxBytes, "fetch.min.bytes": &c.FetchMinBytes,
	} {
		if p.Has(name) {
			*field = int32(p.Int(name)) // the table bounds it to 32 bits
		}
	}
	for name, field := range map[string]*int32{"receive.buffer.bytes": &c.ReceiveBuffer, "send.buffer.bytes": &c.SendBuffer} {
		if p.Has(name) {
			*field = int32(max(p.Int(name), 0)) // -1 is Java's word for the operating system's choice
		}
	}
	for name, field := range map[string]*time.Duration{
		"fetch.max.wait.ms": &c.FetchMaxWait, "request.timeout.ms": &c.RequestTimeout, "default.api.timeout.ms": &c.FetchRetryTimeout,
		"socket.connection.setup.timeout.ms": &c.DialTimeout, "socket.connection.setup.timeout.max.ms": &c.ConnectTimeout,
	} {
		if p.Has(name) {
			*field = time.Duration(p.Int(name)) * time.Millisecond
		}
	}
	return nil
}

// protocol settles security.protocol and what was given for another protocol than that. Java ignores the latter without a word; a user who gives a
// password and no protocol has forgotten the protocol, so that is an error, while leftovers beside a protocol that is named are a warning.
func (p *propertyParser) protocol() error {
	given := p.Has("security.protocol")
	if given || p.config.Protocol == "" {
		p.config.Protocol = Protocol(p.String("security.protocol"))
	}
	for _, o := range Properties.Options() {
		use, want := p.config.Protocol.usesSASL(), SASLSSL
		if strings.HasPrefix(o.Name, "ssl.") {
			use, want = p.config.Protocol.usesTLS(), SSL
		} else if !strings.HasPrefix(o.Name, "sasl.") {
			continue
		}
		switch {
		case use || o.Batch != option.Supported || !p.Has(o.Name):
		case given:
			p.warn("'" + p.As(o.Name) + "' is ignored: '" + p.As("security.protocol") + "' is " + string(p.config.Protocol))
		default:
			return sqlerr.New(sqlerr.OptionConflict, "'%s' needs another protocol than %s, which is in force when 'security.protocol' is not given", p.As(o.Name), p.config.Protocol).
				WithHint("give kafka.security.protocol, for example %s", want)
		}
	}
	return nil
}

// ParseBrokers checks and tidies addresses: host:port, an IPv6 address in brackets, duplicates dropped. A listener name before ://, which Java clients
// allow, is cut off.
func ParseBrokers(list []string) ([]string, error) {
	var brokers []string
	for _, entry := range list {
		address := entry
		if i := strings.Index(entry, "://"); i >= 0 {
			address = entry[i+3:]
		}
		host, port, err := net.SplitHostPort(address)
		if n, perr := strconv.ParseUint(port, 10, 16); err != nil || perr != nil || n == 0 || host == "" || strings.ContainsAny(host, " /@?#\\\t\r\n\"'") {
			return nil, fmt.Errorf("holds '%s', expected host:port", option.Show(entry))
		}
		if !slices.Contains(brokers, address) {
			brokers = append(brokers, address)
		}
	}
	return brokers, nil
}
