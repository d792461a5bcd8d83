package wire

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestPipelinedCommandsAreAnsweredInOrder(t *testing.T) {
	s := start(t, nil)
	r := login(t, s, 0)
	var b []byte
	for i := range 50 {
		b = append(b, frame(0, join(comQuery, fmt.Sprintf("rows %d", i%3)))...)
		b = append(b, frame(0, join(comPing))...)
	}
	if _, err := r.nc.Write(b); err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		r.seq = 1
		r.columns(2)
		r.rows(i % 3)
		r.seq = 1
		r.wantOK()
	}
}

func TestEndOfRowsAsOK(t *testing.T) {
	s := start(t, nil)
	s.fake.warnings = 3
	r := login(t, s, capDeprecateEOF|capSessionTrack)
	r.command(comQuery, "rows 2")
	r.columns(2)
	if end := r.rows(2); end.warnings != 3 || end.status != StatusAutocommit || len(end.rest) != 0 {
		t.Errorf("end %+v", end)
	}
	r.ping()
}

func TestWarningsAreInBothEOFs(t *testing.T) {
	s := start(t, nil)
	s.fake.warnings = 3
	r := login(t, s, 0)
	r.command(comQuery, "rows 0")
	r.read()
	r.read()
	r.read()
	for range 2 {
		if e := r.wantEOF(); e.warnings != 3 || e.status != StatusAutocommit {
			t.Errorf("EOF %+v", e)
		}
	}
}

// A row whose first value has 16 MB or more begins with 0xfe, as an EOF does: clients tell them apart by the length.
func TestRowThatBeginsLikeEOF(t *testing.T) {
	s := start(t, nil)
	for _, caps := range []uint32{0, capDeprecateEOF} {
		r := login(t, s, caps)
		r.command(comQuery, fmt.Sprintf("value %d", 1<<24))
		r.columns(1)
		if row := r.read(); row[0] != 0xfe || len(row) != 9+1<<24 {
			t.Fatalf("row of %d bytes begins with %x", len(row), row[0])
		}
		r.wantEOF()
		r.ping()
	}
}

func TestInfoOnlyWhenThereIsSome(t *testing.T) {
	s := start(t, nil)
	r := login(t, s, 0)
	r.command(comQuery, "ok")
	if ok := r.wantOK(); ok.affected != 3 || ok.insertID != 7 || len(ok.rest) != 0 {
		t.Errorf("%+v", ok)
	}
	r.command(comQuery, "ok some info")
	if ok := r.wantOK(); string(ok.rest) != "some info" {
		t.Errorf("%q", ok.rest)
	}
	r = login(t, s, capSessionTrack)
	r.command(comQuery, "ok some info")
	if ok := r.wantOK(); string(ok.rest) != "\x09some info" {
		t.Errorf("%q", ok.rest)
	}
}

func TestDatabaseIsTracked(t *testing.T) {
	s := start(t, nil)
	r := login(t, s, capSessionTrack|capDeprecateEOF)
	want := "\x00\x06\x01\x04\x03two"
	for _, command := range [][]byte{join(comInitDB, "two"), join(comQuery, "use one"), join(comQuery, "use two")} {
		r.command(command)
		ok := r.wantOK()
		if ok.status&statusStateChanged == 0 {
			t.Errorf("%q: status %x", command, ok.status)
		}
		if strings.HasSuffix(string(command), "two") && string(ok.rest) != want {
			t.Errorf("%q: %q", command, ok.rest)
		}
		r.command(comPing)
		if ok := r.wantOK(); ok.status&statusStateChanged != 0 || len(ok.rest) != 0 {
			t.Errorf("told twice: %+v", ok)
		}
	}
}

func TestCommandsWithoutAnswer(t *testing.T) {
	s := start(t, nil)
	r := login(t, s, 0)
	for _, c := range [][]byte{
		join(comStmtClose, uint32(99)), join(comStmtClose), join(comStmtClose, 1),
		join(comStmtLongData, uint32(99), uint16(0), "x"), join(comStmtLongData, uint32(99)), join(comStmtLongData),
	} {
		r.command(c)
		r.quiet()
	}
}

