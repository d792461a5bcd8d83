package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/bufbuild/protocompile"
	"github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"
)

// The Avro and Protobuf twins of the events data set: the same users, types and countries in records of 20 fields.

const avroEvents = `{"type":"record","name":"Event","fields":[
{"name":"id","type":"long"},{"name":"user","type":"string"},{"name":"type","type":"string"},{"name":"country","type":"string"},{"name":"amount","type":"double"},
{"name":"qty","type":"int"},{"name":"ts","type":{"type":"long","logicalType":"timestamp-millis"}},{"name":"session","type":"string"},{"name":"url","type":"string"},{"name":"ok","type":"boolean"},
{"name":"device","type":"string"},{"name":"os","type":"string"},{"name":"city","type":["null","string"]},{"name":"lat","type":"double"},{"name":"lon","type":"double"},
{"name":"price","type":"long"},{"name":"discount","type":["null","double"]},{"name":"page","type":"int"},{"name":"referrer","type":"string"},{"name":"score","type":"float"}]}`

// avroWanted is what the loop resolves the records to, so that it need not build the other 17 fields.
const avroWanted = `{"type":"record","name":"Event","fields":[{"name":"type","type":"string"},{"name":"qty","type":"int"},{"name":"price","type":"long"}]}`

const protoEvents = `syntax = "proto3";
message Event {
  int64 id = 1; string user = 2; string type = 3; string country = 4; double amount = 5; int32 qty = 6; int64 ts = 7; string session = 8; string url = 9; bool ok = 10;
  string device = 11; string os = 12; optional string city = 13; double lat = 14; double lon = 15; int64 price = 16; optional double discount = 17; int32 page = 18; string referrer = 19; float score = 20;
}`

// wide is one record of the twins.
type wide struct {
	id, ts, price                                             int64
	user, kind, country, session, url, device, os, city, refs string
	amount, lat, lon, discount                                float64
	score                                                     float32
	qty, page                                                 int32
	ok                                                        bool
}

var (
	devices   = []string{"phone", "tablet", "desktop", "tv"}
	systems   = []string{"android", "ios", "linux", "windows", "macos"}
	cities    = []string{"Berlin", "Paris", "Wellington", "Tokyo", "Recife", "Pune", "Brno", "Toronto"}
	referrers = []string{"search", "mail", "direct", "partner/a", "partner/b"}
)

func wideEvent(rng *rand.Rand, i int) wide {
	return wide{
		id: int64(i), ts: firstEvent.Add(time.Duration(i) * time.Millisecond).UnixMilli(), price: rng.Int64N(1_000_000),
		user: fmt.Sprintf("user-%06d", rng.IntN(100_000)), kind: eventTypes[rng.IntN(len(eventTypes))], country: countries[rng.IntN(len(countries))],
		session: fmt.Sprintf("%016x", rng.Uint64()), url: fmt.Sprintf("/items/%d/view", rng.IntN(1_000_000)), device: devices[rng.IntN(len(devices))], os: systems[rng.IntN(len(systems))],
		city: cities[rng.IntN(len(cities))], refs: referrers[rng.IntN(len(referrers))], amount: float64(rng.IntN(10_000)) / 100, lat: rng.Float64()*180 - 90, lon: rng.Float64()*360 - 180,
		discount: rng.Float64(), score: rng.Float32(), qty: rng.Int32N(10), page: rng.Int32N(500), ok: i%7 != 0,
	}
}

// appendAvro encodes w by hand: what is measured is reading, and the readers check the encoding.
func (w *wide) appendAvro(b []byte) []byte {
	text := func(s string) { b = append(binary.AppendVarint(b, int64(len(s))), s...) }
	number := func(x int64) { b = binary.AppendVarint(b, x) }
	double := func(x float64) { b, _ = binary.Append(b, binary.LittleEndian, x) }
	number(w.id)
	text(w.user)
	text(w.kind)
	text(w.country)
	double(w.amount)
	number(int64(w.qty))
	number(w.ts)
	text(w.session)
	text(w.url)
	b = append(b, byte(bit(w.ok)))
	text(w.device)
	text(w.os)
	number(1) // the second branch of the union
	text(w.city)
	double(w.lat)
	double(w.lon)
	number(w.price)
	number(1)
	double(w.discount)
	number(int64(w.page))
	text(w.refs)
	b, _ = binary.Append(b, binary.LittleEndian, w.score)
	return b
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (w *wide) appendProto(b []byte) []byte {
	text := func(n protowire.Number, s string) {
		b = protowire.AppendString(protowire.AppendTag(b, n, protowire.BytesType), s)
	}
	number := func(n protowire.Number, x int64) {
		b = protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), uint64(x))
	}
	double := func(n protowire.Number, x float64) {
		b = protowire.AppendTag(b, n, protowire.Fixed64Type)
		b, _ = binary.Append(b, binary.LittleEndian, x)
	}
	number(1, w.id)
	text(2, w.user)
	text(3, w.kind)
	text(4, w.country)
	double(5, w.amount)
	number(6, int64(w.qty))
	number(7, w.ts)
	text(8, w.session)
	text(9, w.url)
	number(10, int64(bit(w.ok)))
	text(11, w.device)
	text(12, w.os)
	text(13, w.city)
	double(14, w.lat)
	double(15, w.lon)
	number(16, w.price)
	double(17, w.discount)
	number(18, int64(w.page))
	text(19, w.refs)
	b = protowire.AppendTag(b, 20, protowire.Fixed32Type)
	b, _ = binary.Append(b, binary.LittleEndian, w.score)
	return b
}

// wideGroups is what the loops of P5 keep: the number of records, the sum of qty and the greatest price by type.
type wideGroups map[string]*wideGroup

