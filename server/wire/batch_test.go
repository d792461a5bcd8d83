package wire

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"millrace/internal/column"
	"millrace/internal/sqlerr"
)

// sink is a connection without a client: what is written is kept or thrown away.
type sink struct {
	net.Conn
	out io.Writer
}

func (s sink) Write(b []byte) (int, error)    { return s.out.Write(b) }
func (sink) SetWriteDeadline(time.Time) error { return nil }
func (sink) Close() error                     { return nil }
func (sink) Read([]byte) (int, error)         { return 0, io.EOF }
func (sink) SetReadDeadline(time.Time) error  { return nil }
func (sink) SetDeadline(time.Time) error      { return nil }
func (sink) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
func quietServer() *Server                    { return NewServer(Config{MaxPacket: 1 << 20}) }
func sinkConnection(out io.Writer) *connection {
	c := newConnection(quietServer(), sink{out: out}, 1)
	c.capabilities = offered
	c.session = &fake{server: newFakeServer()}
	return c
}

// everyKind has a column of each kind, with NULLs in the odd rows of every other one.
func everyKind(n int) ([]column.Field, *column.Batch) {
	fields := []column.Field{
		{Name: "bool", Type: column.Type{Kind: column.Bool}},
		{Name: "int32", Type: column.Type{Kind: column.Int32}, Nullable: true},
		{Name: "int64", Type: column.Type{Kind: column.Int64}},
		{Name: "uint64", Type: column.Type{Kind: column.Uint64}, Nullable: true},
		{Name: "float64", Type: column.Type{Kind: column.Float64}},
		{Name: "decimal", Type: column.Type{Kind: column.Decimal, Precision: 20, Scale: 2}, Nullable: true},
		{Name: "bytes", Type: column.Type{Kind: column.Bytes}},
		{Name: "text", Type: column.Type{Kind: column.Text}, Nullable: true},
		{Name: "json", Type: column.Type{Kind: column.JSON}},
		{Name: "date", Type: column.Type{Kind: column.Date}, Nullable: true},
		{Name: "time", Type: column.Type{Kind: column.Time, Scale: 6}},
		{Name: "timestamp", Type: column.Type{Kind: column.Timestamp, Scale: 3}, Nullable: true},
	}
	b := &column.Batch{}
	b.Reset(fields)
	for i := range n {
		x := int64(i)
		for c := range b.Cols {
			v := &b.Cols[c]
			if fields[c].Nullable && i%2 == 1 {
				v.AppendNull()
				continue
			}
			switch v.Type.Kind {
			case column.Bool:
				v.AppendInt(x % 2)
			case column.Int32:
				v.AppendInt(math.MinInt32 + x)
			case column.Int64:
				v.AppendInt(math.MinInt64 + x)
			case column.Uint64:
				v.AppendInt(-1 - x)
			case column.Float64:
				v.AppendFloat(float64(x) * 1e15 / 3)
			case column.Decimal:
				v.AppendBytes(fmt.Appendf(nil, "-%d.50", x))
			case column.Bytes:
				v.AppendBytes([]byte{0, 0xff, byte(i)})
			case column.Text:
				v.AppendBytes([]byte(strings.Repeat("ä", i)))
			case column.JSON:
				v.AppendBytes(fmt.Appendf(nil, `{"n":%d.0}`, x))
			case column.Date:
				v.AppendInt(x*1000 - 500)
			case column.Time:
				v.AppendInt(x*3_600_000_001 - 1)
			case column.Timestamp:
				v.AppendInt(x*microsPerDay + 1_234_567)
			}
		}
	}
	b.N = n
	return fields, b
}

