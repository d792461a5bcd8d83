package readkafka

import "flag"

// rewriting reports whether -rewrite is set, the flag by which scripts and generated docs are refreshed; datadriven declares it.
func rewriting() bool {
	f := flag.Lookup("rewrite")
	return f != nil && f.Value.String() == "true"
}

const docHead = `# Options

Generated from the tables in the code by ` + "`make generate`" + `; edit those.

Names match without regard to case, and each may be written in camelCase or in snake_case. A name with a dot stands in back-ticks. One option under two names
with different values is an error, and so are an unknown name and NULL. What says "not supported yet" is an error too, unless the value is the default.
STREAM reads follow topics live; docs/tails.md shows how.

## read_kafka

` + "```sql" + `
SELECT value::string FROM read_kafka(bootstrapServers => 'broker:9092', subscribe => 'orders', startingTimestamp => '2026-01-31 08:00:00') LIMIT 10;
` + "```" + `

* Starting arguments win in this order: ` + "`startingTimestamp`, `startingOffsetsByTimestamp`, `startingOffsets`" + `; ending ones likewise. A warning names the one that loses.
* Times are milliseconds since 1970 as a number or text, or text ` + "`YYYY-MM-DD HH:MM:SS[.fff]`" + ` in UTC, or RFC 3339.
* A pattern is an RE2 expression. What only Java has (look-around, possessive quantifiers, back-references, intersections of classes) is an error that says so.
* Two defaults differ from Spark's: ` + "`isolationLevel` is `read_committed`, and `startingOffsetsByTimestampStrategy` is `latest`" + `.

`

const docProperties = `
## Client properties

Given as ` + "`` `kafka.security.protocol` => 'SASL_SSL' ``" + ` or together in ` + "`consumerConfigUpdates`" + `, by the names that Java clients use. A property that is not listed is an error.

`
