package wire

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// frames reads compressed frames with decoders of their own, checks that their numbers follow, and gives the stream inside.
type frames struct {
	t    *testing.T
	src  io.Reader
	next byte
	rest []byte
	// stored and packed count the frames of each kind.
	stored, packed int
	zstd           *zstd.Decoder
}

func (f *frames) Read(p []byte) (int, error) {
	for len(f.rest) == 0 {
		var h [7]byte
		if _, err := io.ReadFull(f.src, h[:]); err != nil {
			return 0, err
		}
		if h[3] != f.next {
			f.t.Errorf("frame %d, want %d", h[3], f.next)
		}
		f.next++
		body := make([]byte, int(h[0])|int(h[1])<<8|int(h[2])<<16)
		if _, err := io.ReadFull(f.src, body); err != nil {
			return 0, err
		}
		n := int(h[4]) | int(h[5])<<8 | int(h[6])<<16
		if n == 0 {
			f.stored++
			f.rest = body
			continue
		}
		f.packed++
		if f.zstd != nil {
			out, err := f.zstd.DecodeAll(body, nil)
			if err != nil {
				return 0, err
			}
			f.rest = out
		} else {
			z, err := zlib.NewReader(bytes.NewReader(body))
			if err != nil {
				return 0, err
			}
			if f.rest, err = io.ReadAll(z); err != nil {
				return 0, err
			}
		}
		if len(f.rest) != n {
			f.t.Errorf("frame of %d bytes, said to have %d", len(f.rest), n)
		}
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

func compressed(number byte, data, packed []byte) []byte {
	n, inflated := len(packed), len(data)
	if packed == nil {
		n, inflated, packed = len(data), 0, data
	}
	return append([]byte{byte(n), byte(n >> 8), byte(n >> 16), number, byte(inflated), byte(inflated >> 8), byte(inflated >> 16)}, packed...)
}

func packZlib(b []byte) []byte {
	var out bytes.Buffer
	z := zlib.NewWriter(&out)
	_, _ = z.Write(b)
	_ = z.Close()
	return out.Bytes()
}

func packZstd(b []byte) []byte {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err)
	}
	defer e.Close()
	return e.EncodeAll(b, nil)
}

func TestCompressedConnections(t *testing.T) {
	for name, c := range map[string]struct {
		caps uint32
		pack func([]byte) []byte
	}{"zlib": {capCompress, packZlib}, "zstd": {capZstd, packZstd}, "both": {capCompress | capZstd, packZlib}} {
		t.Run(name, func(t *testing.T) {
			s := start(t, nil)
			r := login(t, s, c.caps)
			f := &frames{t: t, src: r.nc}
			if name == "zstd" {
				d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
				if err != nil {
					t.Fatal(err)
				}
				defer d.Close()
				f.zstd = d
			}
			r.reader.src = f
			send := func(bytes []byte, last byte) {
				t.Helper()
				if _, err := r.nc.Write(bytes); err != nil {
					t.Fatal(err)
				}
				r.seq, f.next = 1, last+1
			}
			// Small answers are stored, large ones packed; both continue from the number of the request's frame.
			send(compressed(0, frame(0, []byte{comPing}), nil), 0)
			r.wantOK()
			text := frame(0, join(comQuery, "rows 5000"))
			send(compressed(0, text, c.pack(text)), 0)
			r.columns(2)
			r.rows(5000)
			if f.stored == 0 || f.packed == 0 {
				t.Errorf("%d stored, %d packed", f.stored, f.packed)
			}
			// Frames may end anywhere, in a header too, and hold several packets.
			text = frame(0, join(comQuery, "ok "+strings.Repeat("z", 100)))
			send(append(append(compressed(0, text[:2], nil), compressed(1, text[2:60], c.pack(text[2:60]))...), compressed(2, text[60:], nil)...), 2)
			r.wantOK()
			two := append(frame(0, []byte{comPing}), frame(0, []byte{comPing})...)
			send(compressed(0, two, nil), 0)
			r.wantOK()
			r.seq, f.next = 1, 1
			r.wantOK()
			// What cannot be inflated, or to another size, ends the connection.
			bad := compressed(0, text, c.pack(text))
			bad[4]++
			send(bad, 0)
			r.wantErr(1835, "HY000")
			r.wantEnd()
		})
	}
}