// The driver reads back what the batch holds, NULLs and filtered rows included, in both protocols alike.
func TestBatchesReachADriver(t *testing.T) {
	fields, b := everyKind(4)
	b.Sel = []int32{0, 1, 3}
	s := start(t, func(c *Config) {
		c.Open = func(*Conn) (Session, error) {
			return &batchSession{fake: fake{server: newFakeServer()}, fields: fields, batch: b}, nil
		}
	})
	db := dial(t, s, nil)
	want := []string{
		"0,-2147483648,-9223372036854775808,18446744073709551615,0,-0.50,\x00\xff\x00,,{\"n\":0.0},1968-08-19,-00:00:00.000001,1970-01-01 00:00:01.234",
		"1,NULL,-9223372036854775807,NULL,3.333333333333333e+14,NULL,\x00\xff\x01,NULL,{\"n\":1.0},NULL,01:00:00.000000,NULL",
		"1,NULL,-9223372036854775805,NULL,1e+15,NULL,\x00\xff\x03,NULL,{\"n\":3.0},NULL,03:00:00.000002,NULL",
	}
	got, err := query(db, "x")
	if err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("text: %v\n%q\nwant\n%q", err, got, want)
	}
	got, err = query(db, "x ?", 1)
	if err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("binary: %v\n%q\nwant\n%q", err, got, want)
	}
}

// batchSession answers everything with one batch.
type batchSession struct {
	fake
	fields  []column.Field
	batch   *column.Batch
	columns []int
}

func (s *batchSession) Query(_ context.Context, _ string, r *Results) error { return s.send(r) }

func (s *batchSession) Execute(_ context.Context, _ *Stmt, _ []Param, r *Results) error {
	return s.send(r)
}

func (s *batchSession) send(r *Results) error {
	if err := r.Columns(definitions(s.fields)); err != nil {
		return err
	}
	if err := r.Batch(s.batch, s.columns...); err != nil {
		return err
	}
	return r.EndRows()
}

// TestBatchesEqualRows writes the same rows both ways, byte for byte.
func TestBatchesEqualRows(t *testing.T) {
	fields, b := everyKind(200)
	for _, binary := range []bool{false, true} {
		var byBatch, byRow bytes.Buffer
		for out, send := range map[*bytes.Buffer]func(*Results) error{
			&byBatch: func(r *Results) error { return r.Batch(b) },
			&byRow: func(r *Results) error {
				for i := range b.N {
					if err := r.Row(func(out []byte) ([]byte, error) { return plainRow(out, fields, b, i, r.Binary()), nil }); err != nil {
						return err
					}
				}
				return nil
			},
		} {
			c := sinkConnection(out)
			r := &Results{c: c, binary: binary}
			if err := r.Columns(definitions(fields)); err != nil {
				t.Fatal(err)
			}
			if err := send(r); err != nil {
				t.Fatal(err)
			}
			if err := r.EndRows(); err != nil {
				t.Fatal(err)
			}
			if err := c.w.flush(); err != nil || r.RowCount() != 200 {
				t.Fatal(r.RowCount(), err)
			}
			c.w.close()
		}
		if !bytes.Equal(byBatch.Bytes(), byRow.Bytes()) {
			t.Errorf("binary %v: %d bytes by batch, %d by row", binary, byBatch.Len(), byRow.Len())
		}
	}
}

// plainRow is the row path as a session would write it, value by value.
func plainRow(b []byte, fields []column.Field, batch *column.Batch, i int, binary bool) []byte {
	start := len(b)
	if binary {
		b = BinaryRow(b, len(fields))
	}
	for c, f := range fields {
		v := &batch.Cols[c]
		switch {
		case v.IsNull(i) && binary:
			BinaryNull(b, start, c)
		case v.IsNull(i):
			b = Null(b)
		case f.Type.Kind.IsView():
			b = Text(b, v.View(i))
		case f.Type.Kind == column.Float64 && binary:
			b = DoubleBinary(b, v.Float[i])
		case f.Type.Kind == column.Float64:
			b = Float(b, v.Float[i], 64)
		case f.Type.Kind == column.Date && binary:
			b = DateBinary(b, v.Int[i])
		case f.Type.Kind == column.Date:
			b = DateText(b, v.Int[i])
		case f.Type.Kind == column.Time && binary:
			b = TimeBinary(b, v.Int[i])
		case f.Type.Kind == column.Time:
			b = TimeText(b, v.Int[i], int(f.Type.Scale))
		case f.Type.Kind == column.Timestamp && binary:
			b = DatetimeBinary(b, v.Int[i])
		case f.Type.Kind == column.Timestamp:
			b = DatetimeText(b, v.Int[i], int(f.Type.Scale))
		case binary:
			width := 8
			if f.Type.Kind == column.Bool {
				width = 1
			} else if f.Type.Kind == column.Int32 {
				width = 4
			}
			b = IntBinary(b, v.Int[i], width)
		case f.Type.Kind == column.Uint64:
			b = Uint(b, uint64(v.Int[i]))
		default:
			b = Int(b, v.Int[i])
		}
	}
	return b
}

