package data

import (
	"fmt"
	"math/rand/v2"
)

var operations = []string{"c", "u", "u", "u", "u", "u", "d", "r"}

// Debezium are change events of a table as Debezium sends them, of about 2 KB: a row before and after, where it comes from, and its schema's name. The
// key is that of the row.
var Debezium = Set{Name: "debezium", append: appendChange}

func appendChange(rng *rand.Rand, i int, key, value []byte) ([]byte, []byte) {
	id := rng.IntN(200_000)
	key = fmt.Appendf(key, `{"id":%d}`, id)
	op := operations[rng.IntN(len(operations))]
	row := func() string {
		return fmt.Sprintf(`{"id":%d,"sku":"SKU-%06d","title":"Thing number %d","description":"%s","quantity":%d,"price":"%d.%02d","warehouse":"%s","updated_at":%d,"flags":%d,"weight":%d.%03d,"supplier":{"id":%d,"name":"Supplier %03d","country":"%s"}}`,
			id, id, id, filler[:480+rng.IntN(40)], rng.IntN(1000), rng.IntN(500), rng.IntN(100), cities[rng.IntN(len(cities))], At(i).UnixMicro(), rng.IntN(256), rng.IntN(40), rng.IntN(1000),
			id%500, id%500, countries[id%len(countries)])
	}
	before, after := row(), row()
	switch op {
	case "c", "r":
		before = "null"
	case "d":
		after = "null"
	}
	value = fmt.Appendf(value, `{"schema":{"type":"struct","optional":false,"name":"shop.inventory.products.Envelope"},"payload":{"before":%s,"after":%s,"source":{"version":"3.0.0.Final","connector":"mysql","name":"shop","ts_ms":%d,"snapshot":"false","db":"inventory","sequence":null,"table":"products","server_id":223344,"gtid":null,"file":"mysql-bin.%06d","pos":%d,"row":0,"thread":%d,"query":null},"op":"%s","ts_ms":%d,"transaction":null}}`,
		before, after, At(i).UnixMilli(), 3+i/100_000, 154+i%100_000*700, rng.IntN(64), op, At(i).UnixMilli()+int64(rng.IntN(900)))
	return key, value
}

// filler is a text to cut descriptions from.
const filler = "The quick survey of the northern coast found eleven bays, four of them deep enough for ships of the larger kind, and one with a spring of fresh water that does not run dry in summer. " +
	"Whoever lands there should keep to the eastern side, where the ground is firm; the western side is sand and shifts with every storm. A path leads up to the ridge in half an hour, from where on clear days both lights can be seen. " +
	"Stores for a week were left in the hut below the ridge, marked on the second sheet, together with rope, oil and a spare lamp for the winter crew."
