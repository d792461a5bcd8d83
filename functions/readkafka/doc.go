// Package readkafka is the table function read_kafka: SQL's view of Kafka topics.
//
// A call goes through three stages:
//
//	read_kafka('#named', 'subscribe', 'orders', …)      the dialect's form of read_kafka(subscribe => 'orders', …)
//	      │ NewInstance: names are checked; values too, where they are known (not ?, not in PREPARE)
//	      ▼
//	  Node ── Fields, Schema ──▶ planner: what to push       the plan holds no connection and no offsets
//	      │ Open, once for each execution
//	      ▼
//	  internal/kafka: cluster, starts and ends, splits ──▶ scan.Source
//
// Arguments are a table of data (args_table.go), from which binding, errors and docs/options.md come. The arguments are the user's and may
// hold secrets: nothing here prints them but through Args, which redacts.
package readkafka
