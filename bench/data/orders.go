package data

import (
	"fmt"
	"math/rand/v2"
)

var (
	channels = []string{"web", "app", "shop", "phone"}
	cities   = []string{"Berlin", "Lyon", "Boston", "Napier", "Osaka", "Recife", "Pune", "Durban", "Brno", "Laval"}
	carriers = []string{"post", "bike", "van", "pick-up"}
)

// Orders are nested, of about 1 KB: a customer with addresses, lines, payment. The key is the customer.
var Orders = Set{Name: "orders", append: appendOrder}

func appendOrder(rng *rand.Rand, i int, key, value []byte) ([]byte, []byte) {
	customer, place := rng.IntN(50_000), rng.IntN(len(cities))
	key = fmt.Appendf(key, "customer-%05d", customer)
	ts := At(i).Format(timeFormat)
	address := func(place int) string {
		return fmt.Sprintf(`{"street":"%d Long Street","city":"%s","country":"%s","zip":"%05d","geo":{"lat":%d.%04d,"lon":%d.%04d}}`,
			1+rng.IntN(300), cities[place], countries[place], rng.IntN(100_000), rng.IntN(90), rng.IntN(10_000), rng.IntN(180), rng.IntN(10_000))
	}
	value = fmt.Appendf(value, `{"order_id":%d,"ts":"%s","channel":"%s","customer":{"id":%d,"name":"Customer %05d","tier":%d,"email":"c%05d@example.com","address":%s},"items":[`,
		i, ts, channels[rng.IntN(len(channels))], customer, customer, rng.IntN(4), customer, address(place))
	total := 0
	for n, lines := 0, 3+rng.IntN(3); n < lines; n++ {
		if n > 0 {
			value = append(value, ',')
		}
		qty, cents := 1+rng.IntN(5), 100+rng.IntN(20_000)
		total += qty * cents
		value = fmt.Appendf(value, `{"sku":"SKU-%06d","title":"Thing number %d, boxed","qty":%d,"cents":%d}`, rng.IntN(100_000), rng.IntN(100_000), qty, cents)
	}
	value = fmt.Appendf(value, `],"payment":{"method":"card","cents":%d,"currency":"EUR","authorised":%t},"shipping":{"carrier":"%s","express":%t,"address":%s},"notes":"Leave it at the door; ring twice, \"please\".","total":%d.%02d}`,
		total, rng.IntN(20) > 0, carriers[rng.IntN(len(carriers))], rng.IntN(5) == 0, address(rng.IntN(len(cities))), total/100, total%100)
	return key, value
}
