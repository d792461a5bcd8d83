package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sr"
)

// The topics of the demo.
const (
	Orders    = "orders"
	Payments  = "payments"
	PageViews = "page_views"
	Customers = "customers"
	// These have no records: they are there for what users write.
	Shipments = "shipments"
	Failed    = "shipments_errors"
	Visits    = "visits"
)

const (
	initialOrders    = 20_000
	initialViews     = 10_000
	initialCustomers = 200
)

// Shop produces the demo's records. It is used by one goroutine.
type Shop struct {
	cl        *kgo.Client
	payments  [2]*paymentVersion
	views     *pageViews
	rng       *rand.Rand
	nextOrder int64
	nextView  uint64
}

// OpenShop connects to the broker, creates the topics that are missing and registers the schemas.
func OpenShop(ctx context.Context, brokers, registryURL string) (*Shop, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(brokers), kgo.ProducerBatchCompression(kgo.Lz4Compression()), kgo.ProducerLinger(0), kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)))
	if err != nil {
		return nil, err
	}
	s := &Shop{cl: cl, rng: rand.New(rand.NewPCG(7, 11)), nextOrder: 1, nextView: 1}
	if err := s.open(ctx, registryURL); err != nil {
		cl.Close()
		return nil, fmt.Errorf("demo data: %w", err)
	}
	return s, nil
}

func (s *Shop) open(ctx context.Context, registryURL string) error {
	adm := kadm.NewClient(s.cl)
	compact := "compact"
	for name, config := range map[string]map[string]*string{Orders: nil, Payments: nil, PageViews: nil, Customers: {"cleanup.policy": &compact}, Shipments: nil, Failed: nil, Visits: nil} {
		if _, err := adm.CreateTopic(ctx, 4, 1, config, name); err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
			return fmt.Errorf("create topic %s: %w", name, err)
		}
	}
	registry, err := sr.NewClient(sr.URLs(registryURL))
	if err != nil {
		return err
	}
	if s.payments, err = registerPayments(ctx, registry); err != nil {
		return err
	}
	if s.views, err = registerPageViews(ctx, registry); err != nil {
		return err
	}
	return nil
}

// Close closes the connection to the broker.
func (s *Shop) Close() { s.cl.Close() }

type item struct {
	SKU   string  `json:"sku"`
	Qty   int     `json:"qty"`
	Price float64 `json:"price"`
}

type order struct {
	OrderID  int64  `json:"order_id"`
	Type     string `json:"type"`
	Customer struct {
		ID   string `json:"id"`
		City string `json:"city"`
	} `json:"customer"`
	Items []item `json:"items"`
	Total string `json:"total"`
	TS    string `json:"ts"`
}

var (
	orderTypes = []string{"web", "app", "store", "partner"}
	cities     = []string{"Prague", "Lisbon", "Oslo", "Kyoto", "Lima", "Nairobi"}
	skus       = []string{"tea-green", "tea-black", "mug-blue", "kettle", "sieve", "honey"}
)

// order makes the order with the next number and the payment for it.
func (s *Shop) order(at time.Time) (*kgo.Record, *kgo.Record, error) {
	var o order
	o.OrderID, s.nextOrder = s.nextOrder, s.nextOrder+1
	o.Type = orderTypes[s.rng.IntN(len(orderTypes))]
	o.Customer.ID = fmt.Sprintf("c%04d", s.rng.IntN(initialCustomers))
	o.Customer.City = cities[s.rng.IntN(len(cities))]
	cents := 0
	for range 1 + s.rng.IntN(3) {
		it := item{SKU: skus[s.rng.IntN(len(skus))], Qty: 1 + s.rng.IntN(4), Price: float64(199+s.rng.IntN(4000)) / 100}
		cents += it.Qty * int(it.Price*100+0.5)
		o.Items = append(o.Items, it)
	}
	o.Total = fmt.Sprintf("%d.%02d", cents/100, cents%100)
	o.TS = at.UTC().Format("2006-01-02T15:04:05.000Z")
	value, err := json.Marshal(o)
	if err != nil {
		return nil, nil, err
	}
	key := []byte(o.Customer.ID)
	paid, err := s.paymentFor(o.OrderID, key, o.Total, at.Add(2*time.Second))
	if err != nil {
		return nil, nil, err
	}
	headers := []kgo.RecordHeader{{Key: "source", Value: []byte(o.Type)}, {Key: "trace", Value: fmt.Appendf(nil, "%016x", s.rng.Uint64())}}
	return &kgo.Record{Topic: Orders, Key: key, Value: value, Timestamp: at, Headers: headers}, paid, nil
}

