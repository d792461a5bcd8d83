// Package sqltest runs the scripts in testdata: SQL and what a client sees of it, over the wire of a server in the process, with an embedded
// broker beside it. A script reads as documentation; go test -rewrite fills in what the server answers.
//
//	topic name=orders partitions=2     makes a topic; a line for each record: partition key value, - for NULL
//	exec                               statements that return nothing; each on the lines up to a semicolon
//	query                              one statement that returns rows: headings, then a row a line, columns separated by |
//	prepared args=(1,x)                the same as a prepared statement (the binary protocol), with text arguments
//	user name=me password=pw           the statements that follow run as this user; without a name as root again
//
// $BROKER stands for the address of the broker. An error is shown as its number, SQLSTATE and text.
package sqltest
