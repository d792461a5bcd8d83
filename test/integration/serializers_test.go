//go:build integration

package integration

import (
	"bytes"
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/column"
	"millrace/internal/decode"
	"millrace/internal/decode/avro"
	"millrace/internal/decode/framed"
	"millrace/internal/decode/json"
	"millrace/internal/decode/jsonschema"
	"millrace/internal/decode/proto"
	"millrace/internal/registry"
)

// orders are the records of test/serializers as their columns show them.
var orders = map[string][]string{
	"avro": {
		`id=1 name=tea price=12.30 weight=0.250 score=0.1 at=2026-03-01 12:34:56.789 micros=2026-03-01 12:34:56.789123 day=2026-03-01 token=6ba7b810-9dad-11d1-80b4-00c04fd430c8 status=PAID note=a "note" raw=00ff tags=["a","b"] stock={"oslo":9007199254740993} home={"city":"Praha","zip":"110 00"}`,
		`id=-9223372036854775808 name= price=-0.01 weight=-1234567.891 score=-1e+300 at=1969-12-31 23:59:59.999 micros=0001-01-01 00:00:00.000000 day=0001-01-01 token=00000000-0000-0000-0000-000000000000 status=NEW note=NULL raw= tags=[] stock={} home={"city":"","zip":null}`,
		`id=9223372036854775807 name=žluťoučký kůň 🎉 price=9999999999.99 weight=1.000 score=5e-324 at=9999-12-31 23:59:59.999 micros=9999-12-31 23:59:59.999999 day=9999-12-31 token=ffffffff-ffff-ffff-ffff-ffffffffffff status=SHIPPED note= raw=c5be tags=["🎉","🎉","🎉"] stock={"a":-1} home={"city":"Łódź","zip":""}`,
	},
	"json": {
		`id=1 name=tea score=0.1 day=2026-03-01 note=a "note" tags=["a","b"]`,
		`id=-9223372036854775808 name= score=-1e+300 day=0001-01-01 note=NULL tags=[]`,
		`id=9223372036854775807 name=žluťoučký kůň 🎉 score=5e-324 day=9999-12-31 note= tags=["🎉","🎉","🎉"]`,
	},
	"proto": {
		`id=1 name=tea big=18446744073709551615 score=0.1 at=2026-03-01 12:34:56.789123 status=NEW raw=00ff tags=["a","b"] sizes=[-1,0,1]`,
		`id=-9223372036854775808 name= big=18446744073709551614 score=-1e+300 at=0001-01-01 00:00:00.000000 status=PAID raw= tags=[] sizes=[-1,0,1]`,
		`id=9223372036854775807 name=žluťoučký kůň 🎉 big=18446744073709551613 score=5e-324 at=9999-12-31 23:59:59.999999 status=SHIPPED raw=c5be tags=["🎉","🎉","🎉"] sizes=[-1,0,1]`,
	},
}

func TestRecordsOfOtherSerializers(t *testing.T) {
	clients := map[string][]string{
		"python": {"python3", "../serializers/write.py", env(t, "KAFKA_PLAINTEXT"), env(t, "REGISTRY_URL")},
		"java": {"java", "-cp", env(t, "TEST_JAVA_SERIALIZERS") + ":" + env(t, "TEST_JAVA_SERIALIZERS") + "/libs/*", "Write", env(t, "KAFKA_PLAINTEXT"), env(t, "REGISTRY_URL"),
			env(t, "REGISTRY_NATIVE_URL")},
	}
	for who, command := range clients {
		t.Run(who, func(t *testing.T) {
			cl, adm := client(t)
			prefix := fmt.Sprintf("%s-%d", who, time.Now().UnixNano())
			formats := map[string]string{"avro": "avro", "json": "json", "proto": "proto"}
			if who == "java" {
				formats["blocks"] = "avro"
			}
			for name := range formats {
				if _, err := adm.CreateTopic(t.Context(), 1, 1, nil, prefix+"-"+name); err != nil {
					t.Fatal(err)
				}
			}
			run := exec.Command(command[0], append(command[1:], prefix)...)
			run.Env = append(os.Environ(), "PYTHONPATH="+env(t, "TEST_PYTHON_SERIALIZERS"), "PYTHONIOENCODING=utf-8", "LC_ALL=C.UTF-8", "JAVA_TOOL_OPTIONS=-Dfile.encoding=UTF-8")
			if out, err := run.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			r, err := registry.New(registry.Config{URLs: []string{env(t, "REGISTRY_URL")}})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			for name, format := range formats {
				subject := prefix + "-" + name + "-value"
				if name == "blocks" {
					subject = prefix + "-avro-value" // they carry the same id
				}
				got := decoded(t, newWriters(t, r, subject), values(t, cl, prefix+"-"+name, 3))
				if d := cmp.Diff(orders[format], got); d != "" {
					t.Errorf("%s: -want +got:\n%s", name, d)
				}
			}
		})
	}
}

// values reads the values of a topic.
func values(t *testing.T, cl *kgo.Client, topic string, n int) (values [][]byte) {
	t.Helper()
	cl.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}})
	defer cl.RemoveConsumePartitions(map[string][]int32{topic: {0}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for len(values) < n {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) { values = append(values, r.Value) })
	}
	return values
}

