package avro

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/twmb/avro"

	"millrace/internal/column"
	"millrace/internal/decode"
)

// oracle decodes whole records into values of Go with the library and makes of these what columns should show. It shares nothing with the walk.
type oracle struct {
	schema *avro.Schema
	root   *avro.SchemaNode
	named  map[string]*avro.SchemaNode
}

func newOracle(t testing.TB, text string) *oracle {
	t.Helper()
	options := []avro.SchemaOpt{laxNames}
	for logical := range logicalTypes { // raw values: the library refuses some that Avro allows, such as times beyond 290 years
		options = append(options, avro.WithCustomType(avro.CustomType{LogicalType: logical}))
	}
	s, err := avro.Parse(text, options...)
	if err != nil {
		t.Fatal(err)
	}
	o := &oracle{schema: s, root: s.Root(), named: map[string]*avro.SchemaNode{}}
	o.define(o.root)
	return o
}

// define notes named types; the test schemas have no namespaces.
func (o *oracle) define(n *avro.SchemaNode) {
	if n.Name != "" {
		o.named[n.Name] = n
	}
	for i := range n.Fields {
		o.define(&n.Fields[i].Type)
	}
	for i := range n.Branches {
		o.define(&n.Branches[i])
	}
	for _, inner := range []*avro.SchemaNode{n.Items, n.Values} {
		if inner != nil {
			o.define(inner)
		}
	}
}

func (o *oracle) resolve(n *avro.SchemaNode) *avro.SchemaNode {
	if known := o.named[n.Type]; known != nil {
		return known
	}
	return n
}

// decode gives the fields of a record; ok is false for a bad one.
func (o *oracle) decode(record []byte) (fields map[string]any, ok bool) {
	var v any
	rest, err := o.schema.Decode(record, &v)
	if err != nil || len(rest) > 0 {
		return nil, false
	}
	fields, isRecord := v.(map[string]any)
	if !isRecord {
		fields = map[string]any{"value": v}
	}
	return fields, true
}

// typeOf is the type of a field.
func (o *oracle) typeOf(name string) *avro.SchemaNode {
	for i := range o.root.Fields {
		if o.root.Fields[i].Name == name {
			return &o.root.Fields[i].Type
		}
	}
	return o.root
}

const fieldError = "<field error>"

// shown is v as text of a column, "NULL", or fieldError.
func (o *oracle) shown(v any, n *avro.SchemaNode, to column.Type) string {
	n = o.resolve(n)
	if v == nil {
		return "NULL"
	}
	if n.Type == "union" && to.Kind != column.JSON {
		branches := n.Branches
		for i := range branches {
			if branches[i].Type != "null" {
				n = o.resolve(&branches[i]) // numbers need no more than the kind of the column
			}
		}
	}
	v = meant(v, n)
	switch to.Kind {
	case column.JSON:
		tree, ok := o.tree(v, n)
		if !ok {
			return fieldError
		}
		b, err := json.Marshal(tree)
		if err != nil {
			return "oracle: " + err.Error()
		}
		return string(b)
	case column.Float64:
		f := reflect.ValueOf(v)
		x := 0.0
		if f.CanFloat() {
			x = f.Float()
		} else {
			x = float64(f.Int())
		}
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fieldError
		}
		return strconv.FormatUint(math.Float64bits(x), 16)
	case column.Text:
		switch v := v.(type) {
		case [16]byte:
			return uuidText(v)
		case *big.Rat:
			return v.FloatString(n.Scale)
		case string:
			if !utf8.ValidString(v) {
				return fieldError
			}
			return v
		}
	case column.Decimal:
		text := v.(*big.Rat).FloatString(int(to.Scale))
		if len(strings.TrimLeft(strings.NewReplacer("-", "", ".", "").Replace(text), "0")) > int(to.Precision) {
			return fieldError
		}
		return text
	case column.Date:
		at := v.(time.Time)
		if at.Year() < 1 || at.Year() > 9999 {
			return fieldError
		}
		return fmt.Sprint(at.Unix() / 86400)
	case column.Timestamp:
		at := v.(time.Time)
		if at.Year() < 1 || at.Year() > 9999 {
			return fieldError
		}
		return fmt.Sprint(at.UnixMicro())
	case column.Time:
		d := v.(micros)
		if d.Abs() >= 839*3600*1e6 {
			return fieldError
		}
		return fmt.Sprint(int64(d))
	}
	return fmt.Sprint(v)
}

