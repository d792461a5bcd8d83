// Package demo is the first thing a stranger runs: an embedded broker and schema registry, a small shop's topics, and a tour of telling
// statements over the real MySQL protocol.
//
//	StartBroker, StartRegistry   the parts that a laptop lacks; a real broker may stand in
//	Fill                         orders (JSON), payments (Avro), page views (Protobuf), customers (compacted), a few bad records
//	Tour                         the statements, each with its result and what it read
//	Generate                     keeps producing until it is told to stop
package demo