func TestSmallCommands(t *testing.T) {
	s := start(t, nil)
	r := login(t, s, capMultiStatements)
	r.command(comStatistics)
	if b := r.read(); string(b) != "Uptime: 1" {
		t.Errorf("%q", b)
	}
	r.command(comProcessKill, uint32(4711))
	r.wantOK()
	r.command(comProcessKill, 1)
	r.wantErr(1835, "HY000")
	if fmt.Sprint(s.fake.killed) != "[4711]" {
		t.Error(s.fake.killed)
	}
	r.command(comInitDB, "missing")
	r.wantErr(1049, "42000")
	r.command(comFieldList, "t\x00%")
	for range 2 {
		if b := r.read(); b[len(b)-1] != nullValue || !strings.HasPrefix(string(b), "\x03def") {
			t.Errorf("%q", b)
		}
	}
	r.wantEOF()
	r.command(comFieldList, "missing\x00")
	r.wantErr(1146, "42S02")
	r.command(comSetOption, uint16(1))
	r.wantEOF()
	r.command(comQuery, "ok 1;ok 2")
	if ok := r.wantOK(); string(ok.rest) != "1;ok 2" {
		t.Errorf("%q", ok.rest)
	}
	r.command(comSetOption, uint16(0))
	r.wantEOF()
	r.command(comQuery, "ok 1;ok 2")
	if ok := r.wantOK(); ok.status&statusMoreResults == 0 || string(ok.rest) != "1" {
		t.Errorf("%+v", ok)
	}
	if ok := r.wantOK(); ok.status&statusMoreResults != 0 {
		t.Errorf("%+v", ok)
	}
	r.command(comSetOption, uint16(2))
	r.wantErr(1835, "HY000")
	for _, unknown := range []int{0x00, 0x05, 0x0d, 0x12, 0x1e, 0x20, 0xff} {
		r.command(unknown, "body")
		r.wantErr(1047, "08S01")
	}
	r.ping()
}

func TestPanicsAreAnsweredAndTheConnectionGoesOn(t *testing.T) {
	s := start(t, nil)
	r := login(t, s, 0)
	r.command(comQuery, "panic")
	if text := r.wantErr(1105, "HY000"); !strings.Contains(text, "fake panic") {
		t.Error(text)
	}
	r.command(comStmtPrepare, "panic")
	r.wantErr(1105, "HY000")
	r.ping()
}

func TestSessionsThatAnswerWrongly(t *testing.T) {
	s := start(t, nil)
	r := login(t, s, 0)
	r.command(comQuery, "nothing")
	r.wantErr(1105, "HY000")
	r.command(comQuery, "disorder")
	r.wantErr(1105, "HY000")
	r.command(comQuery, "late error")
	r.wantOK()
	r.ping()
}

func TestPacketOverTheLimitIsAnError(t *testing.T) {
	s := start(t, func(c *Config) { c.MaxPacket = 2 << 20 })
	r := login(t, s, 0)
	r.command(comQuery, "ok "+strings.Repeat("x", 2<<20-10))
	r.wantOK()
	// All of it is sent before the answer is read, as drivers do.
	r.command(comQuery, strings.Repeat("x", 12<<20))
	r.wantErr(1153, "08S01")
	r.wantEnd()
}

func TestEmptyCommandEndsTheConnection(t *testing.T) {
	s := start(t, nil)
	r := login(t, s, 0)
	r.command()
	r.wantErr(1835, "HY000")
	r.wantEnd()
}

func TestQuitDuringAStatement(t *testing.T) {
	s := start(t, nil)
	r := login(t, s, 0)
	r.command(comQuery, "wait")
	<-s.fake.waiting
	r.command(comQuit)
	if cause := <-s.fake.causes; cause != ErrClientGone {
		t.Error(cause)
	}
	go drain(r.nc)
	eventually(t, "session closed", func() bool {
		s.fake.mu.Lock()
		defer s.fake.mu.Unlock()
		return s.fake.closed == 1
	})
}