func TestBatchColumnsMayBeChosen(t *testing.T) {
	fields, b := everyKind(3)
	s := start(t, func(c *Config) {
		c.Open = func(*Conn) (Session, error) {
			return &batchSession{fake: fake{server: newFakeServer()}, fields: []column.Field{fields[8], fields[0], fields[8]}, batch: b, columns: []int{8, 0, 8}}, nil
		}
	})
	got, err := query(dial(t, s, nil), "x")
	if err != nil || len(got) != 3 || got[1] != `{"n":1.0},1,{"n":1.0}` {
		t.Error(got, err)
	}
}

// Values go out in the form of the definition, where that is possible without loss.
func TestBatchesFollowTheDefinitions(t *testing.T) {
	fields, b := everyKind(1)
	at := map[column.Kind]int{}
	for i, f := range fields {
		at[f.Type.Kind] = i
	}
	for _, c := range []struct {
		kind      column.Kind
		defined   byte
		text, bin string // hexadecimal; empty: refused
	}{
		{column.Bool, TypeTiny, "0130", "0000 00"},
		{column.Bool, TypeLonglong, "0130", "0000 0000000000000000"},
		{column.Bool, TypeShort, "0130", "0000 0000"},
		{column.Int32, TypeLong, "0b2d32313437343833363438", "0000 00000080"},
		{column.Int32, TypeLonglong, "0b2d32313437343833363438", "0000 00000080ffffffff"},
		{column.Int32, TypeShort, "", ""},
		{column.Int64, TypeLong, "", ""},
		{column.Int64, TypeNewDecimal, "142d39323233333732303336383534373735383038", "0000 142d39323233333732303336383534373735383038"},
		{column.Uint64, TypeNewDecimal, "143138343436373434303733373039353531363135", "0000 143138343436373434303733373039353531363135"},
		{column.Int64, TypeDouble, "", ""},
		{column.Float64, TypeFloat, "0130", "0000 00000000"},
		{column.Float64, TypeLonglong, "", ""},
		{column.Decimal, TypeNewDecimal, "052d302e3530", "0000 052d302e3530"},
		{column.Decimal, TypeDouble, "", ""},
		{column.Date, TypeDatetime, "13313936382d30382d31392030303a30303a3030", "0000 04b0070813"},
		{column.Date, TypeTime, "", ""},
		{column.Timestamp, TypeDate, "", ""},
		{column.Time, TypeTime, "092d30303a30303a3030", "0000 0c010000000000000001000000"},
		{column.Text, TypeVarString, "00", "0000 00"},
		{column.Text, TypeLong, "", ""},
	} {
		for _, binary := range []bool{false, true} {
			want := c.text
			if binary {
				want = strings.ReplaceAll(c.bin, " ", "")
			}
			conn := sinkConnection(io.Discard)
			r := &Results{c: conn, binary: binary, state: inRows, cols: []Column{{Name: "c", Type: c.defined}}}
			if err := r.bind(b, []int{at[c.kind]}); err != nil {
				if want != "" || !strings.Contains(err.Error(), "column 'c'") {
					t.Errorf("%v as type %d: %v", c.kind, c.defined, err)
				}
			} else if got := fmt.Sprintf("%x", map[bool]func([]byte, []batchColumn, int) []byte{false: appendTextRow, true: appendBinaryRow}[binary](nil, r.plan, 0)); got != want {
				t.Errorf("%v as type %d, binary %v: %s, want %s", c.kind, c.defined, binary, got, want)
			}
			conn.w.close()
		}
	}
}

