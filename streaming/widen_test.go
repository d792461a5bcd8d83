package streaming

import (
	"testing"

	"millrace/internal/column"
)

func TestWidens(t *testing.T) {
	kinds := func(k column.Kind, numbers ...uint8) column.Type {
		of := column.Type{Kind: k}
		switch len(numbers) {
		case 1:
			of.Scale = numbers[0]
		case 2:
			of.Precision, of.Scale = numbers[0], numbers[1]
		}
		return of
	}
	is := func(sql string, of column.Type) Column { return Column{Field: column.Field{Type: of}, SQL: sql} }
	small, integer, big := kinds(column.Int32), kinds(column.Int32), kinds(column.Int64)
	text, bytes, double := kinds(column.Text), kinds(column.Bytes), kinds(column.Float64)
	for _, c := range []struct {
		from, to Column
		widens   bool
	}{
		{is("int", integer), is("bigint", big), true},
		{is("bigint", big), is("int", integer), false},
		{is("tinyint", small), is("smallint", small), true},
		{is("tinyint", small), is("smallint unsigned", small), false},
		{is("tinyint unsigned", small), is("tinyint", small), false},
		{is("int unsigned", big), is("bigint", big), true},
		{is("bigint unsigned", kinds(column.Uint64)), is("bigint", big), false},
		{is("bigint unsigned", kinds(column.Uint64)), is("decimal(20,0)", kinds(column.Decimal, 20, 0)), true},
		{is("tinyint(1)", small), is("int", integer), true},
		{is("tinyint", small), is("tinyint(1)", small), false},
		{is("int", integer), is("decimal(12,2)", kinds(column.Decimal, 12, 2)), true},
		{is("int", integer), is("decimal(11,2)", kinds(column.Decimal, 11, 2)), false},
		{is("int", integer), is("double", double), true},
		{is("bigint", big), is("double", double), false},
		{is("int", integer), is("float", double), false},
		{is("smallint", small), is("float", double), true},
		{is("int", integer), is("longtext", text), false},
		{is("float", double), is("double", double), true},
		{is("double", double), is("float", double), false},
		{is("decimal(10,2)", kinds(column.Decimal, 10, 2)), is("decimal(12,4)", kinds(column.Decimal, 12, 4)), true},
		{is("decimal(10,2)", kinds(column.Decimal, 10, 2)), is("decimal(11,4)", kinds(column.Decimal, 11, 4)), false},
		{is("decimal(10,2)", kinds(column.Decimal, 10, 2)), is("decimal(12,1)", kinds(column.Decimal, 12, 1)), false},
		{is("datetime(3)", kinds(column.Timestamp, 3)), is("datetime(6)", kinds(column.Timestamp, 6)), true},
		{is("datetime(6)", kinds(column.Timestamp, 6)), is("datetime(3)", kinds(column.Timestamp, 3)), false},
		{is("date", kinds(column.Date)), is("datetime(6)", kinds(column.Timestamp, 6)), false},
		{is("varchar(249)", text), is("longtext", text), true},
		{is("longtext", text), is("varchar(249)", text), false},
		{is("varchar(20)", text), is("varchar(30)", text), true},
		{is("char(20)", text), is("varchar(20)", text), true},
		{is("varchar(30)", text), is("varchar(20)", text), false},
		{is("varchar(30)", text), is("text", text), false},
		{is("varchar(30) COLLATE utf8mb4_general_ci", text), is("longtext", text), false},
		{is("varbinary(30)", bytes), is("longblob", bytes), true},
		{is("longblob", bytes), is("longtext", text), false},
		{is("json", kinds(column.JSON)), is("longtext", text), false},
		{is("json", kinds(column.JSON)), is("json", kinds(column.JSON)), true},
	} {
		if got := Widens(c.to, c.from); got != c.widens {
			t.Errorf("%s declared %s: %t", c.from.SQL, c.to.SQL, got)
		}
	}
}
