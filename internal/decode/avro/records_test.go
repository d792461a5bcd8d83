package avro

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
)

const flatSchema = `{"type":"record","name":"Flat","fields":[
{"name":"event_id","type":"string"},{"name":"user_id","type":"long"},{"name":"event_type","type":{"type":"enum","name":"ET","symbols":["page_view","click","purchase","add_to_cart","search"]}},
{"name":"ts","type":{"type":"long","logicalType":"timestamp-millis"}},{"name":"session","type":"string"},{"name":"amount","type":"double"},{"name":"country","type":["null","string"]},{"name":"ok","type":"boolean"},{"name":"n","type":"int"},{"name":"device","type":"string"},{"name":"ref","type":["null","string"]}]}`

const orderSchema = `{"type":"record","name":"Order","fields":[
{"name":"order_id","type":"string"},{"name":"created_at","type":"string"},{"name":"status","type":"string"},
{"name":"customer","type":{"type":"record","name":"Customer","fields":[{"name":"id","type":"long"},{"name":"name","type":"string"},{"name":"email","type":"string"},{"name":"address","type":{"type":"record","name":"Address","fields":[{"name":"street","type":"string"},{"name":"city","type":"string"},{"name":"zip","type":"string"},{"name":"geo","type":{"type":"record","name":"Geo","fields":[{"name":"lat","type":"double"},{"name":"lon","type":"double"}]}}]}}]}},
{"name":"items","type":{"type":"array","items":{"type":"record","name":"Item","fields":[{"name":"sku","type":"string"},{"name":"title","type":"string"},{"name":"qty","type":"int"},{"name":"price","type":"double"},{"name":"tags","type":{"type":"array","items":"string"}}]}}},
{"name":"payment","type":{"type":"record","name":"Payment","fields":[{"name":"method","type":"string"},{"name":"brand","type":"string"},{"name":"last4","type":"string"}]}},
{"name":"total","type":"double"},{"name":"currency","type":"string"},{"name":"notes","type":["null","string"]},{"name":"tags","type":{"type":"array","items":"string"}},
{"name":"shipping","type":{"type":"record","name":"Shipping","fields":[{"name":"method","type":"string"},{"name":"cost","type":"double"},{"name":"eta","type":"string"}]}}]}`

const customerFields = `{"name":"id","type":"long"},{"name":"first_name","type":["null","string"]},{"name":"last_name","type":["null","string"]},{"name":"email","type":"string"},{"name":"phone","type":["null","string"]},{"name":"balance","type":"string"},{"name":"status","type":"string"},{"name":"created_at","type":"long"},{"name":"updated_at","type":"long"},{"name":"city","type":["null","string"]},{"name":"points","type":"int"},{"name":"opt_in","type":"boolean"},{"name":"notes","type":["null","string"]},{"name":"refs","type":{"type":"array","items":"string"}},{"name":"consent","type":{"type":"map","values":["null","boolean"]}},{"name":"score","type":"double"},{"name":"version","type":"int"}`

const envelopeSchema = `{"type":"record","name":"Envelope","fields":[
{"name":"before","type":["null",{"type":"record","name":"Value","fields":[` + customerFields + `]}]},
{"name":"after","type":["null","Value"]},
{"name":"source","type":{"type":"record","name":"Source","fields":[{"name":"version","type":"string"},{"name":"connector","type":"string"},{"name":"name","type":"string"},{"name":"ts_ms","type":"long"},{"name":"snapshot","type":["null","string"]},{"name":"db","type":"string"},{"name":"ts_us","type":["null","long"]},{"name":"schema","type":"string"},{"name":"table","type":"string"},{"name":"txId","type":["null","long"]},{"name":"lsn","type":["null","long"]}]}},
{"name":"transaction","type":["null","string"]},{"name":"op","type":"string"},{"name":"ts_ms","type":["null","long"]},{"name":"ts_us","type":["null","long"]}]}`

