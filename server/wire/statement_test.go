package wire

import (
	"bytes"
	"testing"
)

func (r *raw) prepare(text string, params int) uint32 {
	r.t.Helper()
	r.command(comStmtPrepare, text)
	head := r.read()
	if head[0] != 0 || len(head) != 12 {
		r.t.Fatalf("prepare: %q", head)
	}
	k := cursor{b: head[1:]}
	id, columns := uint32(k.uint(4)), int(k.uint(2))
	if n := int(k.uint(2)); n != params {
		r.t.Fatalf("%d parameters, want %d", n, params)
	}
	for _, n := range []int{params, columns} {
		for range n {
			r.read()
		}
		if n > 0 && r.caps&capDeprecateEOF == 0 {
			r.wantEOF()
		}
	}
	return id
}

func execute(id uint32, flags int, rest ...any) []byte {
	return append(join(comStmtExecute, id, flags, uint32(1)), join(rest...)...)
}

func TestTypesAreRememberedWhenTheyAreNotSent(t *testing.T) {
	s := start(t, nil)
	r := login(t, s, 0)
	id := r.prepare("ok ? ?", 2)
	r.command(execute(id, 0, 0, 0))
	r.wantErr(1835, "HY000")
	r.command(execute(id, 0, 0, 1, TypeTiny, 0x80, TypeTiny, 0, 0xff, 0xff))
	r.wantOK()
	if a := s.fake.lastArgs(); a[0].V != uint64(255) || a[1].V != int64(-1) {
		t.Errorf("%v", a)
	}
	r.command(execute(id, 0, 2, 0, 0xfe))
	r.wantOK()
	if a := s.fake.lastArgs(); a[0].V != uint64(254) || a[1].V != nil {
		t.Errorf("%v", a)
	}
	// A block that cannot be read leaves the types as they were.
	r.command(execute(id, 0, 0, 1, TypeLonglong, 0, TypeLonglong, 0, 1))
	r.wantErr(1835, "HY000")
	r.command(execute(id, 0, 0, 0, 7, 8))
	r.wantOK()
	if a := s.fake.lastArgs(); a[0].V != uint64(7) || a[1].V != int64(8) {
		t.Errorf("%v", a)
	}
}

func TestLongData(t *testing.T) {
	s := start(t, func(c *Config) { c.MaxPacket = 1 << 20 })
	r := login(t, s, 0)
	id := r.prepare("ok ? ?", 2)
	r.command(comStmtLongData, id, uint16(1), "abc")
	r.command(comStmtLongData, id, uint16(1), "\x00def")
	bound := join(0, 1, TypeTiny, 0, TypeBlob, 0, 5)
	r.command(execute(id, 0, bound))
	r.wantOK()
	if a := s.fake.lastArgs(); a[0].V != int64(5) || !bytes.Equal(a[1].V.([]byte), []byte("abc\x00def")) {
		t.Errorf("%v", a)
	}
	// Used up; an empty part is a value too.
	r.command(comStmtLongData, id, uint16(1))
	r.command(execute(id, 0, bound))
	r.wantOK()
	if a := s.fake.lastArgs(); len(a[1].V.([]byte)) != 0 {
		t.Errorf("%v", a)
	}
	// Too much is an error of the execution, after which the statement is as new.
	part := make([]byte, 1<<20-100)
	r.command(comStmtLongData, id, uint16(0), part)
	r.command(comStmtLongData, id, uint16(1), part)
	r.command(execute(id, 0, bound))
	r.wantErr(1153, "08S01")
	r.command(comStmtLongData, id, uint16(2), "no such parameter")
	r.command(execute(id, 0, bound))
	r.wantErr(1210, "HY000")
	r.command(comStmtLongData, id, uint16(1), "dropped by reset")
	r.command(comStmtReset, id)
	r.wantOK()
	r.command(execute(id, 0, join(2, 1, TypeTiny, 0, TypeBlob, 0, 5)))
	r.wantOK()
	if a := s.fake.lastArgs(); a[1].V != nil {
		t.Errorf("%v", a)
	}
	r.command(comStmtReset, uint32(77))
	r.wantErr(1243, "HY000")
}

