package sqltable

import (
	"testing"
	"time"

	"github.com/cockroachdb/apd/v3"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/column"
	"millrace/streaming/store"
)

func TestRowsBecomeColumns(t *testing.T) {
	ctx := sql.NewEmptyContext()
	decimal := types.MustCreateColumnDecimalType(10, 3)
	schema := sql.Schema{
		{Name: "i", Type: types.Int32, Nullable: true}, {Name: "u", Type: types.Uint64, Nullable: true}, {Name: "f", Type: types.Float32, Nullable: true}, {Name: "d", Type: decimal, Nullable: true},
		{Name: "s", Type: types.LongText, Nullable: true}, {Name: "b", Type: types.LongBlob, Nullable: true}, {Name: "day", Type: types.Date, Nullable: true},
		{Name: "at", Type: types.DatetimeMaxPrecision, Nullable: true}, {Name: "tm", Type: types.Time, Nullable: true}, {Name: "j", Type: types.JSON, Nullable: true}, {Name: "ok", Type: types.Boolean, Nullable: true},
	}
	fields, err := FieldsOf(schema)
	if err != nil {
		t.Fatal(err)
	}
	a := NewAppender(ctx, schema, fields)
	var b column.Batch
	b.Reset(fields)
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	if err := a.Append(&b, sql.Row{int32(-5), uint64(1 << 63), float32(1.5), apd.New(15, -1), "a\x00b", []byte{0xff}, at, at, types.Timespan(7), types.MustJSON(`{"a": 1}`), true}); err != nil {
		t.Fatal(err)
	}
	if err := a.Append(&b, make(sql.Row, len(schema))); err != nil {
		t.Fatal(err)
	}
	if err := a.Append(&b, sql.Row{int32(1), uint64(1), float32(1), "not a decimal", "", nil, nil, nil, nil, nil, nil}); err == nil || b.N != 2 {
		t.Errorf("%d rows, %v", b.N, err)
	}
	for i, want := range []store.Value{
		store.Int(-5), store.Int(-1 << 63), store.Float(1.5), store.Text("1.500"), store.Text("a\x00b"), store.Text("\xff"), store.Int(20455), store.Int(at.UnixMicro()), store.Int(7), store.Text(`{"a":1}`), store.Int(1),
	} {
		if got := store.At(&b.Cols[i], 0); got.String() != want.String() && !(schema[i].Name == "j" && got.Bytes() == `{"a": 1}`) {
			t.Errorf("%s is %v, want %v", schema[i].Name, got, want)
		}
		if !b.Cols[i].IsNull(1) || b.Cols[i].Len() != 2 {
			t.Errorf("%s: the second of %d rows is not NULL", schema[i].Name, b.Cols[i].Len())
		}
	}
}

func TestTypesThatTablesCannotHoldAreNamed(t *testing.T) {
	if _, err := FieldOf("p", types.PointType{}, true); err == nil {
		t.Error("a point is taken")
	}
}

func TestArrangeFillsColumnsThatWereAdded(t *testing.T) {
	fields := []column.Field{{Name: "b", Type: column.Type{Kind: column.Text}}, {Name: "a", Type: column.Type{Kind: column.Int64}}}
	var b column.Batch
	b.Reset(fields)
	b.Cols[0].AppendBytes([]byte("x"))
	b.Cols[1].AppendInt(7)
	b.N = 1
	schema := &store.Schema{Columns: []store.Column{{Field: fields[1]}, {Field: column.Field{Name: "new", Type: column.Type{Kind: column.Int64}}, Default: store.Int(9)}, {Field: fields[0]}}}
	out, err := Arrange(&b, fields, schema)
	if err != nil || out.Cols[0].Int[0] != 7 || out.Cols[1].Int[0] != 9 || string(out.Cols[2].View(0)) != "x" {
		t.Errorf("%+v, %v", out, err)
	}
	if _, err := Arrange(&b, fields, &store.Schema{Columns: schema.Columns[:1]}); err == nil {
		t.Error("a column that was dropped is written")
	}
}