// everySchema has each type and each logical type, unions in either order, recursion, and arrays of every width.
const everySchema = `{"type":"record","name":"Every","fields":[
{"name":"nothing","type":"null"},{"name":"yes","type":"boolean"},{"name":"i","type":"int"},{"name":"l","type":"long"},{"name":"f","type":"float"},{"name":"d","type":"double"},
{"name":"s","type":"string"},{"name":"b","type":"bytes"},{"name":"fx","type":{"type":"fixed","name":"F5","size":5}},{"name":"e","type":{"type":"enum","name":"E","symbols":["A","B","C"]}},
{"name":"dec","type":{"type":"bytes","logicalType":"decimal","precision":20,"scale":4}},{"name":"decf","type":{"type":"fixed","name":"F9","size":9,"logicalType":"decimal","precision":20,"scale":0}},
{"name":"dec38","type":{"type":"bytes","logicalType":"decimal","precision":38,"scale":38}},{"name":"huge","type":{"type":"bytes","logicalType":"decimal","precision":80,"scale":10}},
{"name":"dt","type":{"type":"int","logicalType":"date"}},{"name":"tm","type":{"type":"int","logicalType":"time-millis"}},{"name":"tu","type":{"type":"long","logicalType":"time-micros"}},
{"name":"sm","type":{"type":"long","logicalType":"timestamp-millis"}},{"name":"su","type":{"type":"long","logicalType":"timestamp-micros"}},{"name":"sn","type":{"type":"long","logicalType":"timestamp-nanos"}},
{"name":"lm","type":{"type":"long","logicalType":"local-timestamp-millis"}},{"name":"lu","type":{"type":"long","logicalType":"local-timestamp-micros"}},{"name":"ln","type":{"type":"long","logicalType":"local-timestamp-nanos"}},
{"name":"u","type":{"type":"string","logicalType":"uuid"}},{"name":"uf","type":{"type":"fixed","name":"F16","size":16,"logicalType":"uuid"}},{"name":"du","type":{"type":"fixed","name":"F12","size":12,"logicalType":"duration"}},
{"name":"ns","type":["null","string"]},{"name":"sn2","type":["string","null"]},{"name":"nil","type":["long","null","int"]},{"name":"fd","type":["float","null","double","int"]},{"name":"ld","type":["long","double"]},
{"name":"mix","type":["null","string","long",{"type":"array","items":"int"},"boolean","bytes"]},
{"name":"ai","type":{"type":"array","items":"int"}},{"name":"al","type":{"type":"array","items":"long"}},{"name":"ad","type":{"type":"array","items":"double"}},{"name":"an","type":{"type":"array","items":"null"}},{"name":"ae","type":{"type":"array","items":"E"}},
{"name":"aa","type":{"type":"array","items":{"type":"array","items":"string"}}},{"name":"m","type":{"type":"map","values":"long"}},{"name":"mm","type":{"type":"map","values":{"type":"map","values":["null","F16"]}}},
{"name":"r","type":{"type":"record","name":"R","fields":[{"name":"x","type":"F9"},{"name":"at","type":{"type":"long","logicalType":"timestamp-micros"}},{"name":"day","type":{"type":"int","logicalType":"date"}},{"name":"clock","type":{"type":"int","logicalType":"time-millis"}},{"name":"q","type":"F12"},{"name":"z","type":"float"}]}},
{"name":"rs","type":{"type":"array","items":"R"}},{"name":"flat","type":{"type":"array","items":{"type":"record","name":"P","fields":[{"name":"a","type":"double"},{"name":"b","type":"boolean"}]}}},
{"name":"tree","type":["null",{"type":"record","name":"Tree","fields":[{"name":"label","type":"string"},{"name":"left","type":["null","Tree"]},{"name":"children","type":{"type":"array","items":"Tree"}}]}]},
{"name":"last","type":"int"}]}`

var testSchemas = map[string]string{"flat": flatSchema, "order": orderSchema, "envelope": envelopeSchema, "every": everySchema, "text": `"string"`,
	"list": `{"type":"array","items":["null","long"]}`, "optional": `["null",{"type":"record","name":"O","fields":[{"name":"a","type":"int"},{"name":"b","type":["null","string"]}]}]`}

