package main

import (
	"fmt"
	"net"
	"time"

	"github.com/alecthomas/kong"

	"millrace/server"
)

// Addresses of the parts of the demo, those of the documentation's examples.
const (
	demoBroker   = "127.0.0.1:9092"
	demoRegistry = "127.0.0.1:8081"
)

// choosePorts decides where the demo listens, as far as the flags leave that open: at the usual ports when they are free, else at ports that the system chooses, which is said. A tour by itself
// takes the latter at once: nobody types its addresses, and it is in nobody's way.
func (c *demoCommand) choosePorts(line *kong.Context, s *streams, free func(address string) bool) {
	if c.Tour && !given(line, "http") {
		c.HTTP = ""
	}
	for _, p := range []struct {
		flag, usual string
		address     *string
	}{
		{"listen", server.DefaultListen, &c.Listen}, {"http", server.DefaultHTTP, &c.HTTP},
		{"broker-listen", demoBroker, &c.BrokerListen}, {"registry-listen", demoRegistry, &c.RegistryListen},
	} {
		switch {
		case given(line, p.flag), p.flag == "http" && c.HTTP == "", p.flag == "broker-listen" && c.Kafka != "":
		case c.Tour:
			*p.address = "127.0.0.1:0"
		case free(p.usual):
			*p.address = p.usual
		default:
			fmt.Fprintf(s.out, "%s is taken: another port is used instead (--%s names one)\n", p.usual, p.flag)
			*p.address = "127.0.0.1:0"
		}
	}
}

// given reports whether a flag has a value of the command line, the environment or the file of settings.
func given(line *kong.Context, name string) bool {
	for _, p := range line.Path {
		if p.Flag != nil && p.Flag.Name == name {
			return true
		}
	}
	return false
}

// isFree reports whether an address of this machine can be listened on, and nobody answers at its port. The latter is asked too, as localhost may mean an address that another program has,
// and as some systems let 127.0.0.1 be taken away from one that listens on all addresses.
func isFree(address string) bool {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if conn, err := net.DialTimeout("tcp", net.JoinHostPort("localhost", port), time.Second); err == nil {
		_ = conn.Close() // nothing was sent
		return false
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return false
	}
	return l.Close() == nil
}