func uuidText(v [16]byte) string {
	s := hex.EncodeToString(v[:])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

// tree is v as encoding/json would have read it from the JSON that we write; ok is false where that is a field error.
func (o *oracle) tree(v any, n *avro.SchemaNode) (tree any, ok bool) {
	n = o.resolve(n)
	if n.Type == "union" {
		return o.tree(v, o.branch(v, n))
	}
	switch v := meant(v, n).(type) {
	case map[string]any:
		object := map[string]any{}
		for k, inner := range v {
			t := n.Values
			if n.Type == "record" {
				for i := range n.Fields {
					if n.Fields[i].Name == k {
						t = &n.Fields[i].Type
					}
				}
			}
			made, ok := o.tree(inner, t)
			if !ok || !utf8.ValidString(k) {
				return nil, false
			}
			object[k] = made
		}
		return object, true
	case []any:
		list := []any{}
		for _, inner := range v {
			made, ok := o.tree(inner, n.Items)
			if !ok {
				return nil, false
			}
			list = append(list, made)
		}
		return list, true
	case string:
		return v, utf8.ValidString(v)
	case []byte:
		return base64.StdEncoding.EncodeToString(v), true
	case [16]byte:
		return uuidText(v), true
	case float32:
		return floatTree(float64(v), 32), true
	case float64:
		return floatTree(v, 64), true
	case *big.Rat:
		return json.Number(v.FloatString(n.Scale)), true
	case avro.Duration:
		return map[string]any{"months": v.Months, "days": v.Days, "millis": v.Milliseconds}, true
	case micros:
		return clockText(v, n.LogicalType), true
	case time.Time:
		return timeText(v, n.LogicalType), true
	default:
		return v, true
	}
}

// micros is a time of day.
type micros int64

func (m micros) Abs() micros { return max(m, -m) }

// meant is a raw value with its logical type.
func meant(v any, n *avro.SchemaNode) any {
	number := int64(0)
	switch v := v.(type) {
	case int32:
		number = int64(v)
	case int64:
		number = v
	case []byte:
		switch n.LogicalType {
		case "decimal":
			unscaled := new(big.Int).SetBytes(v)
			if len(v) > 0 && v[0] >= 0x80 {
				unscaled.Sub(unscaled, new(big.Int).Lsh(big.NewInt(1), uint(8*len(v))))
			}
			return new(big.Rat).SetFrac(unscaled, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n.Scale)), nil))
		case "uuid":
			return [16]byte(v)
		case "duration":
			word := func(i int) uint32 { return uint32(v[i]) | uint32(v[i+1])<<8 | uint32(v[i+2])<<16 | uint32(v[i+3])<<24 }
			return avro.Duration{Months: word(0), Days: word(4), Milliseconds: word(8)}
		}
		return v
	default:
		return v
	}
	switch n.LogicalType {
	case "date":
		return time.Unix(number*86400, 0).UTC()
	case "time-millis":
		return micros(number * 1000)
	case "time-micros":
		return micros(number)
	case "timestamp-millis", "local-timestamp-millis":
		return time.UnixMilli(number).UTC()
	case "timestamp-micros", "local-timestamp-micros":
		return time.UnixMicro(number).UTC()
	case "timestamp-nanos", "local-timestamp-nanos":
		return time.Unix(0, number).UTC()
	default:
		return v
	}
}

