package ddl

import (
	"errors"
	"strings"
	"testing"

	"millrace/internal/column"
)

func TestTypes(t *testing.T) {
	for text, want := range map[string]column.Field{
		"BOOLEAN":       {Type: column.Type{Kind: column.Bool}},
		"tinyint":       {Type: column.Type{Kind: column.Int32}, Width: 8},
		"BYTE":          {Type: column.Type{Kind: column.Int32}, Width: 8},
		"SHORT":         {Type: column.Type{Kind: column.Int32}, Width: 16},
		"Integer":       {Type: column.Type{Kind: column.Int32}},
		"LONG":          {Type: column.Type{Kind: column.Int64}},
		"REAL":          {Type: column.Type{Kind: column.Float64}, Width: 32},
		"DOUBLE":        {Type: column.Type{Kind: column.Float64}},
		"DECIMAL":       {Type: column.Type{Kind: column.Decimal, Precision: 10}},
		"dec(5)":        {Type: column.Type{Kind: column.Decimal, Precision: 5}},
		"NUMERIC(38,9)": {Type: column.Type{Kind: column.Decimal, Precision: 38, Scale: 9}},
		"STRING":        {Type: column.Type{Kind: column.Text}},
		"VARCHAR(40)":   {Type: column.Type{Kind: column.Text}, Width: 40},
		"CHARACTER(3)":  {Type: column.Type{Kind: column.Text}, Width: 3, Fixed: true},
		"BINARY":        {Type: column.Type{Kind: column.Bytes}},
		"DATE":          {Type: column.Type{Kind: column.Date}},
		"TIMESTAMP":     {Type: column.Type{Kind: column.Timestamp, Scale: 6}},
		"TIMESTAMP_NTZ": {Type: column.Type{Kind: column.Timestamp, Scale: 6}},
		"VARIANT":       {Type: column.Type{Kind: column.JSON}},
		"ARRAY<INT>":    {Type: column.Type{Kind: column.JSON}},
		"MAP<STRING, ARRAY<STRUCT<a: INT, b: STRING>>>": {Type: column.Type{Kind: column.JSON}},
		"STRUCT<>": {Type: column.Type{Kind: column.JSON}},
	} {
		columns, err := Parse("x " + text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		want.Name, want.Nullable = "x", true
		if got := columns[0].Field(); got != want {
			t.Errorf("%s: got %+v, want %+v", text, got, want)
		}
	}
}

func TestColumns(t *testing.T) {
	for text, want := range map[string]string{
		"id BIGINT, name STRING":                 "id BIGINT, name STRING",
		"id: bigint NOT NULL ,\n name  string":   "id BIGINT NOT NULL, name STRING",
		"`a b``c` INT NULL COMMENT 'it''s'":      "`a b``c` INT COMMENT 'it\\'s'",
		"struct STRUCT<array: ARRAY<INT>>":       "struct STRUCT<array: ARRAY<INT>>",
		"s STRUCT<a INT COMMENT \"x\", b: DATE>": "s STRUCT<a: INT COMMENT 'x', b: DATE>",
		"größe DOUBLE":                           "größe DOUBLE",
	} {
		columns, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := Text(columns); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestErrorsSayWhere(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "at character 1: a column is expected, such as id BIGINT",
		"INT":                    "at character 4: column 'INT' has no type; a schema is a list such as id BIGINT, name STRING",
		"id BIGNIT":              "at character 4: 'BIGNIT' is not a type",
		"id BIGINT, ID STRING":   "at character 12: column 'ID' stands twice",
		"id BIGINT name STRING":  "at character 11: 'name' is not expected here",
		"id BIGINT,":             "at character 11: the name of a column is expected, found the end",
		"a ARRAY<INT":            "at character 12: '>' is expected at the end of ARRAY<…>, found the end",
		"a MAP<STRING>":          "at character 13: ',' is expected between the types",
		"größe DECIMAL(70)":      "at character 15: the precision of a DECIMAL is a number from 1 to 65, found '70'",
		"a DECIMAL(3,5)":         "at character 3: the scale of a DECIMAL is at most its precision",
		"a VARCHAR":              "at character 3: VARCHAR needs a length",
		"a INT NOT x":            "at character 11: NULL is expected behind NOT, found 'x'",
		"a-b INT":                "found character '-' (a name with it stands in backticks)",
		"`a INT":                 "a ` that is not closed",
		"a INT COMMENT x":        "a text in quotes is expected behind COMMENT",
		"a INTERVAL DAY":         "INTERVAL columns are not supported",
		"a STRUCT<b INT, B INT>": "column 'B' stands twice",
		"`` INT":                 "the name of a column is empty",
		`{"type":"object"}`:      "at character 1: the name of a column is expected",
		"a " + strings.Repeat("ARRAY<", 100) + "INT": "types lie in each other deeper than 64",
	} {
		_, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
		var where *Error
		if !errors.As(err, &where) {
			t.Errorf("%s: %T", text, err)
		}
	}
}

func TestTypeAlone(t *testing.T) {
	typ, err := ParseType(" struct<a:int,b:array<decimal(4,2)>> ")
	if err != nil || typ.String() != "STRUCT<a: INT, b: ARRAY<DECIMAL(4,2)>>" {
		t.Errorf("%v, %v", typ, err)
	}
	if _, err := ParseType("INT x"); err == nil {
		t.Error("something behind a type is accepted")
	}
}

// FuzzParse: nothing panics, and what was read is written as a text that gives the same again.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"id BIGINT", "a: STRUCT<b: MAP<STRING, ARRAY<DECIMAL(3,1)>>> NOT NULL COMMENT 'x'", "`a``b` CHAR(3), c VARIANT", "a INT COMMENT 'it''s \\\\'", "a ARRAY<", "x\xff INT"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		columns, err := Parse(text)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Pos < 0 || e.Pos > len(text) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		written := Text(columns)
		again, err := Parse(written)
		if err != nil || Text(again) != written {
			t.Fatalf("%q is written %q, which is read as %q, %v", text, written, Text(again), err)
		}
	})
}
