package expr

import (
	"bytes"
	"context"
	"database/sql/driver"
	stdjson "encoding/json"
	"strconv"

	"github.com/cockroachdb/apd/v3"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/convert"
	"millrace/internal/decode/json"
)

// JSONText is a value of type JSON that stays the text it was: numbers keep their digits (1.50 does not become 1.5, 2^53+1 does not become 2^53), and nothing is
// parsed until somebody looks inside. The text must be valid JSON and must not change.
type JSONText []byte

var (
	_ types.JSONBytes      = JSONText(nil)
	_ types.SearchableJSON = JSONText(nil)
	_ types.ComparableJSON = JSONText(nil)
	_ driver.Valuer        = JSONText(nil)
)

// GetBytes is what the engine sends to clients and what CAST(… AS CHAR) sees.
func (j JSONText) GetBytes(context.Context) ([]byte, error) { return j, nil }

// Clone shares the text, which nobody changes.
func (j JSONText) Clone(context.Context) sql.JSONWrapper { return j }

func (j JSONText) String() string { return string(j) }

// Value makes JSONText a parameter that database drivers take.
func (j JSONText) Value() (driver.Value, error) { return string(j), nil }

// ToInterface gives the tree that the engine's JSON functions work on. Numbers are int64, uint64, float64 when that loses nothing, else
// decimals.
func (j JSONText) ToInterface(context.Context) (any, error) {
	d := stdjson.NewDecoder(bytes.NewReader(j))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		return nil, err
	}
	return exactNumbers(tree)
}

func exactNumbers(tree any) (any, error) {
	var err error
	switch v := tree.(type) {
	case stdjson.Number:
		return exactNumber(v.String())
	case []any:
		for i := range v {
			if v[i], err = exactNumbers(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for k := range v {
			if v[k], err = exactNumbers(v[k]); err != nil {
				return nil, err
			}
		}
	}
	return tree, nil
}

func exactNumber(text string) (any, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return n, nil
	}
	if f, fault := convert.Float64([]byte(text)); fault == convert.OK &&
		convert.CompareDecimal([]byte(text), strconv.AppendFloat(nil, f, 'e', -1, 64)) == 0 {
		return f, nil
	}
	d, _, err := apd.NewFromString(text)
	return d, err
}

// Lookup serves JSON_EXTRACT and ->. Paths of names and indexes go through our own extractor, which leaves what it finds as written.
func (j JSONText) Lookup(ctx context.Context, path string) (sql.JSONWrapper, error) {
	if parsed, ok := PlainJSONPath(path); ok {
		x, out := json.Compile([]json.Path{parsed}).NewExtractor(), make([]json.Value, 1)
		if err := x.Extract(j, out); err != nil {
			return nil, err
		}
		if out[0].Type == json.Missing {
			return nil, nil
		}
		return JSONText(out[0].Raw(j)), nil
	}
	tree, err := j.ToInterface(ctx)
	if err != nil {
		return nil, err
	}
	return types.LookupJSONValue(ctx, types.JSONDocument{Val: tree}, path)
}

// PlainJSONPath parses a MySQL path that has only plain names and indexes. Everything else ($."a b", $.*, $**, $[last], $[0 to 1]) is MySQL's own grammar, which
// ours is not.
func PlainJSONPath(text string) (json.Path, bool) {
	for _, c := range []byte(text) {
		if c|0x20 < 'a' || c|0x20 > 'z' {
			switch {
			case c >= '0' && c <= '9', c == '$', c == '.', c == '_', c == '[', c == ']':
			default:
				return nil, false
			}
		}
	}
	p, err := json.ParseJSONPath(text)
	if err != nil {
		return nil, false
	}
	return p, true
}

// Compare orders two numbers exactly, and leaves all else to the engine's rules.
func (j JSONText) Compare(ctx context.Context, other any) (int, error) {
	if o, ok := other.(JSONText); ok && j.isNumber() && o.isNumber() {
		return convert.CompareDecimal(j, o), nil
	}
	tree, err := j.ToInterface(ctx)
	if err != nil {
		return 0, err
	}
	if o, ok := other.(sql.JSONWrapper); ok {
		if other, err = o.ToInterface(ctx); err != nil {
			return 0, err
		}
	}
	// JSON null against JSON null; CompareJSON would take them for SQL NULLs.
	if tree == nil && other == nil {
		return 0, nil
	}
	return types.CompareJSON(ctx, tree, other)
}

func (j JSONText) isNumber() bool {
	b := bytes.TrimLeft(j, " \t\r\n")
	return len(b) > 0 && (b[0] == '-' || b[0] >= '0' && b[0] <= '9')
}

// JsonType is the name that JSON_TYPE gives.
func (j JSONText) JsonType(ctx context.Context) (string, error) {
	switch b := bytes.TrimLeft(j, " \t\r\n"); {
	case j.isNumber():
		tree, err := j.ToInterface(ctx)
		if err != nil {
			return "", err
		}
		switch tree.(type) {
		case int64:
			return "INTEGER", nil
		case uint64:
			return "UNSIGNED INTEGER", nil
		case float64:
			return "DOUBLE", nil
		}
		return "DECIMAL", nil
	case len(b) == 0:
		return "NULL", nil
	case b[0] == '{':
		return "OBJECT", nil
	case b[0] == '[':
		return "ARRAY", nil
	case b[0] == '"':
		return "STRING", nil
	case b[0] == 't' || b[0] == 'f':
		return "BOOLEAN", nil
	default:
		return "NULL", nil
	}
}
