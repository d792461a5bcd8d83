package dialect

import (
	"fmt"
	"strconv"
	"strings"

	"millrace/internal/sqlerr"
)

// typeNames maps what a user may write to the name that millrace_cast takes. The aliases are Spark's.
var typeNames = map[string]string{
	"STRING": "STRING", "TEXT": "STRING", "VARCHAR": "STRING", "BINARY": "BINARY", "BOOLEAN": "BOOLEAN",
	"TINYINT": "TINYINT", "BYTE": "TINYINT", "SMALLINT": "SMALLINT", "SHORT": "SMALLINT", "INT": "INT", "INTEGER": "INT", "BIGINT": "BIGINT", "LONG": "BIGINT",
	"FLOAT": "FLOAT", "REAL": "FLOAT", "DOUBLE": "DOUBLE", "DECIMAL": "DECIMAL", "DEC": "DECIMAL", "NUMERIC": "DECIMAL",
	"DATE": "DATE", "TIMESTAMP": "TIMESTAMP", "TIMESTAMP_LTZ": "TIMESTAMP", "TIMESTAMP_NTZ": "TIMESTAMP_NTZ",
	"JSON": "JSON", "VARIANT": "JSON",
}

// knownTypes are the names for hints.
var knownTypes = []string{"STRING", "BINARY", "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "DATE", "TIMESTAMP",
	"TIMESTAMP_NTZ", "JSON", "VARIANT"}

// mysqlCasts are the types of MySQL's own CAST(… AS …), which stay with the engine.
var mysqlCasts = map[string]bool{
	"BINARY": true, "CHAR": true, "CHARACTER": true, "NCHAR": true, "DATE": true, "DATETIME": true, "DECIMAL": true, "DOUBLE": true, "FLOAT": true,
	"FLOAT4": true, "FLOAT8": true, "REAL": true, "JSON": true, "SIGNED": true, "UNSIGNED": true, "TIME": true, "YEAR": true, "POINT": true,
	"LINESTRING": true, "POLYGON": true, "MULTIPOINT": true, "MULTILINESTRING": true, "MULTIPOLYGON": true, "GEOMETRYCOLLECTION": true, "GEOMCOLLECTION": true,
}

// mysqlTypes are names of MySQL that have another name here.
var mysqlTypes = map[string]string{
	"CHAR": "STRING", "LONGTEXT": "STRING", "CHARACTER": "STRING", "NCHAR": "STRING", "SIGNED": "BIGINT", "BOOL": "BOOLEAN",
	"MEDIUMINT": "INT", "DATETIME": "TIMESTAMP_NTZ", "BLOB": "BINARY", "LONGBLOB": "BINARY", "VARBINARY": "BINARY", "BYTES": "BINARY", "UNSIGNED": "DECIMAL(20)",
	"JSONB": "JSON", "TIMESTAMPTZ": "TIMESTAMP", "INT8": "BIGINT", "INT4": "INT", "INT2": "SMALLINT", "FLOAT8": "DOUBLE", "FLOAT4": "FLOAT",
}

// Limits of DECIMAL, those of the engine.
const (
	maxPrecision = 65
	maxScale     = 30
	// A DECIMAL without numbers is Spark's.
	defaultPrecision = 10
)

// castType reads the type at token i: its name for millrace_cast, and the token behind it.
func (r *rewriter) castType(i int, after string) (name string, next int, err *sqlerr.Error) {
	t := r.tokens[i]
	if t.kind != tokenWord {
		return "", i, r.errorAt(t.start, "a type is missing after %s", after).WithHint("the types are %s", strings.Join(knownTypes, ", "))
	}
	written := strings.ToUpper(r.text(t))
	name, ok := typeNames[written]
	if !ok {
		return "", i, r.unknownType(t, written)
	}
	next = i + 1
	if written == "VARCHAR" && r.tokens[next].is('(') { // strings have no length here: as in a cast to STRING nothing is cut
		if n, err := strconv.Atoi(r.text(r.tokens[next+1])); err != nil || n < 1 || !r.tokens[next+2].is(')') {
			return "", i, r.errorAt(r.tokens[next].end, "the length of VARCHAR is a number from 1")
		}
		return "", i, NotSupportedAt(r.source, t.start, "lengths of strings are not supported").WithHint("use STRING, and left(x, n) to cut")
	}
	if name != "DECIMAL" {
		if r.tokens[next].is('(') {
			return "", i, r.errorAt(r.tokens[next].start, "type %s takes no length", written)
		}
		return name, next, nil
	}
	precision, scale := defaultPrecision, 0
	if r.tokens[next].is('(') {
		next++
		if precision, err = r.typeNumber(next, "precision", 1, maxPrecision); err != nil {
			return "", i, err
		}
		next++
		if r.tokens[next].is(',') {
			if scale, err = r.typeNumber(next+1, "scale", 0, min(maxScale, precision)); err != nil {
				return "", i, err
			}
			next += 2
		}
		if !r.tokens[next].is(')') {
			return "", i, r.errorAt(r.tokens[next].start, "')' is missing after %s(%d", written, precision)
		}
		next++
	}
	return fmt.Sprintf("DECIMAL(%d,%d)", precision, scale), next, nil
}

func (r *rewriter) typeNumber(i int, what string, low, high int) (int, *sqlerr.Error) {
	t := r.tokens[i]
	n, err := strconv.Atoi(r.text(t))
	if t.kind != tokenNumber || err != nil || n < low || n > high {
		return 0, r.errorAt(t.start, "the %s of DECIMAL is a number from %d to %d", what, low, high)
	}
	return n, nil
}

func (r *rewriter) unknownType(t token, written string) *sqlerr.Error {
	switch written {
	case "ARRAY", "MAP", "STRUCT", "INTERVAL", "VOID":
		return NotSupportedAt(r.source, t.start, "casts to %s are not supported", written).WithHint("cast to JSON, or read fields with a path: expr:field")
	}
	err := r.errorAt(t.start, "type '%s' is not known", shorten(r.text(t)))
	if other, ok := mysqlTypes[written]; ok {
		return err.WithHint("use %s", other)
	}
	if near := nearest(written, knownTypes); near != "" {
		return err.WithHint("did you mean %s?", near)
	}
	return err.WithHint("the types are %s", strings.Join(knownTypes, ", "))
}
