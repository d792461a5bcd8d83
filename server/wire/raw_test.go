package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"millrace/internal/testkit"
)

// raw is a client that speaks in packets, for what drivers do not do.
type raw struct {
	t      testing.TB
	nc     net.Conn
	caps   uint32
	reader packetReader
	// seq is the number of the next packet to send, or of the last one read plus one.
	seq byte
	// id is the connection id of the greeting.
	id   uint32
	salt []byte
}

const rawCaps = capLongPassword | capProtocol41 | capSecureConnection | capPluginAuth | capTransactions | capMultiResults | capPSMultiResults

// connect reads the greeting.
func connect(t testing.TB, s *testServer) *raw {
	t.Helper()
	nc, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(2 * time.Minute))
	r := &raw{t: t, nc: nc, reader: packetReader{src: nc, max: 1 << 30}}
	k := cursor{b: r.read()}
	if v := k.uint(1); v != 10 {
		t.Fatalf("greeting of version %d", v)
	}
	k.cstring()
	r.id = uint32(k.uint(4))
	r.salt = append(r.salt, k.bytes(8)...)
	k.bytes(19)
	r.salt = append(r.salt, k.bytes(12)...)
	return r
}

// login is connect and a login as root, which has no password.
func login(t testing.TB, s *testServer, caps uint32) *raw {
	t.Helper()
	r := connect(t, s)
	r.caps = rawCaps | caps
	r.write(r.loginPacket("root", PluginNative, nil, ""))
	r.wantOK()
	return r
}

func (r *raw) loginPacket(user, plugin string, response []byte, db string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, r.caps)
	b = binary.LittleEndian.AppendUint32(b, 1<<24)
	b = append(b, 45)
	b = append(b, make([]byte, 23)...)
	b = append(append(b, user...), 0)
	b = append(append(b, byte(len(response))), response...)
	if r.caps&capConnectWithDB != 0 {
		b = append(append(b, db...), 0)
	}
	b = append(append(b, plugin...), 0)
	if r.caps&capConnectAttrs != 0 {
		b = appendString(b, appendString(appendString(nil, "program_name"), "raw"))
	}
	if r.caps&capZstd != 0 {
		b = append(b, 3)
	}
	return b
}

func frame(seq byte, data []byte) []byte {
	n := len(data)
	return append([]byte{byte(n), byte(n >> 8), byte(n >> 16), seq}, data...)
}

// write sends one packet that continues the exchange.
func (r *raw) write(data []byte) {
	r.t.Helper()
	if _, err := r.nc.Write(frame(r.seq, data)); err != nil {
		r.t.Fatal(err)
	}
	r.seq++
}

// command sends a command.
func (r *raw) command(parts ...any) {
	r.t.Helper()
	r.seq = 0
	r.write(join(parts...))
}

// join makes bytes of bytes, strings, and ints of one byte.
func join(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			b = append(b, byte(p))
		case string:
			b = append(b, p...)
		case []byte:
			b = append(b, p...)
		case uint16:
			b = binary.LittleEndian.AppendUint16(b, p)
		case uint32:
			b = binary.LittleEndian.AppendUint32(b, p)
		default:
			panic(fmt.Sprintf("part of type %T", p))
		}
	}
	return b
}

// read gives the next payload and checks that its number follows.
func (r *raw) read() []byte {
	r.t.Helper()
	p := r.reader.next()
	if p.err != nil {
		r.t.Fatalf("read: %v", p.err)
	}
	if want := r.seq + byte(len(p.data)/maxPayload); p.seq != want {
		r.t.Fatalf("packet number %d, want %d", p.seq, want)
	}
	r.seq = p.seq + 1
	return bytes.Clone(p.data)
}

type okPacket struct {
	affected, insertID uint64
	status, warnings   uint16
	rest               []byte
}

func parseOK(b []byte) okPacket {
	k := cursor{b: b[1:]}
	return okPacket{k.lenenc(), k.lenenc(), uint16(k.uint(2)), uint16(k.uint(2)), k.b}
}

func (r *raw) wantOK() okPacket {
	r.t.Helper()
	b := r.read()
	if b[0] != headerOK {
		r.t.Fatalf("want OK, got %q", b)
	}
	return parseOK(b)
}

// wantErr fails unless an ERR packet with the number and SQLSTATE comes.
func (r *raw) wantErr(number uint16, state string) string {
	r.t.Helper()
	b := r.read()
	if b[0] != headerErr || binary.LittleEndian.Uint16(b[1:]) != number || string(b[3:9]) != "#"+state {
		r.t.Fatalf("want error %d (%s), got %q", number, state, b)
	}
	return string(b[9:])
}

// wantEnd fails unless the server closes the connection.
func (r *raw) wantEnd() {
	r.t.Helper()
	if p := r.reader.next(); p.err == nil {
		r.t.Fatalf("want the end, got %q", p.data)
	}
}

// wantEOF fails unless an EOF packet comes, or OK in its place.
func (r *raw) wantEOF() okPacket {
	r.t.Helper()
	b := r.read()
	if b[0] != headerEOF || len(b) > 100 {
		r.t.Fatalf("want EOF, got %q", b)
	}
	if r.caps&capDeprecateEOF != 0 {
		return parseOK(b)
	}
	if len(b) != 5 {
		r.t.Fatalf("EOF of %d bytes", len(b))
	}
	return okPacket{warnings: binary.LittleEndian.Uint16(b[1:]), status: binary.LittleEndian.Uint16(b[3:])}
}

// columns reads the head of a result set with n columns.
func (r *raw) columns(n int) (defs [][]byte) {
	r.t.Helper()
	if b := r.read(); !bytes.Equal(b, []byte{byte(n)}) {
		r.t.Fatalf("want %d columns, got %q", n, b)
	}
	for range n {
		defs = append(defs, r.read())
	}
	if r.caps&capDeprecateEOF == 0 {
		r.wantEOF()
	}
	return defs
}

// rows reads n rows and the end.
func (r *raw) rows(n int) okPacket {
	r.t.Helper()
	for range n {
		r.read()
	}
	return r.wantEOF()
}

func (r *raw) ping() {
	r.t.Helper()
	r.command(comPing)
	r.wantOK()
}

// quiet fails if the server has sent anything that was not read. It asks for an answer, so that there is no need to wait.
func (r *raw) quiet() {
	r.t.Helper()
	r.ping()
}

// eventually waits for a state that another goroutine brings about.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(testkit.Patience); !ok(); {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

func drain(nc net.Conn) { _, _ = io.Copy(io.Discard, nc) }