func TestFramesThatDoNotInflate(t *testing.T) {
	data := bytes.Repeat([]byte("abc"), 1000)
	for name, c := range map[string]struct {
		frame []byte
		zstd  bool
	}{
		"zlib noise":    {compressed(0, data, []byte("noise")), false},
		"zstd noise":    {compressed(0, data, []byte("noise")), true},
		"zlib too long": {compressed(0, data[:10], packZlib(data)), false},
		"zstd too long": {compressed(0, data[:10], packZstd(data)), true},
		"zlib short":    {compressed(0, data, packZlib(data[:10])), false},
		"zstd short":    {compressed(0, data, packZstd(data[:10])), true},
		"zlib cut":      {compressed(0, data, packZlib(data)[:10]), false},
		"cut":           {compressed(0, data, packZlib(data))[:20], false},
	} {
		t.Run(name, func(t *testing.T) {
			f := &inflater{src: bufio.NewReader(bytes.NewReader(c.frame)), zstd: c.zstd}
			defer f.close()
			if b, err := io.ReadAll(f); err == nil || len(b) > 0 {
				t.Errorf("read %d bytes, %v", len(b), err)
			}
		})
	}
}

// Noise grows under compression: frames of it must be stored, and must not overflow their length.
func TestWhatDoesNotCompressIsStored(t *testing.T) {
	noise := make([]byte, frameSize+5<<20)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(noise)
	for _, useZstd := range []bool{false, true} {
		t.Run(fmt.Sprintf("zstd=%v", useZstd), func(t *testing.T) {
			d, err := newDeflater(useZstd, 3)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := d.write(noise, func(b []byte) error { _, err := out.Write(b); return err }); err != nil {
				t.Fatal(err)
			}
			f := &frames{t: t, src: &out}
			got, err := io.ReadAll(f)
			if err != nil || !bytes.Equal(got, noise) || f.packed != 0 {
				t.Errorf("%d bytes, %d packed, %v", len(got), f.packed, err)
			}
			if err := d.close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// mysql-connector-python wants a frame to begin with a packet, and a packet to lie in two frames at most.
func TestPacketsSpanTwoFramesAtMost(t *testing.T) {
	for _, size := range []int{100, flushSize, 1 << 20, 5 << 20, maxPayload - 1, maxPayload, 34 << 20} {
		var out bytes.Buffer
		w := newWriter(sink{out: &out}, 0)
		d, err := newDeflater(false, 0)
		if err != nil {
			t.Fatal(err)
		}
		w.compress = d
		for range 3 {
			if err := w.packet(func(b []byte) []byte { return append(b, make([]byte, size)...) }); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.flush(); err != nil {
			t.Fatal(err)
		}
		w.close()
		f := &frames{t: t, src: &out}
		r := packetReader{src: f, max: 1 << 30}
		for range 3 {
			before := f.stored + f.packed
			if p := r.next(); p.err != nil || len(p.data) != size {
				t.Fatalf("%d bytes of %d, %v", len(p.data), size, p.err)
			}
			if n := f.stored + f.packed - before; n > 1+size/maxPayload+1 {
				t.Errorf("payload of %d bytes in %d frames", size, n)
			}
		}
	}
}

// A level that would take seconds a megabyte is not the client's to ask for.
func TestAnyCompressionLevelIsAccepted(t *testing.T) {
	for _, level := range []int{-1, 0, 1, 3, 22, 255} {
		if _, err := newDeflater(true, level); err != nil {
			t.Errorf("level %d: %v", level, err)
		}
	}
}

// faulty is a socket whose reading panics, as a decompressor with a fault would.
type faulty struct {
	sink
	reads int
}

func (f *faulty) Read([]byte) (int, error) {
	if f.reads++; f.reads > 1 {
		return 0, io.EOF
	}
	panic("fault of a decompressor")
}

func TestPanicsOutsideOfCommandsEndOnlyTheConnection(t *testing.T) {
	var out bytes.Buffer
	c := newConnection(quietServer(), &faulty{sink: sink{out: &out}}, 1)
	c.capabilities = capProtocol41
	c.session = &fake{server: newFakeServer()}
	c.serveCommands()
	c.close()
	if !strings.Contains(out.String(), "#HY000packet cannot be read") {
		t.Errorf("%q", out.String())
	}
	c = newConnection(quietServer(), sink{out: io.Discard}, 2)
	c.w.compress = &deflater{} // without an encoder it panics
	err := c.w.packet(func(b []byte) []byte { return append(b, make([]byte, 100)...) })
	if err == nil {
		err = c.w.flush()
	}
	if err == nil || !strings.Contains(err.Error(), "panic while compressing") {
		t.Error(err)
	}
	c.w.close()
}
