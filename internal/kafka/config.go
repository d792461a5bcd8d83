package kafka

import (
	"crypto/tls"
	"net"
	"time"
)

// Protocol is Kafka's security.protocol.
type Protocol string

// The four security protocols.
const (
	Plaintext     Protocol = "PLAINTEXT"
	SSL           Protocol = "SSL"
	SASLPlaintext Protocol = "SASL_PLAINTEXT"
	SASLSSL       Protocol = "SASL_SSL"
)

// Config says how to reach one cluster. Two Configs with the same Key share connections.
type Config struct {
	// Brokers are host:port, at least one.
	Brokers  []string
	ClientID string
	Rack     string
	Protocol Protocol
	// TLS is the client's TLS configuration for SSL and SASL_SSL, nil for the defaults. TLSKey identifies it for sharing: it must differ
	// whenever TLS differs.
	TLS    *tls.Config
	TLSKey string
	// Mechanism is that of SASL, empty without.
	Mechanism string
	// User and Password are the credentials of PLAIN and SCRAM; with DelegationToken they are the id and the key of a delegation token. The password
	// never appears in a message or log.
	User, Password  string
	DelegationToken bool
	// Login is how the other mechanisms log in, nil for PLAIN and SCRAM.
	Login *Login
	// Label stands for the user in messages, such as "connection 'prod'"; empty names the user.
	Label string
	// Hosts are the brokers that may be connected to, whatever the cluster advertises: those that the credentials are for. nil allows every host.
	Hosts Hosts

	// ConnectTimeout bounds reaching the cluster and planning (default 10 s); FetchRetryTimeout bounds how long one fetch may keep failing
	// for a transient cause (default 60 s); DialTimeout and RequestTimeout are those of one connection and one request.
	ConnectTimeout, FetchRetryTimeout, DialTimeout, RequestTimeout time.Duration
	// FetchMaxBytes and PartitionMaxBytes bound one fetch answer; 0 lets the lane size its fetches. FetchMaxWait and FetchMinBytes are Kafka's.
	FetchMaxBytes, PartitionMaxBytes, FetchMinBytes int32
	FetchMaxWait                                    time.Duration
	// ReceiveBuffer and SendBuffer size the buffers of each socket in bytes; 0 leaves them to the operating system, which adapts them.
	ReceiveBuffer, SendBuffer int32
	// MaxBatchBytes bounds what one record batch may decompress to, 0 for the default of 256 MiB.
	MaxBatchBytes int64
	// SkipCRC turns the checksum of record batches off (check.crcs=false).
	SkipCRC bool

	// Allow, when not nil, is asked after name resolution for every connection, also to brokers that the cluster advertises: host and port as named,
	// and the address that would be dialled. An error refuses the connection.
	Allow func(hostPort string, ip net.IP) error
}
