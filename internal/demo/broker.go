package demo

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/twmb/franz-go/pkg/kfake"
)

// Broker is an embedded Kafka broker for trying things out: kfake in memory, one node, gone when the process ends. It is a development
// convenience, neither durable nor highly available.
//
// Two guards stand around it. Its listener closes connections whose bytes are not Kafka requests before kfake sees them, because kfake
// allocates whatever the first four bytes of a frame announce (an HTTP request would cost 1.2 GB). And a topic is created only for a producer
// that asks for it, as kcat -P does and brokers allow by default, never by being mentioned: a query with a mistyped name gets its error. A
// third guard, a lock on the data directory, is not needed: there is no directory.
type Broker struct {
	cluster *kfake.Cluster
	addr    string
}

// StartBroker listens on listen, host:port with port 0 for a free one. The address that clients are told is the one listened on, so that it must be one.
func StartBroker(listen string) (*Broker, error) {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, fmt.Errorf("embedded broker: %w", err)
	}
	if at, ok := l.Addr().(*net.TCPAddr); ok && at.IP.IsUnspecified() {
		return nil, errors.Join(fmt.Errorf("embedded broker: '%s' is every address of the machine, and clients are told where it listens: name one that they reach, such as 127.0.0.1:%d", listen, at.Port), l.Close())
	}
	taken := false
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.AllowAutoTopicCreation(), kfake.ListenFn(func(string, string) (net.Listener, error) {
		if taken {
			return nil, errors.New("embedded broker: more than one listener asked for")
		}
		taken = true
		return guardedListener{l}, nil
	}))
	if err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("embedded broker: %w", err)
	}
	return &Broker{cluster: c, addr: l.Addr().String()}, nil
}

// Addr is the bootstrap address.
func (b *Broker) Addr() string { return b.addr }

// Compact compacts the compacted topics now.
func (b *Broker) Compact() { b.cluster.Compact() }

// Close ends the broker and waits for it; its data is gone.
func (b *Broker) Close() { b.cluster.Close() }

type guardedListener struct{ net.Listener }

func (l guardedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &guardedConn{Conn: c}, nil
}

var errNotKafka = errors.New("embedded broker: not a Kafka request")

// Bounds of a believable request: no API key or version of Kafka comes near them.
const (
	maxRequest = 100 << 20
	maxKey     = 200
	maxVersion = 50
)

// guardedConn follows the framing of requests (4 bytes of size, then API key, API version and the rest) and lets a frame pass only when its
// first 8 bytes are believable. It is read by one goroutine.
type guardedConn struct {
	net.Conn
	head []byte // checked bytes of a frame not handed on yet
	left int64  // bytes of the frame still on the connection
	buf  [8]byte
}

func (c *guardedConn) Read(p []byte) (int, error) {
	if len(c.head) == 0 && c.left == 0 {
		if _, err := io.ReadFull(c.Conn, c.buf[:]); err != nil {
			return 0, err
		}
		size := int64(int32(binary.BigEndian.Uint32(c.buf[:])))
		key, version := binary.BigEndian.Uint16(c.buf[4:]), binary.BigEndian.Uint16(c.buf[6:])
		if size < 8 || size > maxRequest || key > maxKey || version > maxVersion {
			return 0, errors.Join(errNotKafka, c.Conn.Close())
		}
		c.head, c.left = c.buf[:], size-4
	}
	if len(c.head) > 0 {
		n := copy(p, c.head)
		c.head = c.head[n:]
		return n, nil
	}
	if int64(len(p)) > c.left {
		p = p[:c.left]
	}
	n, err := c.Conn.Read(p)
	c.left -= int64(n)
	return n, err
}
