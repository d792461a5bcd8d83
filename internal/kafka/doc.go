// Package kafka reads ranges of topics into column batches, and follows topics.
//
// A consumer library is made for following a topic for ever; a query wants the opposite: exact ends, honest errors, every core busy, and only the
// columns it asked for. So this package uses franz-go for connections, authentication and the encoding of requests, and does the rest itself:
//
//	Pool ── Cluster ── Snapshot ───── Plan ────── source (a scan.Source)
//	clients  preflight  ids, leaders,  start, end,   Run: lanes × (fetch → decompress → parse → Sink.Push)
//	by key              log bounds     splits
//
// A Pool holds the connections of the process. A Cluster is one set of brokers with one identity. A Snapshot fixes what a statement sees: topic ids,
// leaders, and per partition the log start, the high watermark and the last stable offset. A plan turns that into splits, contiguous offset ranges
// of one partition. Run reads the splits on lanes; each lane has a client (so a connection) of its own, because a client's answers from one broker
// arrive one after the other. An idle lane steals the upper half of the largest range still running, so a hot partition is no limit.
//
// A scan for the newest records (backward.go) is a row of such scans, of windows from the end backwards. A Statement keeps what the first reference to a
// topic saw for the others of the same SQL statement.
//
// # Exact ends
//
// A range [from, to) is finished when the position, known from batch headers, has reached to. Where compaction left no batch below to, the end is
// proved by an error-free answer for this partition asked alone, not throttled, without bytes and with a bound (high watermark or last stable offset)
// at or beyond to, twice. Never by time and never by the number of empty polls of several partitions.
//
// # Tails
//
// A read without an end (Cluster.Tail) follows its partitions from where they are. Tails share one long poll for each broker:
//
//	tail ─┐                    ┌─ fetcher of broker 1: one long poll, each partition once
//	tail ─┼─ hub ──────────────┤
//	tail ─┘  cluster, identity,└─ fetcher of broker 2
//	         isolation level
//
// A tail that is behind reads what it has missed by a bounded scan and joins again; docs/adr/0006-multiplexed-tails.md says why.
//
// # Memory
//
// A lane holds one answer being parsed and one being fetched, each bounded by the fetch size, and a scratch buffer that records are decompressed
// into. Keys and values are views into that buffer, or into the answer itself where it is not compressed. Both are reused once Push has returned.
package kafka