type wideGroup struct{ n, qty, price int64 }

func (g wideGroups) add(kind []byte, qty, price int64) {
	x := g[string(kind)]
	if x == nil {
		x = &wideGroup{}
		g[string(kind)] = x
	}
	x.n++
	x.qty += qty
	x.price = max(x.price, price)
}

func (g wideGroups) String() string {
	var out []string
	for k, x := range g {
		out = append(out, fmt.Sprintf("%s %d %d %d", k, x.n, x.qty, x.price))
	}
	slices.Sort(out)
	return fmt.Sprint(out)
}

// avroLoop decodes into a struct that is used again, with the fields that are not wanted skipped by schema resolution.
func avroLoop() (func(*kgo.Record), func() string) {
	resolved, err := avro.Resolve(avro.MustParse(avroEvents), avro.MustParse(avroWanted))
	if err != nil {
		panic(err)
	}
	groups := wideGroups{}
	var v struct {
		Type  []byte `avro:"type"`
		Qty   int32  `avro:"qty"`
		Price int64  `avro:"price"`
	}
	return func(r *kgo.Record) {
		if _, err := resolved.Decode(r.Value, &v, avro.AliasInput()); err == nil {
			groups.add(v.Type, int64(v.Qty), v.Price)
		}
	}, groups.String
}

func protoLoop() (func(*kgo.Record), func() string) {
	c := protocompile.Compiler{Resolver: &protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(map[string]string{"events.proto": protoEvents})}}
	files, err := c.Compile(context.Background(), "events.proto")
	if err != nil {
		panic(err)
	}
	d := files[0].Messages().ByName("Event")
	kind, qty, price := d.Fields().ByName("type"), d.Fields().ByName("qty"), d.Fields().ByName("price")
	groups := wideGroups{}
	m := dynamicpb.NewMessage(d)
	return func(r *kgo.Record) {
		proto.Reset(m)
		if err := proto.Unmarshal(r.Value, m); err == nil {
			groups.add([]byte(m.Get(kind).String()), m.Get(qty).Int(), m.Get(price).Int())
		}
	}, groups.String
}

func init() {
	works["avro"], works["proto"] = avroLoop, protoLoop
}

// measureFormats is P5: three of twenty fields of Avro and Protobuf records, and P3 and P4 on JSON with a schema.
func measureFormats(ctx context.Context, c *config, r *report) error {
	if !c.wants("P5") {
		return nil
	}
	quote := func(s string) string {
		return "'" + strings.ReplaceAll(strings.ReplaceAll(s, "\n", " "), "'", "''") + "'"
	}
	const jsonEvents = "'type STRING, country STRING, qty BIGINT'"
	cases := []struct {
		variant, work, args, query string
		bar                        float64
		encode                     func(w *wide, b []byte) []byte
	}{
		{"avro", "avro", "format => 'avro', schema => " + quote(avroEvents), wideQuery, 2.5, (*wide).appendAvro},
		{"proto", "proto", "format => 'proto', messageName => 'Event', schema => " + quote(protoEvents), wideQuery, 8, (*wide).appendProto},
		{"json, as P3", "group", "format => 'json', schema => " + jsonEvents, "SELECT type, COUNT(*), SUM(qty) FROM %s GROUP BY 1 ORDER BY 1", 3.5, nil},
		{"json, as P4", "filter", "format => 'json', schema => " + jsonEvents, "SELECT COUNT(*) FROM %s WHERE type = 'purchase' AND country = 'NZ' AND qty = 7", 4, nil},
	}
	dir, err := os.MkdirTemp("", "millrace-bench-broker-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	broker, stopBroker, err := child(ctx, "broker", "-dir", dir)
	if err != nil {
		return err
	}
	defer stopBroker()
	s, err := startServer(ctx, c.binary)
	if err != nil {
		return err
	}
	defer s.stop()
	produced := map[string]bool{}
	for _, fc := range cases {
		topic := "wide-" + fc.work
		produce := func() error {
			return fillWith(ctx, broker, topic, "lz4", c.records, 8, func(rng *rand.Rand, i int) (key, value []byte) {
				w := wideEvent(rng, i)
				return []byte(w.user), fc.encode(&w, make([]byte, 0, 256))
			})
		}
		if fc.encode == nil {
			topic = "events"
			produce = func() error { return fill(ctx, broker, topic, "lz4", c.records) }
		}
		if !produced[topic] {
			fmt.Fprintf(os.Stderr, "producing %d records (%s)\n", c.records, topic)
			if err := produce(); err != nil {
				return err
			}
			produced[topic] = true
		}
		source := fmt.Sprintf("read_kafka(bootstrapServers => '%s', subscribe => '%s', %s)", broker, topic, fc.args)
		m := measurement{ID: "P5", Title: "3 of 20 fields, GROUP BY", Variant: fc.variant, Against: "loop with the library", Bar: fc.bar, Records: c.records}
		if fc.encode == nil {
			m.Title = "JSON with a schema"
		}
		for i := range c.pairs + 1 {
			base, want, err := loop(ctx, broker, topic, fc.work)
			if err != nil {
				return fmt.Errorf("P5 %s loop: %w", fc.variant, err)
			}
			own, got, err := s.query(ctx, fmt.Sprintf(fc.query, source))
			if err != nil {
				return fmt.Errorf("P5 %s: %w", fc.variant, err)
			}
			if got != want {
				return fmt.Errorf("P5 %s: SQL says %s, the loop %s", fc.variant, got, want)
			}
			if i > 0 { // the first pair warms caches
				m.add(base, own)
			}
		}
		r.add(m)
	}
	return nil
}

const wideQuery = "SELECT type, COUNT(*), SUM(qty), MAX(price) FROM %s GROUP BY 1 ORDER BY 1"
