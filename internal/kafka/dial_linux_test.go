package kafka

import (
	"net"
	"syscall"
	"testing"
)

// TestSocketsHaveTheBuffersThatTheUserGave looks at the socket: Linux shows twice what was asked for, half of it for its own use.
func TestSocketsHaveTheBuffersThatTheUserGave(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	c := Config{ReceiveBuffer: 48 << 10, SendBuffer: 40 << 10}.withDefaults()
	conn, err := c.dialer()(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for option, want := range map[int]int32{syscall.SO_RCVBUF: c.ReceiveBuffer, syscall.SO_SNDBUF: c.SendBuffer} {
		var got int
		var failed error
		if err := raw.Control(func(fd uintptr) { got, failed = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, option) }); err != nil || failed != nil {
			t.Fatal(err, failed)
		}
		if got != 2*int(want) {
			t.Errorf("option %d is %d, want %d", option, got, 2*want)
		}
	}
}