// writers implements framed.Writers for a subject's newest version.
type writers struct {
	registry *registry.Client
	kind     registry.Type
	avro     *avro.Schema
	proto    *proto.Message
	json     *json.Schema
}

func newWriters(t *testing.T, r *registry.Client, subject string) *writers {
	t.Helper()
	newest, err := r.SchemaOf(t.Context(), subject, registry.Latest)
	if err != nil {
		t.Fatal(err)
	}
	w := &writers{registry: r, kind: newest.Type}
	switch newest.Type {
	case registry.Avro:
		w.avro, err = avro.Parse(newest.Text, newest.ReferenceTexts()...)
	case registry.Protobuf:
		var files *proto.Files
		if files, err = proto.ParseText(newest.Text, newest.ReferenceMap()); err == nil {
			w.proto, err = files.Message("shop.Outer.Order")
		}
	case registry.JSONSchema:
		var fields []json.Field
		fields, err = jsonschema.Parse(newest.Text, newest.ReferenceMap())
		w.json = json.NewSchema(fields)
	default:
		t.Fatalf("subject %s is of type %q", subject, newest.Type)
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *writers) Fields() []column.Field {
	switch w.kind {
	case registry.Avro:
		return w.avro.Fields()
	case registry.Protobuf:
		return w.proto.Fields()
	default:
		return w.json.Fields()
	}
}

func (w *writers) SplitIndex(body []byte) (index, rest []byte, err error) {
	if w.kind == registry.Protobuf {
		return proto.SplitMessageIndex(body)
	}
	return nil, body, nil
}

func (w *writers) Compile(ctx context.Context, id uint32, index []byte, wanted []int) (decode.Plan, error) {
	written, err := w.registry.SchemaByID(ctx, int(id))
	if err != nil {
		return nil, err
	}
	switch w.kind {
	case registry.Avro:
		writer, err := avro.Parse(written.Text, written.ReferenceTexts()...)
		if err != nil {
			return nil, err
		}
		return w.avro.CompileFrom(writer, wanted)
	case registry.Protobuf:
		files, err := proto.ParseText(written.Text, written.ReferenceMap())
		if err != nil {
			return nil, err
		}
		path, _, err := proto.MessageIndex(index)
		if err != nil {
			return nil, err
		}
		writer, err := files.MessageByIndex(path)
		if err != nil {
			return nil, err
		}
		if writer.Name() != w.proto.Name() {
			return nil, errors.New("the record is a " + writer.Name())
		}
		return w.proto.CompileFrom(writer, wanted)
	default:
		return w.json.Compile(wanted)
	}
}

// decoded shows records with all their columns.
func decoded(t *testing.T, w *writers, records [][]byte) (rows []string) {
	t.Helper()
	schema := framed.New(w)
	fields := schema.Fields()
	wanted := make([]int, len(fields))
	for i := range wanted {
		wanted[i] = i
	}
	plan, err := schema.Compile(wanted)
	if err != nil {
		t.Fatal(err)
	}
	d, slots, scratch := plan.NewDecoder(t.Context()), make([]decode.Slot, len(fields)), []byte(nil)
	for _, record := range records {
		if err := d.Locate(record, slots); err != nil {
			t.Fatalf("%v in %x", err, record)
		}
		var row []string
		for i, s := range slots {
			if s.Kind == decode.Lazy {
				if s, scratch, err = d.Settle(record, i, s, scratch); err != nil {
					t.Fatalf("%v in %x", err, record)
				}
			}
			row = append(row, fields[i].Name+"="+shown(fields[i].Type, s, record, scratch))
		}
		rows = append(rows, strings.Join(row, " "))
	}
	return rows
}

func shown(to column.Type, s decode.Slot, record, scratch []byte) string {
	data := record
	switch s.Kind {
	case decode.Null:
		return "NULL"
	case decode.Made:
		data = scratch
	}
	switch to.Kind {
	case column.Float64:
		return strconv.FormatFloat(math.Float64frombits(uint64(s.Int)), 'g', -1, 64)
	case column.Uint64:
		return strconv.FormatUint(uint64(s.Int), 10)
	case column.Date:
		return time.Unix(s.Int*86400, 0).UTC().Format(time.DateOnly)
	case column.Timestamp:
		return time.UnixMicro(s.Int).UTC().Format("2006-01-02 15:04:05." + strings.Repeat("0", int(to.Scale)))
	case column.Bytes:
		return fmt.Sprintf("%x", data[s.Beg:s.End])
	case column.JSON: // strings may be escaped in more than one way
		in, out := stdjson.NewDecoder(bytes.NewReader(data[s.Beg:s.End])), &strings.Builder{}
		in.UseNumber()
		var tree any
		if err := in.Decode(&tree); err != nil {
			return err.Error()
		}
		e := stdjson.NewEncoder(out)
		e.SetEscapeHTML(false)
		if err := e.Encode(tree); err != nil {
			return err.Error()
		}
		return strings.TrimSpace(out.String())
	case column.Text, column.Decimal:
		return string(data[s.Beg:s.End])
	default:
		return strconv.FormatInt(s.Int, 10)
	}
}