func TestPreparedStatementsAreBoundedAndFreed(t *testing.T) {
	s := start(t, func(c *Config) { c.MaxStatements = 2 })
	open := func() int {
		s.fake.mu.Lock()
		defer s.fake.mu.Unlock()
		return s.fake.stmts
	}
	r := login(t, s, 0)
	first := r.prepare("ok", 0)
	r.prepare("ok", 0)
	r.command(comStmtPrepare, "ok")
	r.wantErr(1461, "42000")
	r.command(comStmtClose, first)
	r.ping()
	r.prepare("ok", 0)
	if n := open(); n != 2 {
		t.Errorf("%d statements open", n)
	}
	r.command(comStmtPrepare, "bad")
	r.wantErr(1461, "42000")
	r.command(comResetConnection)
	r.wantOK()
	if n := open(); n != 0 {
		t.Errorf("%d statements open after reset", n)
	}
	r.command(comStmtPrepare, "bad")
	r.wantErr(1064, "42000")
	r.command(execute(first, 0))
	r.wantErr(1243, "HY000")
	r.prepare("ok", 0)
	r.command(comQuit)
	r.wantEnd()
	eventually(t, "statements freed", func() bool { return open() == 0 })
}

func TestEmptyResultOfPreparedStatement(t *testing.T) {
	s := start(t, nil)
	for _, caps := range []uint32{0, capDeprecateEOF} {
		r := login(t, s, caps)
		id := r.prepare("rows 0", 0)
		const cursorReadOnly = 1
		for _, flags := range []int{0, cursorReadOnly} {
			r.command(execute(id, flags))
			r.columns(2)
			r.rows(0)
		}
		r.command(comStmtFetch, id, uint32(1))
		r.wantErr(1235, "42000")
		r.ping()
	}
}

func TestAttributesOfStatements(t *testing.T) {
	s := start(t, nil)
	last := func() []Attribute {
		s.fake.mu.Lock()
		defer s.fake.mu.Unlock()
		return s.fake.attrs[len(s.fake.attrs)-1]
	}
	r := login(t, s, capQueryAttributes)
	r.command(comQuery, 0, 1, "ok none")
	r.wantOK()
	if s.fake.queries[0] != "ok none" || len(last()) != 0 {
		t.Errorf("%q %v", s.fake.queries, last())
	}
	r.command(comQuery, 2, 1, 0, 1, TypeString, 0, 2, "k1", TypeLong, 0, 2, "k2", 1, "v", uint32(42), "ok some")
	r.wantOK()
	if a := last(); s.fake.queries[1] != "ok some" || len(a) != 2 || a[0].Name != "k1" || a[0].V != "v" || a[1].V != int64(42) {
		t.Errorf("%q %v", s.fake.queries, a)
	}
	id := r.prepare("ok ?", 1)
	// The parameter comes first, without a name; the attribute follows.
	r.command(execute(id, attributeCount, 2, 0, 1, TypeTiny, 0, 0, TypeString, 0, 1, "n", 9, 1, "w"))
	r.wantOK()
	if a := last(); len(a) != 1 || a[0].Name != "n" || a[0].V != "w" || s.fake.lastArgs()[0].V != int64(9) {
		t.Errorf("%v %v", a, s.fake.lastArgs())
	}
	r.command(execute(id, 0, 0, 1, TypeTiny, 0, 9))
	r.wantOK()
	for _, bad := range [][]byte{join(0), join(0xfe, "\xff\xff\xff\xff\xff\xff\xff\xff"), join(0xfd, 0, 0, 1)} {
		r.command(execute(id, attributeCount, bad))
		r.wantErr(1835, "HY000")
		r.command(comQuery, bad, 1, "ok")
		if b := r.read(); bad[0] != 0 && b[0] != headerErr {
			t.Errorf("%q", b)
		}
	}
}