// writer encodes random values of a type: the encoder that tests use. It writes blocks with and without sizes, and several for an array.
type writer struct {
	rng   *rand.Rand
	depth int
}

func appendLong(dst []byte, v int64) []byte {
	return binary.AppendUvarint(dst, uint64(v)<<1^uint64(v>>63))
}

func (w *writer) value(dst []byte, n *node) []byte {
	r := w.rng
	switch n.wire {
	case null:
		return dst
	case boolean:
		return append(dst, byte(r.IntN(2)))
	case integer32:
		return appendLong(dst, int64(int32(r.Uint64()>>r.IntN(33))))
	case integer64:
		if n.as >= timestampMillis && n.as <= localNanos && r.IntN(4) > 0 {
			return appendLong(dst, 1_700_000_000_000+r.Int64N(1e12))
		}
		return appendLong(dst, int64(r.Uint64())>>r.IntN(64))
	case float32s:
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(r.NormFloat64()*math.Pow(10, float64(r.IntN(30)-15)))))
	case float64s:
		v := r.NormFloat64() * math.Pow(10, float64(r.IntN(60)-30))
		if r.IntN(30) == 0 {
			v = []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1)}[r.IntN(4)]
		}
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
	case byteString:
		size := r.IntN(12)
		if n.as == decimal && r.IntN(3) == 0 {
			size = r.IntN(40)
		}
		dst = appendLong(dst, int64(size))
		return w.bytes(dst, size)
	case text:
		s := []string{"", "a", "plain text", "žluťoučký kůň", "\"quoted\"\n\x01\\", "🎉", "bad \xff\xfe", fmt.Sprintf("%016x", r.Uint64())}[r.IntN(8)]
		return append(appendLong(dst, int64(len(s))), s...)
	case fixed:
		return w.bytes(dst, n.size)
	case enum:
		return appendLong(dst, int64(r.IntN(len(n.symbols))))
	case union:
		i := r.IntN(len(n.branches))
		if w.depth > 4 {
			for j, b := range n.branches {
				if b.least < n.branches[i].least {
					i = j
				}
			}
		}
		return w.value(appendLong(dst, int64(i)), n.branches[i])
	case array, mapping:
		return w.blocks(dst, n)
	default:
		w.depth++
		for i := range n.fields {
			dst = w.value(dst, n.fields[i].node)
		}
		w.depth--
		return dst
	}
}

func (w *writer) bytes(dst []byte, size int) []byte {
	for range size {
		dst = append(dst, byte(w.rng.Uint32()))
	}
	return dst
}

func (w *writer) blocks(dst []byte, n *node) []byte {
	w.depth++
	for w.depth < 4 && w.rng.IntN(3) > 0 {
		count := 1 + w.rng.IntN(3)
		var items []byte
		for range count {
			if n.wire == mapping {
				key := fmt.Sprintf("k%d", w.rng.IntN(1000))
				items = append(appendLong(items, int64(len(key))), key...)
			}
			items = w.value(items, n.inner)
		}
		if w.rng.IntN(4) == 0 {
			dst = appendLong(appendLong(dst, -int64(count)), int64(len(items)))
		} else {
			dst = appendLong(dst, int64(count))
		}
		dst = append(dst, items...)
	}
	w.depth--
	return append(dst, 0)
}

// mutate changes a few bytes, or the length.
func mutate(rng *rand.Rand, record []byte) []byte {
	m := append([]byte(nil), record...)
	for range 1 + rng.IntN(2) {
		if len(m) == 0 {
			return append(m, byte(rng.Uint32()))
		}
		switch at := rng.IntN(len(m)); rng.IntN(5) {
		case 0:
			m = m[:at]
		case 1:
			m = append(m[:at:at], append([]byte{byte(rng.Uint32())}, m[at:]...)...)
		case 2:
			m[at] ^= 1 << rng.IntN(8)
		default:
			m[at] = byte(rng.Uint32())
		}
	}
	return m
}
