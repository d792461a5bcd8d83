// Package script runs scripts of SQL against a server and shows what a client sees of it: over the wire, with an embedded broker beside the server.
// A script reads as documentation; go test -rewrite fills in what the server answers. The commands:
//
//	topic name=orders partitions=2      makes a topic and its records; cleanup=compact sets its policy
//	produce name=orders                 adds records, with codec=zstd compressed, with transaction=commit, abort or open (and id=a)
//	                                    in a transaction
//	end id=a transaction=commit         ends a transaction that was left open
//	trim name=orders partition=0 offset=5   removes the records before offset 5, as retention does
//	partitions name=orders count=5      gives a topic more partitions
//	compact                             compacts the topics that are to be
//	exec                                statements that return nothing; each on the lines up to a semicolon at the end of a line
//	query                               one statement that returns rows: headings, then a row a line, columns separated by |
//	prepared args=(1,x)                 the same as a prepared statement with text arguments only
//	multi                               several statements sent as one text; their results are shown one after the other
//	user name=me password=pw            the statements that follow run as this user; without a name as root again; in database=main if not told, database=none for none
//	reconnect                           the statements that follow run in a new session
//
// A record is a line: partition key value. A key or value is text, - for NULL, two apostrophes for empty bytes or x'00ff' for any bytes. Before the partition may
// stand @1700000000123 for the timestamp (else a second after the one before), h:name=value and h:name for a header with and without a value, and
// 1000* for as many records in one batch, where $i in key and value is the number of the record. Every line is a record batch of its own.
//
// A query runs three times and must answer the same: as text, as a prepared statement (the binary protocol), and with pushdown off. Flags on the
// command change that: once runs it as text only, pushed leaves out the third run, sorted shows the rows in the order of their text, types shows
// the type of each column, warnings what SHOW WARNINGS says afterwards. $BROKER stands for the address of the broker. An error is shown as its
// number, SQLSTATE and text.
package script
