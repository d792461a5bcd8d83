package wire

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"testing"
)

// script is a client that sends prepared bytes and then hangs up, whatever it is answered.
type script struct {
	sink
	in *bytes.Reader
}

func (s script) Read(b []byte) (int, error) { return s.in.Read(b) }

func play(data []byte) (script, *counter) {
	n := &counter{}
	return script{sink{out: n}, bytes.NewReader(data)}, n
}

type counter struct{ n int }

func (c *counter) Write(b []byte) (int, error) {
	c.n += len(b)
	return len(b), nil
}

// fuzzSession answers at once and briefly.
type fuzzSession struct{ fake }

func (s *fuzzSession) Query(ctx context.Context, text string, r *Results) error {
	switch {
	case len(text) > 6:
		return s.run(ctx, text[:6], r) // rows, fail or batch of one digit
	case text == "work" || text == "wait" || text == "endless":
		return r.OK(0, 0, "")
	}
	return s.run(ctx, text, r)
}

func (s *fuzzSession) Execute(ctx context.Context, st *Stmt, args []Param, r *Results) error {
	if len(args) != st.Params {
		panic("wrong number of parameters")
	}
	return s.Query(ctx, "rows 1", r)
}

const fuzzPacket = 1 << 16

func FuzzCommandLoop(f *testing.F) {
	all := uint32(offered)
	f.Add(uint32(0), frame(0, join(comQuery, "rows 1")))
	f.Add(all, frame(0, join(comQuery, 0, 1, "fail 1")))
	f.Fuzz(func(t *testing.T, caps uint32, data []byte) {
		nc, written := play(data)
		server := newFakeServer()
		s := NewServer(Config{MaxPacket: fuzzPacket, MaxStatements: 10, Accounts: fakeAccounts{}, Open: func(*Conn) (Session, error) {
			return &fuzzSession{fake{server: server}}, nil
		}})
		c := newConnection(s, nc, 1)
		c.capabilities = caps & offered
		c.session = &fuzzSession{fake{server: server}}
		if err := c.ready(); err != nil {
			t.Fatal(err)
		}
		c.serveCommands()
		c.close()
		for _, b := range c.reader.buf {
			if cap(b) > 2*fuzzPacket {
				t.Errorf("read buffer of %d bytes", cap(b))
			}
		}
		// Each command takes five bytes at least and is answered with a few hundred; the text of errors is bounded.
		if most := (len(data)/5 + 1) * (1 << 10) * (1 + inflation(caps)); written.n > most+maxErrorText {
			t.Errorf("%d bytes for %d", written.n, len(data))
		}
		if server.stmts != 0 {
			t.Errorf("%d statements left open", server.stmts)
		}
	})
}

// inflation is how many times more commands a compressed connection may bring than it has bytes.
func inflation(caps uint32) int {
	if caps&(capCompress|capZstd) != 0 {
		return 1 << 10
	}
	return 0
}

func FuzzLogin(f *testing.F) {
	r := &raw{caps: rawCaps | capConnectWithDB | capConnectAttrs | capZstd}
	f.Add(frame(1, r.loginPacket("root", PluginNative, nil, "shop")))
	f.Add(append(frame(1, r.loginPacket("sha", PluginSHA2, make([]byte, 32), "")), frame(3, []byte{wantPublicKey})...))
	f.Fuzz(func(t *testing.T, data []byte) {
		nc, written := play(data)
		acc, _ := accounts()
		server := newFakeServer()
		s := NewServer(Config{Version: "8.0.36-millrace", Accounts: acc, Open: server.open, RSA: testKey()})
		c := newConnection(s, nc, 1)
		ok := c.start()
		facts := c.facts.Load()
		c.close()
		if ok != (facts != nil) {
			t.Errorf("logged in %v, but %+v", ok, facts)
		}
		if facts != nil && facts.Account.User != "root" {
			t.Errorf("logged in without a password as %+v", facts)
		}
		if written.n > maxErrorText+4096 {
			t.Errorf("%d bytes written", written.n)
		}
		for _, b := range c.reader.buf {
			if cap(b) > 2*len(data)+1024 {
				t.Errorf("read buffer of %d bytes for %d", cap(b), len(data))
			}
		}
	})
}

func FuzzDecodeParams(f *testing.F) {
	f.Add(2, true, []byte(nil), []byte("\x00\x01\xfe\x00\x01a\x03\x00\x01b\x01v\x2a\x00\x00\x00"))
	f.Add(1, false, []byte{TypeDatetime, 0}, []byte("\x00\x00\x0b\xe9\x07\x01\x02\x03\x04\x05\xa0\x0f\x00\x00"))
	f.Fuzz(func(t *testing.T, n int, named bool, types, data []byte) {
		block := paramSet{n: n, named: named, types: types, long: map[uint16][]byte{1: []byte("long")}}
		k := cursor{b: data}
		values, kept, err := block.decode(&k)
		if err != nil {
			return
		}
		if len(values) != n || len(kept) < 2*n {
			t.Fatalf("%d values, %d types for %d parameters", len(values), len(kept), n)
		}
		for i, v := range values {
			size := 0
			switch x := v.V.(type) {
			case string:
				size = len(x)
			case []byte:
				size = len(x)
			case nil, int64, uint64, float64:
			default:
				t.Fatalf("value %d is a %T", i, x)
			}
			if size > len(data)+64 {
				t.Fatalf("value %d has %d bytes of %d", i, size, len(data))
			}
		}
	})
}

func FuzzInflate(f *testing.F) {
	text := bytes.Repeat([]byte("abc"), 100)
	f.Add(false, compressed(0, text, packZlib(text)))
	f.Add(true, compressed(0, text, packZstd(text)))
	f.Fuzz(func(t *testing.T, zstd bool, data []byte) {
		in := &inflater{src: bufio.NewReader(bytes.NewReader(data)), zstd: zstd}
		defer in.close()
		n, err := io.Copy(io.Discard, in)
		if err == nil && n == 0 && len(data) > frameHeader && data[0] != 0 {
			t.Errorf("%d bytes gave nothing", len(data))
		}
		if n > int64(len(data)/frameHeader+1)*maxPayload {
			t.Errorf("%d bytes of %d", n, len(data))
		}
	})
}