// header is the Confluent frame: a zero byte, the schema id and, for Protobuf, the index of the message.
func (s *Shop) header(id int, index []int) []byte {
	b := []byte{0, byte(id >> 24), byte(id >> 16), byte(id >> 8), byte(id)}
	if index != nil {
		b = append(b, 0) // the short form of index [0]
	}
	return b
}

func customer(id, revision int) *kgo.Record {
	return &kgo.Record{Topic: Customers, Key: fmt.Appendf(nil, "c%04d", id), Value: fmt.Appendf(nil, `{"id":"c%04d","city":"%s","revision":%d}`, id, cities[(id+revision)%len(cities)], revision)}
}

// badOrders are what real topics hold as well: text, a cut record, a wrong type, a tombstone.
func badOrders(at time.Time) []*kgo.Record {
	var rs []*kgo.Record
	for _, v := range []string{"not json at all", `{"order_id": 17, "type": "web", "to`, `{"order_id":"seventeen","type":"web","total":"1.00"}`} {
		rs = append(rs, &kgo.Record{Topic: Orders, Key: []byte("bad"), Value: []byte(v), Timestamp: at})
	}
	return append(rs, &kgo.Record{Topic: Orders, Key: []byte("bad"), Timestamp: at})
}

// Fill produces the initial records: two hours of orders with their payments, page views, customers in several revisions, bad records.
func (s *Shop) Fill(ctx context.Context, now time.Time) error {
	first := now.Add(-2 * time.Hour)
	p := newProducer(ctx, s.cl)
	for i := range initialOrders {
		o, paid, err := s.order(first.Add(time.Duration(i) * 2 * time.Hour / initialOrders))
		if err != nil {
			return err
		}
		p.produce(o, paid)
		if i == initialOrders/2 {
			p.produce(badOrders(first.Add(time.Hour))...)
		}
	}
	for i := range initialViews {
		v, err := s.pageView(first.Add(time.Duration(i) * 2 * time.Hour / initialViews))
		if err != nil {
			return err
		}
		p.produce(v)
	}
	for revision := range 5 {
		for id := range initialCustomers {
			p.produce(customer(id, revision))
		}
	}
	p.produce(&kgo.Record{Topic: Customers, Key: []byte("c0013")}) // deleted
	return p.flush()
}

// Generate produces orders, payments and page views, a few a second, until ctx ends; that is no error.
func (s *Shop) Generate(ctx context.Context) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			o, paid, err := s.order(now)
			if err != nil {
				return err
			}
			v, err := s.pageView(now)
			if err != nil {
				return err
			}
			p := newProducer(ctx, s.cl)
			p.produce(o, paid, v)
			if err := p.flush(); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
}

// producer collects the first error of asynchronous production.
type producer struct {
	ctx context.Context
	cl  *kgo.Client
	err kgo.FirstErrPromise
}

func newProducer(ctx context.Context, cl *kgo.Client) *producer { return &producer{ctx: ctx, cl: cl} }

func (p *producer) produce(rs ...*kgo.Record) {
	for _, r := range rs {
		p.cl.Produce(p.ctx, r, p.err.Promise())
	}
}

// flush waits until every record is acknowledged.
func (p *producer) flush() error { return p.err.Err() }
