// Package writekafka is write_kafka: SQL's way to write rows to Kafka topics.
//
//	INSERT INTO write_kafka(topic => 'out', …) SELECT …      CREATE FLOW f AS INSERT INTO write_kafka(…) BY NAME query
//	      │ Node: the call in a plan; names, privileges           │
//	      ▼                                                      ▼
//	    Args  ── Plan(columns of the query) ──▶ Plan      what each column is for, how values and keys are encoded
//	                                            │ Open
//	                                            ▼
//	                                         Writer      batches of rows ──▶ kafka.Producer
//
// Everything is decided before the first row: options are bound, columns have their roles, encoders their schemas. What is wrong with a row is told with its
// number. Arguments are a table of data (args_table.go), from which binding, errors and docs/write-kafka.md come; they are read as those of read_kafka are.
package writekafka
