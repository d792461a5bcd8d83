package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sr"
)

// Payments are Avro through the registry, in two versions of a schema, as topics have them that live for a while: half way the shop began to take more than
// one currency and to note the provider. Each record carries the id of the version that it was written with.
const (
	paymentSchema1 = `{"type":"record","name":"Payment","namespace":"shop","fields":[
 {"name":"order_id","type":"long"},
 {"name":"method","type":{"type":"enum","name":"Method","symbols":["CARD","PAYPAL","INVOICE"]}},
 {"name":"amount","type":{"type":"bytes","logicalType":"decimal","precision":12,"scale":2}},
 {"name":"paid_at","type":{"type":"long","logicalType":"timestamp-millis"}},
 {"name":"note","type":["null","string"],"default":null}]}`

	paymentSchema2 = `{"type":"record","name":"Payment","namespace":"shop","fields":[
 {"name":"order_id","type":"long"},
 {"name":"method","type":{"type":"enum","name":"Method","symbols":["CARD","PAYPAL","INVOICE"]}},
 {"name":"amount","type":{"type":"bytes","logicalType":"decimal","precision":12,"scale":2}},
 {"name":"currency","type":"string","default":"EUR"},
 {"name":"paid_at","type":{"type":"long","logicalType":"timestamp-millis"}},
 {"name":"provider","type":["null",{"type":"record","name":"Provider","fields":[
   {"name":"name","type":"string"},
   {"name":"fee","type":{"type":"bytes","logicalType":"decimal","precision":6,"scale":4}}]}],"default":null},
 {"name":"note","type":["null","string"],"default":null}]}`
)

// currencyFrom is the first order whose payment is of the second version.
const currencyFrom = initialOrders / 2

var (
	methods    = []string{"CARD", "CARD", "CARD", "PAYPAL", "INVOICE"}
	currencies = []string{"EUR", "EUR", "EUR", "CZK", "USD"}
)

// paymentVersion is a version of the schema as it was registered.
type paymentVersion struct {
	schema *avro.Schema
	id     int
}

func registerPayments(ctx context.Context, registry *sr.Client) (versions [2]*paymentVersion, err error) {
	for i, text := range []string{paymentSchema1, paymentSchema2} {
		parsed, err := avro.Parse(text)
		if err != nil {
			return versions, err
		}
		registered, err := registry.CreateSchema(ctx, Payments+"-value", sr.Schema{Schema: text, Type: sr.TypeAvro})
		if err != nil {
			return versions, fmt.Errorf("register version %d of the payment schema: %w", i+1, err)
		}
		versions[i] = &paymentVersion{parsed, registered.ID}
	}
	return versions, nil
}

// paymentFor makes the payment for an order. total is its amount.
func (s *Shop) paymentFor(orderID int64, key []byte, total string, at time.Time) (*kgo.Record, error) {
	method := methods[s.rng.IntN(len(methods))]
	fields := map[string]any{"order_id": orderID, "method": method, "amount": json.Number(total), "paid_at": at, "note": nil}
	version := s.payments[0]
	if orderID >= currencyFrom {
		version = s.payments[1]
		fields["currency"] = currencies[s.rng.IntN(len(currencies))]
		if method == "PAYPAL" {
			fields["provider"] = map[string]any{"name": "PayPal", "fee": json.Number("0.0249")}
		}
	}
	value, err := version.schema.AppendEncode(s.header(version.id, nil), fields)
	if err != nil {
		return nil, fmt.Errorf("encode a payment: %w", err)
	}
	return &kgo.Record{Topic: Payments, Key: key, Value: value, Timestamp: at}, nil
}