// Clients that pipeline leave commands behind the running one; that they have left must be seen all the same.
func TestDisconnectBehindPipelinedCommands(t *testing.T) {
	s := start(t, nil)
	r := login(t, s, 0)
	r.command(comQuery, "wait")
	for range aheadPackets - 1 {
		r.command(comQuery, "ok")
	}
	r.columns(2)
	<-s.fake.waiting
	_ = r.nc.Close()
	if cause := <-s.fake.causes; cause != ErrClientGone {
		t.Error(cause)
	}
}

// However much a client sends ahead, it is answered in full and in order, and little of it is held.
func TestPipelinedCommandsBeyondTheReadAhead(t *testing.T) {
	s := start(t, nil)
	r := login(t, s, 0)
	const n = 200
	sent := make(chan error, 1)
	go func() {
		for i := range n {
			text := fmt.Sprintf("ok %d %s", i, strings.Repeat("x", i%3*(aheadBytes/2)))
			if _, err := r.nc.Write(frame(0, join(comQuery, text))); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	for i := range n {
		r.seq = 1
		if ok := r.wantOK(); strings.Fields(string(ok.rest))[0] != fmt.Sprint(i) {
			t.Fatalf("answer %d: %.20q", i, ok.rest)
		}
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

// A statement that changes something is not broken off because its client is gone.
func TestDisconnectLetsStatementsWithoutRowsFinish(t *testing.T) {
	s := start(t, nil)
	r := login(t, s, 0)
	r.command(comQuery, "work")
	<-s.fake.waiting
	_ = r.nc.Close()
	s.fake.release <- struct{}{}
	eventually(t, "connection ended", func() bool { return len(s.Conns()) == 0 })
	select {
	case cause := <-s.fake.causes:
		t.Errorf("cancelled: %v", cause)
	default:
	}
}

func TestColumnDefinitionsComeBeforeTheFirstRow(t *testing.T) {
	s := start(t, nil)
	for _, caps := range []uint32{0, capDeprecateEOF} {
		r := login(t, s, caps)
		r.command(comQuery, "wait")
		r.columns(2)
		<-s.fake.waiting
		_ = r.nc.Close()
		<-s.fake.causes
	}
}

func TestErrorsTooLongAreCut(t *testing.T) {
	s := start(t, func(c *Config) {
		c.Open = func(*Conn) (Session, error) { return nil, errors.New(strings.Repeat("ä", maxErrorText)) }
	})
	r := connect(t, s)
	r.caps = rawCaps
	r.write(r.loginPacket("root", PluginNative, nil, ""))
	text := r.wantErr(1105, "HY000")
	if len(text) > maxErrorText || strings.Trim(text, "ä") != "" {
		t.Errorf("%d bytes", len(text))
	}
}

func TestOKHoldsLargeNumbers(t *testing.T) {
	var b []byte
	for _, n := range []uint64{0, 250, 251, 1<<16 - 1, 1 << 16, 1<<24 - 1, 1 << 24, 1<<64 - 1} {
		b = appendLenenc(b, n)
	}
	k := cursor{b: b}
	for _, n := range []uint64{0, 250, 251, 1<<16 - 1, 1 << 16, 1<<24 - 1, 1 << 24, 1<<64 - 1} {
		if got := k.lenenc(); got != n || k.bad {
			t.Errorf("got %d, want %d", got, n)
		}
	}
	if k.uint(1); !k.bad {
		t.Error("read beyond the end")
	}
}

// One connection, one small statement after the other: what the wire itself adds to each.
func BenchmarkSmallStatements(b *testing.B) {
	for name, command := range map[string][]byte{"ping": join(comPing), "row": join(comQuery, "rows 1")} {
		b.Run(name, func(b *testing.B) {
			s := start(b, nil)
			r := login(b, s, capDeprecateEOF)
			b.ReportAllocs()
			for b.Loop() {
				r.command(command)
				if name == "ping" {
					r.wantOK()
				} else {
					r.columns(2)
					r.rows(1)
				}
			}
		})
	}
}
