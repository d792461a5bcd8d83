package main

import (
	"bytes"
	"context"
	"net"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"millrace/server"
)

// The demo took ports at random, so that no statement of the documentation could be pasted, and no flag chose them.
func TestDemoListensWhereTheDocumentationSays(t *testing.T) {
	usual := []string{server.DefaultListen, server.DefaultHTTP, demoBroker, demoRegistry}
	const other = "127.0.0.1:0"
	for name, test := range map[string]struct {
		args, env []string
		taken     string
		want      []string // listen, http, broker, registry
		says      string
	}{
		"all free":             {want: usual},
		"one taken":            {taken: demoBroker, want: []string{usual[0], usual[1], other, usual[3]}, says: "127.0.0.1:9092 is taken: another port is used instead (--broker-listen names one)\n"},
		"a flag":               {args: []string{"--broker-listen", "127.0.0.1:19092"}, taken: demoBroker, want: []string{usual[0], usual[1], "127.0.0.1:19092", usual[3]}},
		"the environment":      {env: []string{"MILLRACE_REGISTRY_LISTEN=127.0.0.1:1"}, want: []string{usual[0], usual[1], usual[2], "127.0.0.1:1"}},
		"a flag insists":       {args: []string{"--listen", usual[0]}, taken: usual[0], want: usual},
		"a broker of its own":  {args: []string{"--kafka", "h:9092"}, taken: demoBroker, want: []string{usual[0], usual[1], "", usual[3]}},
		"without HTTP":         {args: []string{"--http", ""}, taken: usual[1], want: []string{usual[0], "", usual[2], usual[3]}},
		"a tour":               {args: []string{"--tour"}, want: []string{other, "", other, other}},
		"a tour at an address": {args: []string{"--tour", "--listen", usual[0], "--http", usual[1]}, want: []string{usual[0], usual[1], other, other}},
	} {
		var c cli
		var out bytes.Buffer
		parser, err := kong.New(&c, kong.Bind(environment(test.env)), kong.BindTo(context.Background(), (*context.Context)(nil)))
		if err != nil {
			t.Fatal(err)
		}
		line, err := parser.Parse(append([]string{"demo"}, test.args...))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		d := &c.Demo
		d.choosePorts(line, &streams{out: &out}, func(address string) bool { return address != test.taken })
		if got := []string{d.Listen, d.HTTP, d.BrokerListen, d.RegistryListen}; strings.Join(got, " ") != strings.Join(test.want, " ") || out.String() != test.says {
			t.Errorf("%s: %q, want %q; says %q", name, got, test.want, out.String())
		}
	}
}

func TestPortsAreFreeUntilSomebodyListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if isFree(l.Addr().String()) {
		t.Errorf("%s is said to be free", l.Addr())
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if !isFree(l.Addr().String()) {
		t.Errorf("%s is said to be taken", l.Addr())
	}
	if everywhere, err := net.Listen("tcp", ":0"); err == nil { // where a broker of a container listens
		_, port, _ := net.SplitHostPort(everywhere.Addr().String())
		if isFree("127.0.0.1:" + port) {
			t.Errorf("port %s is said to be free", port)
		}
		_ = everywhere.Close()
	}
}

// --data-dir was listed, ignored without a word, and what was there at the end was gone.
func TestDemoRefusesWhatItCannotKeep(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"a data folder":               {[]string{"--data-dir", "x"}, "the demo keeps nothing; millrace serve --data-dir DIR"},
		"two brokers":                 {[]string{"--kafka", "h:1", "--broker-listen", "127.0.0.1:0"}, "--broker-listen"},
		"a broker on every address":   {[]string{"--tour", "--broker-listen", "0.0.0.0:0"}, "'--broker-listen': embedded broker: '0.0.0.0:0' is every address of the machine"},
		"an address that is nobody's": {[]string{"--tour", "--registry-listen", "nowhere"}, "'--registry-listen'"},
	} {
		if code, _, errs := command(t, nil, append([]string{"demo"}, test.args...)...); code != 1 || !strings.Contains(errs, test.want) {
			t.Errorf("%s: code %d, %s", name, code, errs)
		}
	}
	if code, out, _ := command(t, nil, "demo", "--help"); code != 0 || strings.Contains(out, "--data-dir=DIR") || !strings.Contains(out, "The demo keeps nothing") {
		t.Errorf("help: %d %s", code, out)
	}
}