func TestResultsRefuseTheWrongOrder(t *testing.T) {
	c := sinkConnection(io.Discard)
	defer c.w.close()
	r := &Results{c: c}
	row := func(b []byte) ([]byte, error) { return Int(b, 1), nil }
	for name, err := range map[string]error{
		"Row": r.Row(row), "Batch": r.Batch(&column.Batch{}), "EndRows": r.EndRows(), "no columns": r.Columns(nil),
	} {
		if err == nil {
			t.Errorf("%s before Columns", name)
		}
	}
	if err := r.Columns(definitions(fakeFields)); err != nil {
		t.Fatal(err)
	}
	if r.Columns(definitions(fakeFields)) == nil || r.OK(0, 0, "") == nil || r.Batch(&column.Batch{}) == nil {
		t.Error("second answer inside of a result set")
	}
	// A row that fails leaves nothing behind.
	before := len(c.w.buf)
	cause := sqlerr.New(sqlerr.BadValue, "no")
	if err := r.Row(func(b []byte) ([]byte, error) { return append(b, "half a row"...), cause }); err != cause || len(c.w.buf) != before {
		t.Errorf("%v, %d bytes left", err, len(c.w.buf)-before)
	}
	if err := r.EndRows(); err != nil {
		t.Fatal(err)
	}
	if r.OK(0, 0, "") == nil || r.EndRows() == nil {
		t.Error("answer after the answer")
	}
}

// --- benchmarks: seven columns of about 250 bytes a row, as in the measurements that the design rests on

func benchBatch() ([]column.Field, *column.Batch) {
	fields := []column.Field{
		{Name: "partition", Type: column.Type{Kind: column.Int32}},
		{Name: "offset", Type: column.Type{Kind: column.Int64}},
		{Name: "timestamp", Type: column.Type{Kind: column.Timestamp, Scale: 6}},
		{Name: "key", Type: column.Type{Kind: column.Bytes}, Nullable: true},
		{Name: "value", Type: column.Type{Kind: column.Bytes}},
		{Name: "amount", Type: column.Type{Kind: column.Float64}},
		{Name: "topic", Type: column.Type{Kind: column.Text}},
	}
	b := &column.Batch{}
	b.Reset(fields)
	value := []byte(strings.Repeat("v", 150))
	for b.N = 0; b.N < 1024; b.N++ {
		i := int64(b.N)
		b.Cols[0].AppendInt(i % 12)
		b.Cols[1].AppendInt(1_000_000_000 + i)
		b.Cols[2].AppendInt(1_700_000_000_000_000 + i*1_234_567)
		if i%8 == 0 {
			b.Cols[3].AppendNull()
		} else {
			b.Cols[3].AppendBytes(fmt.Appendf(nil, "customer-%08d", i))
		}
		b.Cols[4].AppendBytes(value)
		b.Cols[5].AppendFloat(float64(i) + 0.25)
		b.Cols[6].AppendBytes([]byte("orders"))
	}
	return fields, b
}

func benchResults(b *testing.B, send func(*Results, *column.Batch, []column.Field) error) {
	for _, binary := range []bool{false, true} {
		b.Run(map[bool]string{false: "text", true: "binary"}[binary], func(b *testing.B) {
			fields, batch := benchBatch()
			c := sinkConnection(io.Discard)
			defer c.w.close()
			r := &Results{c: c, binary: binary}
			if err := r.Columns(definitions(fields)); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := send(r, batch, fields); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(batch.N), "ns/row")
		})
	}
}

func BenchmarkBatch(b *testing.B) {
	benchResults(b, func(r *Results, batch *column.Batch, _ []column.Field) error { return r.Batch(batch) })
}

func BenchmarkRow(b *testing.B) {
	benchResults(b, func(r *Results, batch *column.Batch, fields []column.Field) error {
		for i := range batch.N {
			if err := r.Row(func(out []byte) ([]byte, error) { return plainRow(out, fields, batch, i, r.binary), nil }); err != nil {
				return err
			}
		}
		return nil
	})
}
