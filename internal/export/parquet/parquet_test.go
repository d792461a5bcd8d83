package parquet

import (
	"bytes"
	"fmt"
	"io"
	"math/big"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"millrace/internal/column"
)

// Columns whose dictionary grows too large, and more rows than a row group takes, come back as they were.
func TestLargeFilesHaveSeveralRowGroups(t *testing.T) {
	fields := []column.Field{
		{Name: "z", Type: column.Type{Kind: column.Int64}}, {Name: "distinct", Type: column.Type{Kind: column.Text}}, {Name: "alike", Type: column.Type{Kind: column.Text}},
		{Name: "a", Type: column.Type{Kind: column.Decimal, Precision: 30, Scale: 4}},
	}
	long := strings.Repeat("x", 900)
	distinct := func(i int) string { return fmt.Sprintf("%d %s", i, long) }
	var out bytes.Buffer
	w, err := New(&out, fields, "zstd", "test")
	if err != nil {
		t.Fatal(err)
	}
	const n = 50_000
	var b column.Batch
	for i := 0; i < n; i += 5000 {
		b.Reset(fields)
		for k := i; k < i+5000; k++ {
			b.Cols[0].AppendInt(int64(k))
			b.Cols[1].AppendBytes([]byte(distinct(k)))
			if k%3 == 0 {
				b.Cols[2].AppendNull()
			} else {
				b.Cols[2].AppendBytes(fmt.Appendf(nil, "word %d", k%7))
			}
			b.Cols[3].AppendBytes(fmt.Appendf(nil, "-%d.5", k))
			b.N++
		}
		if err := w.Write(&b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := parquet.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if groups := len(file.RowGroups()); groups < 2 || groups > 3 {
		t.Errorf("%d row groups", groups)
	}
	for i, f := range file.Schema().Fields() {
		if f.Name() != fields[i].Name {
			t.Errorf("column %d is %s", i, f.Name())
		}
	}
	next := 0
	for _, group := range file.RowGroups() {
		rows, buffer := group.Rows(), make([]parquet.Row, 100)
		for {
			count, err := rows.ReadRows(buffer)
			for _, r := range buffer[:count] {
				dec := new(big.Int).SetBytes(r[3].Bytes())
				dec.Sub(dec, new(big.Int).Lsh(big.NewInt(1), uint(8*len(r[3].Bytes()))))
				switch {
				case r[0].Int64() != int64(next), string(r[1].Bytes()) != distinct(next), r[2].IsNull() != (next%3 == 0), next%3 != 0 && string(r[2].Bytes()) != fmt.Sprint("word ", next%7),
					dec.Int64() != int64(-next)*10_000-5000:
					t.Fatalf("row %d is %v", next, r)
				}
				next++
			}
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if next != n {
		t.Errorf("%d rows", next)
	}
}

func TestDecimals(t *testing.T) {
	for _, c := range []struct {
		text             string
		precision, scale uint8
		want             string // the unscaled integer, empty for an error
	}{
		{"0", 1, 0, "0"}, {"-1", 1, 0, "-1"}, {"0.05", 3, 2, "5"}, {"12.5", 9, 2, "1250"}, {"-99999.99", 7, 2, "-9999999"}, {"1.500", 4, 1, "15"}, {"0.00", 2, 2, "0"}, {"0", 18, 18, "0"},
		{"999999999999999999", 18, 0, "999999999999999999"}, {"-0.000000000000000001", 18, 18, "-1"}, {"1", 18, 18, ""},
		{"100", 2, 0, ""}, {"1.55", 3, 1, ""}, {"1e5", 9, 0, ""}, {"10", 3, 2, ""},
		{"9999999999999999999", 19, 0, "9999999999999999999"}, {"-170141183460469231731687303715884105728", 39, 0, "-170141183460469231731687303715884105728"},
		{"-0.5", 30, 1, "-5"}, {strings.Repeat("9", 65), 65, 0, strings.Repeat("9", 65)},
	} {
		_, value := decimalOf(column.Field{Name: "d", Type: column.Type{Kind: column.Decimal, Precision: c.precision, Scale: c.scale}})
		var v column.Vector
		v.Reset(column.Type{Kind: column.Decimal})
		v.AppendBytes([]byte(c.text))
		got := ""
		if x, err := value(&v, 0); err == nil {
			switch x.Kind() {
			case parquet.Int32, parquet.Int64:
				got = fmt.Sprint(x.Int64())
			default:
				n := new(big.Int).SetBytes(x.Bytes())
				if x.Bytes()[0] >= 0x80 {
					n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(x.Bytes()))))
				}
				got = n.String()
			}
		}
		if got != c.want {
			t.Errorf("%s as DECIMAL(%d,%d) is %q, want %q", c.text, c.precision, c.scale, got, c.want)
		}
	}
}
