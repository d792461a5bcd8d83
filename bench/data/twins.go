package data

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"google.golang.org/protobuf/encoding/protowire"
)

// The Avro and Protobuf twins of the events data set: the same users, types and countries in records of 20 fields.
var (
	Avro  = Set{Name: "avro", append: twin((*wide).appendAvro)}
	Proto = Set{Name: "proto", append: twin((*wide).appendProto)}
)

func twin(encode func(*wide, []byte) []byte) func(*rand.Rand, int, []byte, []byte) ([]byte, []byte) {
	return func(rng *rand.Rand, i int, key, value []byte) ([]byte, []byte) {
		w := wideEvent(rng, i)
		return append(key, w.user...), encode(&w, value)
	}
}

// AvroSchema is that of Avro.
const AvroSchema = `{"type":"record","name":"Event","fields":[
{"name":"id","type":"long"},{"name":"user","type":"string"},{"name":"type","type":"string"},{"name":"country","type":"string"},{"name":"amount","type":"double"},
{"name":"qty","type":"int"},{"name":"ts","type":{"type":"long","logicalType":"timestamp-millis"}},{"name":"session","type":"string"},{"name":"url","type":"string"},{"name":"ok","type":"boolean"},
{"name":"device","type":"string"},{"name":"os","type":"string"},{"name":"city","type":["null","string"]},{"name":"lat","type":"double"},{"name":"lon","type":"double"},
{"name":"price","type":"long"},{"name":"discount","type":["null","double"]},{"name":"page","type":"int"},{"name":"referrer","type":"string"},{"name":"score","type":"float"}]}`

// ProtoSchema is that of Proto.
const ProtoSchema = `syntax = "proto3";
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
	places    = []string{"Berlin", "Paris", "Wellington", "Tokyo", "Recife", "Pune", "Brno", "Toronto"}
	referrers = []string{"search", "mail", "direct", "partner/a", "partner/b"}
)

func wideEvent(rng *rand.Rand, i int) wide {
	return wide{
		id: int64(i), ts: At(i).UnixMilli(), price: rng.Int64N(1_000_000),
		user: fmt.Sprintf("user-%06d", rng.IntN(100_000)), kind: eventTypes[rng.IntN(len(eventTypes))], country: countries[rng.IntN(len(countries))],
		session: fmt.Sprintf("%016x", rng.Uint64()), url: fmt.Sprintf("/items/%d/view", rng.IntN(1_000_000)), device: devices[rng.IntN(len(devices))], os: systems[rng.IntN(len(systems))],
		city: places[rng.IntN(len(places))], refs: referrers[rng.IntN(len(referrers))], amount: float64(rng.IntN(10_000)) / 100, lat: rng.Float64()*180 - 90, lon: rng.Float64()*360 - 180,
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