func clockText(v micros, logical string) any {
	digits, unit := 6, micros(1)
	if logical == "time-millis" {
		digits, unit = 3, 1000
	}
	if v == math.MinInt64 || v.Abs() >= 839*3600*1e6 {
		return int64(v / unit)
	}
	sign := ""
	if v < 0 {
		sign, v = "-", -v
	}
	s := fmt.Sprintf("%s%02d:%02d:%02d.%06d", sign, v/3600e6, v/60e6%60, v/1e6%60, v%1e6)
	return s[:len(s)-6+digits]
}

func timeText(v time.Time, logical string) any {
	in := v.Year() >= 1 && v.Year() <= 9999
	switch {
	case logical == "date" && in:
		return v.Format(time.DateOnly)
	case logical == "date":
		return v.Unix() / 86400
	case !in && strings.HasSuffix(logical, "millis"):
		return v.UnixMilli()
	case !in && strings.HasSuffix(logical, "micros"):
		return v.UnixMicro()
	case strings.HasSuffix(logical, "nanos"): // always within the years
		v = time.UnixMicro(v.UnixMicro()).UTC()
	}
	layout := "2006-01-02T15:04:05.000000"
	if strings.HasSuffix(logical, "millis") {
		layout = layout[:len(layout)-3]
	}
	if !strings.HasPrefix(logical, "local-") {
		layout += "Z"
	}
	return v.Format(layout)
}

func floatTree(v float64, bits int) any {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	}
	return json.Number(strconv.FormatFloat(v, 'e', -1, bits))
}

// branch finds the branch of a union that v is of. The test schemas have no unions where the type of Go does not tell.
func (o *oracle) branch(v any, n *avro.SchemaNode) *avro.SchemaNode {
	for i := range n.Branches {
		b := o.resolve(&n.Branches[i])
		fits := false
		switch v.(type) {
		case nil:
			fits = b.Type == "null"
		case bool:
			fits = b.Type == "boolean"
		case int32:
			fits = b.Type == "int"
		case int64:
			fits = b.Type == "long"
		case float32:
			fits = b.Type == "float"
		case float64:
			fits = b.Type == "double"
		case string:
			fits = b.Type == "string" || b.Type == "enum"
		case []byte:
			fits = b.Type == "bytes" || b.Type == "fixed"
		case []any:
			fits = b.Type == "array"
		case map[string]any:
			fits = b.Type == "record" || b.Type == "map"
		default:
			fits = b.LogicalType != ""
		}
		if fits {
			return b
		}
	}
	return n
}

// canonical makes JSON texts comparable: keys sorted, the last of equal ones, numbers by value.
func canonical(t testing.TB, text string) string {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		t.Fatalf("not JSON: %v in %s", err, text)
	}
	var plain func(any) any
	plain = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			for k := range v {
				v[k] = plain(v[k])
			}
		case []any:
			for i := range v {
				v[i] = plain(v[i])
			}
		case json.Number:
			r, ok := new(big.Rat).SetString(v.String())
			if !ok {
				t.Fatalf("not a number: %s", v)
			}
			return r.String()
		}
		return v
	}
	b, err := json.Marshal(plain(tree))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// row decodes a record with a plan of s for the wanted fields and shows each; a record error is returned.
func row(t testing.TB, p decode.Plan, fields []column.Field, wanted []int, record []byte) ([]string, error) {
	t.Helper()
	d := p.NewDecoder(context.Background())
	slots := make([]decode.Slot, len(wanted))
	for i := range slots {
		slots[i] = decode.Slot{Int: 77, Beg: 7, End: 1 << 30, Aux: 99, Kind: decode.Lazy} // what a decoder is handed is not its own
	}
	if err := d.Locate(record, slots); err != nil {
		var bad *decode.Error
		if !errors.As(err, &bad) || bad.Field != "" {
			t.Fatalf("not a record error: %v", err)
		}
		copied := *bad
		return nil, &copied
	}
	out := make([]string, len(wanted))
	scratch := []byte("before")
	for i, s := range slots {
		to := fields[wanted[i]]
		if s.Kind == decode.Lazy {
			var err error
			if s, scratch, err = d.Settle(record, i, s, scratch); err != nil {
				var bad *decode.Error
				if !errors.As(err, &bad) || bad.Field != to.Name {
					t.Fatalf("not an error of field %s: %v", to.Name, err)
				}
				out[i] = fieldError
				continue
			}
		}
		out[i] = showSlot(t, to, s, record, scratch)
	}
	if !bytes.HasPrefix(scratch, []byte("before")) {
		t.Fatalf("Settle wrote over what stood in scratch")
	}
	return out, nil
}

