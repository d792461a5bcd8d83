package json

import (
	"bytes"
	"fmt"
	"math/rand"
)

// shape is a kind of record with the paths that tests and benchmarks ask for.
type shape struct {
	name    string
	records [][]byte
	paths   []string // as ParseJSONPath takes them; benchmarks use prefixes of the list
}

func shapes(records int) []shape {
	out := []shape{
		{name: "flat", paths: []string{"user_id", "event_type", "amount", "event_id", "ts", "session", "country", "ok", "n", "ref"}},
		{name: "order", paths: []string{"total", "order_id", "customer.address.city", "created_at", "customer.id", "customer.address.geo.lat", "items[0].title", "items[2].price", "tags[1]", "shipping.method"}},
		{name: "debezium", paths: []string{"op", "after.id", "after.city", "after.first_name", "after.email", "after.balance", "after.updated_at", "after.score", "source.lsn", "ts_ms"}},
	}
	makers := []func(*rand.Rand) []byte{flatRecord, orderRecord, debeziumRecord}
	for i := range out {
		r := rand.New(rand.NewSource(int64(i) + 1))
		for range records {
			out[i].records = append(out[i].records, bytes.Clone(makers[i](r)))
		}
		for j := range out[i].paths {
			out[i].paths[j] = "$." + out[i].paths[j]
		}
	}
	return out
}

var cities = []string{"Berlin", "São Paulo", "New York", "Zürich", "Tokyo", "Amsterdam"}

func flatRecord(r *rand.Rand) []byte {
	kinds := []string{"page_view", "click", "purchase", "add_to_cart", "search"}
	return fmt.Appendf(nil, `{"event_id":"%016x","user_id":%d,"event_type":"%s","ts":%d,"session":"%08x","amount":%.2f,"country":"DE","ok":%v,"n":%d,"device":"ios-%d.%d","ref":"https://ex.com/p/%d"}`,
		r.Uint64(), r.Int63n(1e12), kinds[r.Intn(5)], 1700000000000+r.Int63n(1e10), r.Uint32(), r.Float64()*1000, r.Intn(2) == 0, r.Intn(100), r.Intn(18), r.Intn(10), r.Intn(100000))
}

func orderRecord(r *rand.Rand) []byte {
	b := fmt.Appendf(nil, `{"order_id":"ord-%012d","created_at":"2026-03-%02dT%02d:%02d:%02d.%03dZ","status":"PAID","customer":{"id":%d,"name":"Customer %d","email":"c%d@example.com","address":{"street":"%d Main St.","city":"%s","zip":"%05d","geo":{"lat":%.5f,"lon":%.5f}}},"items":[`,
		r.Int63n(1e12), 1+r.Intn(28), r.Intn(24), r.Intn(60), r.Intn(60), r.Intn(1000), r.Int63n(1e9), r.Intn(1e6), r.Intn(1e6), r.Intn(999), cities[r.Intn(6)], r.Intn(99999), r.Float64()*90, r.Float64()*180)
	for k := range 5 {
		if k > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"sku":"SKU-%06d","title":"Product \"%d\" deluxe","qty":%d,"price":%.2f,"tags":["a%d","b","c"]}`, r.Intn(1e6), r.Intn(1000), 1+r.Intn(5), r.Float64()*100, r.Intn(9))
	}
	return fmt.Appendf(b, `],"payment":{"method":"card","brand":"visa","last4":"%04d"},"total":%.2f,"currency":"EUR","notes":null,"tags":["new","vip","x%d"],"shipping":{"method":"dhl","cost":%.2f,"eta":"2026-04-01"}}`, r.Intn(10000), r.Float64()*500, r.Intn(9), r.Float64()*10)
}

func customerRow(r *rand.Rand) string {
	return fmt.Sprintf(`{"id":%d,"first_name":"Fn%d","last_name":"Ln%d","email":"u%d@example.com","phone":"+49 30 %07d","balance":"%.2f","status":"active","created_at":%d,"updated_at":%d,"address_line1":"%d Long Street Name","address_line2":null,"city":"%s","postal_code":"%05d","country":"DE","loyalty_points":%d,"marketing_opt_in":%v,"notes":"some free text about this customer, number %d; prefers delivery in the morning, was called twice last week and asked for an invoice by post instead of e-mail; see the ticket for what was agreed in the end","external_refs":["crm:448812","erp:9981-22","web:a77f1c"],"consent":{"email":true,"sms":false,"post":null},"score":%.6f,"segment":"B","version":%d}`,
		r.Int63n(1e9), r.Intn(1e6), r.Intn(1e6), r.Intn(1e6), r.Intn(1e7), r.Float64()*1e4, 1700000000000000+r.Int63n(1e12), 1700000000000000+r.Int63n(1e12), r.Intn(999), cities[r.Intn(6)], r.Intn(99999), r.Intn(10000), r.Intn(2) == 0, r.Intn(1e6), r.Float64(), r.Intn(100))
}

func debeziumRecord(r *rand.Rand) []byte {
	return fmt.Appendf(nil, `{"before":%s,"after":%s,"source":{"version":"2.7.0.Final","connector":"postgresql","name":"dbserver1","ts_ms":%d,"snapshot":"false","db":"inventory","sequence":"[\"%d\",\"%d\"]","ts_us":%d,"schema":"public","table":"customers","txId":%d,"lsn":%d,"xmin":null},"transaction":null,"op":"u","ts_ms":%d,"ts_us":%d}`,
		customerRow(r), customerRow(r), 1700000000000+r.Int63n(1e10), r.Int63n(1e9), r.Int63n(1e9), 1700000000000000+r.Int63n(1e12), r.Int63n(1e6), r.Int63n(1e10), 1700000000000+r.Int63n(1e10), 1700000000000000+r.Int63n(1e12))
}

// mutate damages a record in up to three places, and sometimes cuts it.
func mutate(r *rand.Rand, rec []byte) []byte {
	const damage = "\"\\{}[],:0123456789.eE+-tfnul \n\t\x01\xff\xc3\xa9abud"
	m := bytes.Clone(rec)
	if r.Intn(4) == 0 {
		m = m[:r.Intn(len(m)+1)]
	}
	for k := r.Intn(3) + 1; k > 0 && len(m) > 0; k-- {
		i, c := r.Intn(len(m)), damage[r.Intn(len(damage))]
		switch r.Intn(3) {
		case 0:
			m[i] = c
		case 1:
			m = append(m[:i], m[i+1:]...)
		case 2:
			m = append(m[:i+1], m[i:]...)
			m[i] = c
		}
	}
	return m
}
