package avro

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// defaultProp is the property of a field that its default is moved to, as JSON text, before the library parses the schema.
const defaultProp = "millrace.default"

// lenient rewrites the text of a schema so that the library accepts what other implementations do. Defaults are set aside (a field's default may be of
// any branch of its union, or of no use at all); decimals with impossible parameters get possible ones; a logical type beside a
// field's type moves into it; types that are wrapped once too often are unwrapped.
func lenient(text string) (string, error) {
	trimmed := strings.TrimSpace(text)
	if _, ok := primitives[trimmed]; ok {
		return strconv.Quote(trimmed), nil
	}
	d := json.NewDecoder(strings.NewReader(trimmed))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		return "", fmt.Errorf("not JSON: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return "", fmt.Errorf("not JSON: something follows the schema")
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(lenientType(tree)); err != nil {
		return "", err
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

func lenientType(tree any) any {
	switch tree := tree.(type) {
	case []any:
		for i := range tree {
			tree[i] = lenientType(tree[i])
		}
	case map[string]any:
		return lenientObject(tree)
	}
	return tree
}

func lenientObject(object map[string]any) any {
	switch inner := object["type"].(type) {
	case []any:
		return lenientType(inner)
	case map[string]any:
		for k, v := range object {
			if _, has := inner[k]; !has && k != "type" {
				inner[k] = v
			}
		}
		return lenientObject(inner)
	}
	switch object["type"] {
	case "record", "error":
		fields, _ := object["fields"].([]any)
		lenientAliases(fields)
		for _, f := range fields {
			if f, ok := f.(map[string]any); ok {
				lenientField(f)
			}
		}
	case "array":
		object["items"] = lenientType(object["items"])
	case "map":
		object["values"] = lenientType(object["values"])
	case "enum":
		symbols, _ := object["symbols"].([]any)
		if d, has := object["default"]; has && !slices.Contains(symbols, d) {
			delete(object, "default")
		}
	case "bytes", "fixed":
		if object["logicalType"] == "decimal" {
			lenientDecimal(object)
		}
	}
	return object
}

// lenientAliases takes out the aliases of fields that another field has as its name or alias: they could not decide anything.
func lenientAliases(fields []any) {
	taken := map[string]bool{}
	for _, f := range fields {
		if f, ok := f.(map[string]any); ok {
			if name, ok := f["name"].(string); ok {
				taken[name] = true
			}
		}
	}
	for _, f := range fields {
		f, _ := f.(map[string]any)
		aliases, ok := f["aliases"].([]any)
		if !ok {
			continue
		}
		f["aliases"] = slices.DeleteFunc(aliases, func(a any) bool {
			name, ok := a.(string)
			collides := ok && taken[name]
			taken[name] = true
			return collides
		})
	}
}

func lenientField(field map[string]any) {
	if value, has := field["default"]; has {
		delete(field, "default")
		if text, err := json.Marshal(value); err == nil {
			field[defaultProp] = string(text)
		}
	}
	if logical, ok := field["logicalType"]; ok {
		inner, object := field["type"].(map[string]any)
		if name, ok := field["type"].(string); ok {
			inner, object = map[string]any{"type": name}, true
		}
		if _, has := inner["logicalType"]; object && !has {
			inner["logicalType"] = logical
			for _, k := range []string{"precision", "scale"} {
				if v, ok := field[k]; ok {
					inner[k] = v
				}
			}
			field["type"] = inner
		}
		for _, k := range []string{"logicalType", "precision", "scale"} {
			delete(field, k)
		}
	}
	field["type"] = lenientType(field["type"])
}

// lenientDecimal gives a decimal a precision that its scale and size allow, or leaves it as bytes when there is no making sense of it. Only the scale changes
// what bytes mean.
func lenientDecimal(object map[string]any) {
	scale, ok := integer(object["scale"], 0)
	if !ok || scale < 0 {
		delete(object, "logicalType")
		return
	}
	precision, _ := integer(object["precision"], 0)
	if precision <= 0 {
		parameters, _ := object["connect.parameters"].(map[string]any)
		precision, _ = integer(parameters["connect.decimal.precision"], 0)
	}
	if precision <= 0 {
		precision = maxPrecision
	}
	precision = max(precision, scale)
	if object["type"] == "fixed" {
		size, _ := integer(object["size"], 0)
		if most := mostDigits(size); precision > most {
			if precision = most; scale > most {
				delete(object, "logicalType")
				return
			}
		}
	}
	object["precision"], object["scale"] = precision, scale
}

// integer reads a JSON number or its text.
func integer(v any, missing int) (int, bool) {
	switch v := v.(type) {
	case nil:
		return missing, true
	case json.Number:
		n, err := strconv.Atoi(v.String())
		return n, err == nil
	case string:
		n, err := strconv.Atoi(v)
		return n, err == nil
	default:
		return missing, false
	}
}

// mostDigits is the number of decimal digits that any number of that many bytes in two's complement has room for.
func mostDigits(size int) int {
	if size <= 0 {
		return 0
	}
	limit := big.NewInt(1)
	limit.Lsh(limit, uint(8*min(size, 1<<10)-1))
	limit.Sub(limit, big.NewInt(1))
	return len(limit.String()) - 1
}
