package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/bufbuild/protocompile"
	"github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"millrace/bench/data"
)

// avroWanted is what the loop resolves the records to, so that it need not build the other 17 fields.
const avroWanted = `{"type":"record","name":"Event","fields":[{"name":"type","type":"string"},{"name":"qty","type":"int"},{"name":"price","type":"long"}]}`

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
	resolved, err := avro.Resolve(avro.MustParse(data.AvroSchema), avro.MustParse(avroWanted))
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
	c := protocompile.Compiler{Resolver: &protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(map[string]string{"events.proto": data.ProtoSchema})}}
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
		set                        data.Set
	}{
		{"avro", "avro", "format => 'avro', schema => " + quote(data.AvroSchema), wideQuery, 2.5, data.Avro},
		{"proto", "proto", "format => 'proto', messageName => 'Event', schema => " + quote(data.ProtoSchema), wideQuery, 8, data.Proto},
		{"json, as P3", "group", "format => 'json', schema => " + jsonEvents, "SELECT type, COUNT(*), SUM(qty) FROM %s GROUP BY 1 ORDER BY 1", 3.5, data.Events},
		{"json, as P4", "filter", "format => 'json', schema => " + jsonEvents, "SELECT COUNT(*) FROM %s WHERE type = 'purchase' AND country = 'NZ' AND qty = 7", 4, data.Events},
	}
	broker, stopBroker, err := c.startBroker(ctx)
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
		topic := fc.set.Name
		if !produced[topic] {
			fmt.Fprintf(os.Stderr, "producing %d records (%s)\n", c.records, topic)
			if err := data.Produce(ctx, broker, data.Topic{Name: topic, Set: fc.set, Records: c.records, Partitions: 8, Codec: "lz4"}); err != nil {
				return err
			}
			produced[topic] = true
		}
		source := fmt.Sprintf("read_kafka(bootstrapServers => '%s', subscribe => '%s', %s)", broker, topic, fc.args)
		m := measurement{ID: "P5", Title: "3 of 20 fields, GROUP BY", Variant: fc.variant, Against: "loop with the library", Bar: fc.bar, Records: c.records}
		if fc.set.Name == data.Events.Name {
			m.Title = "JSON with a schema"
		}
		if err := againstLoop(ctx, c, s, &m, broker, topic, fc.work, fmt.Sprintf(fc.query, source)); err != nil {
			return err
		}
		r.add(m)
	}
	return nil
}

const wideQuery = "SELECT type, COUNT(*), SUM(qty), MAX(price) FROM %s GROUP BY 1 ORDER BY 1"