func showSlot(t testing.TB, to column.Field, s decode.Slot, record, scratch []byte) string {
	t.Helper()
	kind := to.Type.Kind
	switch {
	case s.Kind == decode.Null:
		return "NULL"
	case s.Kind == decode.Int && kind == column.Bool:
		return fmt.Sprint(s.Int == 1)
	case s.Kind == decode.Int && kind.IsInt():
		return fmt.Sprint(s.Int)
	case s.Kind == decode.Float && kind == column.Float64:
		return strconv.FormatUint(uint64(s.Int), 16)
	case (s.Kind == decode.View || s.Kind == decode.Made) && kind.IsView():
		data := record
		if s.Kind == decode.Made {
			data = scratch
		}
		text := data[s.Beg:s.End]
		if kind == column.Bytes {
			return fmt.Sprint(text)
		}
		if !utf8.Valid(text) {
			t.Fatalf("column %s: %q is not UTF-8", to.Name, text)
		}
		return string(text)
	default:
		t.Fatalf("column %s of type %s has a slot of kind %d", to.Name, to.Type, s.Kind)
		return ""
	}
}

// subject is a schema under test with its oracle and its plans.
type subject struct {
	schema *Schema
	oracle *oracle
	all    []int
	plan   decode.Plan
	none   decode.Plan
	sizes  int // records that are bad for the size of a block alone
}

func newSubject(t testing.TB, text string) *subject {
	t.Helper()
	s := &subject{oracle: newOracle(t, text)}
	var err error
	if s.schema, err = Parse(text); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for i := range s.schema.Fields() {
		s.all = append(s.all, i)
	}
	if s.plan, err = s.schema.Compile(s.all); err != nil {
		t.Fatal(err)
	}
	if s.none, err = s.schema.Compile(nil); err != nil {
		t.Fatal(err)
	}
	return s
}

func holdsMap(n *avro.SchemaNode) bool {
	b, err := n.Schema(laxNames)
	return err == nil && strings.Contains(b.String(), `"map"`)
}

// check compares a record with the oracle and reports whether it is good.
func (s *subject) check(t testing.TB, record []byte) bool {
	t.Helper()
	fields := s.schema.Fields()
	got, err := row(t, s.plan, fields, s.all, record)
	_, noneErr := row(t, s.none, fields, nil, record)
	if fmt.Sprint(err) != fmt.Sprint(noneErr) {
		t.Fatalf("record %x: %v with all fields, %v with none\n%s", record, err, noneErr, s.schema)
	}
	want, ok := s.oracle.decode(record)
	if ok != (err == nil) {
		// The library takes the size of a block at its word, or ignores it.
		if err != nil && strings.Contains(err.Error(), badSize) {
			s.sizes++
			return false
		}
		t.Fatalf("error %v, the oracle says good=%v: record %x\n%s", err, ok, record, s.schema)
	}
	if err != nil {
		return false
	}
	for i, f := range fields {
		n := s.oracle.typeOf(f.Name)
		w := s.oracle.shown(want[f.Name], n, f.Type)
		g := got[i]
		if f.Type.Kind == column.JSON && w != "NULL" && w != fieldError && g != fieldError && g != "NULL" {
			w, g = canonical(t, w), canonical(t, g)
		}
		if g == fieldError && f.Type.Kind == column.JSON && holdsMap(n) && !utf8.Valid(record) {
			continue // bad text below a key that comes twice: the library has only the last
		}
		if g != w {
			t.Fatalf("column %s %s: %s, the oracle has %s: record %x\n%s", f.Name, f.Type, g, w, record, s.schema)
		}
	}
	return true
}
