// Package kafkameta is the table functions that show a Kafka cluster as tables: kafka_topics, kafka_partitions and kafka_consumer_groups.
//
// They reach the cluster as read_kafka does, with the same arguments for brokers and credentials, the same connections, errors and privilege.
// Each is a row of the table in functions.go: its arguments, its columns and what gathers its rows. Nothing is pushed into them: clusters have few
// topics beside records, so the engine filters the rows. A statement that runs a call more than once asks the cluster once.
package kafkameta
