package demo

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// stop is one place of the tour: a sentence, and a statement that shows it.
type stop struct {
	says string
	sql  string
}

// stops are the statements of the tour in order. BROKERS, REGISTRY and SINCE are replaced by the bootstrap address, the URL of the schema registry and a time in
// milliseconds.
var stops = []stop{
	{
		"Any topic, at once: nothing was set up for this.",
		`SELECT value::string:type AS type, count(*) AS orders, sum(value::string:total::decimal(12,2)) AS revenue
FROM read_kafka(bootstrapServers => 'BROKERS', subscribe => 'orders')
WHERE value::string:type IS NOT NULL
GROUP BY 1 ORDER BY revenue DESC`,
	},
	{
		"The last ten messages, with where and when they are.",
		`SELECT topic, partition, offset, timestamp, value::string:order_id AS order_id, value::string:customer.city AS city
FROM read_kafka(bootstrapServers => 'BROKERS', subscribe => 'orders')
ORDER BY timestamp DESC, offset DESC LIMIT 10`,
	},
	{
		"A count over the last ten minutes: the brokers are asked for the offsets of that time, the rest of the topic is not read.",
		`SELECT count(*) AS orders_in_ten_minutes
FROM read_kafka(bootstrapServers => 'BROKERS', subscribe => 'orders', startingTimestamp => 'SINCE')`,
	},
	{
		"Counting a whole topic needs the headers of its batches only.",
		`SELECT count(*) AS everything FROM read_kafka(bootstrapServers => 'BROKERS', subscribePattern => '.*')`,
	},
	{
		"Paths reach into nested JSON, exact to the last digit.",
		`SELECT value::string:items[0].sku AS first_item, count(*) AS n, max(value::string:total::decimal(12,2)) AS largest
FROM read_kafka(bootstrapServers => 'BROKERS', subscribe => 'orders')
WHERE value::string:customer.city = 'Kyoto'
GROUP BY 1 ORDER BY n DESC`,
	},
	{
		"Bad records do not hide and do not stop anything: ?:: gives NULL where a cast fails.",
		`SELECT partition, offset, value IS NULL AS tombstone, value::string AS raw
FROM read_kafka(bootstrapServers => 'BROKERS', subscribe => 'orders')
WHERE (value::string:order_id ?:: bigint) IS NULL
ORDER BY partition, offset`,
	},
	{
		"Headers, when asked for.",
		`SELECT offset, headers, header(headers, 'source')::string AS source
FROM read_kafka(bootstrapServers => 'BROKERS', subscribe => 'orders', includeHeaders => true)
WHERE partition = 1 LIMIT 3`,
	},
	{
		"JSON as typed columns; _error says what is wrong with a record.",
		`SELECT order_id, total, ts, _partition, _offset, _error
FROM read_kafka(bootstrapServers => 'BROKERS', subscribe => 'orders', format => 'json', schema => 'order_id BIGINT, total DECIMAL(12,2), ts TIMESTAMP')
WHERE _error IS NOT NULL`,
	},
	{
		"Avro from a schema registry: two versions of a schema in one topic.",
		`SELECT currency, method, count(*) AS payments, sum(amount) AS amount, max(provider:fee) AS fee
FROM read_kafka(bootstrapServers => 'BROKERS', subscribe => 'payments', format => 'avro', schemaRegistryUrl => 'REGISTRY')
GROUP BY currency, method ORDER BY payments DESC LIMIT 6`,
	},
	{
		"And Protobuf.",
		`SELECT url, count(*) AS views, avg(millis) AS millis
FROM read_kafka(bootstrapServers => 'BROKERS', subscribe => 'page_views', format => 'proto', schemaRegistryUrl => 'REGISTRY')
GROUP BY url ORDER BY views DESC`,
	},
	{
		"A view gives a topic a name and types; predicates still reach the brokers through it.",
		`CREATE OR REPLACE VIEW main.orders AS
SELECT value::string:order_id ?:: bigint AS order_id, value::string:type AS type, value::string:customer.id AS customer,
       value::string:total ?:: decimal(12,2) AS total, to_timestamp(value::string:ts) AS ts, partition, offset
FROM read_kafka(bootstrapServers => 'BROKERS', subscribe => 'orders')`,
	},
	{
		"",
		`EXPLAIN SELECT order_id, total FROM main.orders WHERE partition = 2 AND offset BETWEEN 100 AND 102`,
	},
	{
		"",
		`SELECT order_id, type, total, ts FROM main.orders WHERE partition = 2 AND offset BETWEEN 100 AND 102`,
	},
	{
		"Topics join like tables: a compacted topic of customers beside the view.",
		`WITH latest AS (
  SELECT key::string AS id, max(offset) AS at, partition AS part
  FROM read_kafka(bootstrapServers => 'BROKERS', subscribe => 'customers') GROUP BY 1, 3)
SELECT c.value::string:city AS city, count(*) AS orders, sum(o.total) AS revenue
FROM main.orders o
JOIN latest l ON l.id = o.customer
JOIN read_kafka(bootstrapServers => 'BROKERS', subscribe => 'customers') c ON c.partition = l.part AND c.offset = l.at
WHERE c.value IS NOT NULL
GROUP BY 1 ORDER BY revenue DESC`,
	},
	{
		"A streaming table keeps itself fresh, exactly once, over every crash.",
		`CREATE OR REFRESH STREAMING TABLE main.live_orders AS
SELECT value::string:order_id::bigint AS order_id, value::string:type AS type, value::string:customer.city AS city,
       value::string:total::decimal(12,2) AS total, partition, offset, timestamp AS ts
FROM STREAM read_kafka(bootstrapServers => 'BROKERS', subscribe => 'orders', startingOffsets => 'earliest')`,
	},
	{
		"It answers at the speed of memory.",
		`SELECT city, count(*) AS orders, sum(total) AS revenue, max(ts) AS newest FROM main.live_orders WHERE total > 0 GROUP BY city ORDER BY revenue DESC LIMIT 5`,
	},
	{
		"How it is doing, and how far it is behind each partition.",
		`SHOW STREAMING TABLES FROM main`,
	},
	{
		"",
		"SELECT topic, `partition`, next_offset, end_offset, lag FROM information_schema.streaming_table_partitions WHERE table_name = 'live_orders' ORDER BY `partition`",
	},
	{
		"Records on which its query fails are kept with their bytes.",
		"SELECT `partition`, `offset`, value::string AS raw, error FROM main.`live_orders$errors` ORDER BY `partition`, `offset`",
	},
}

// Tour runs the stops on the server at addr over the MySQL protocol and writes each statement, its result and what it read to out.
func Tour(ctx context.Context, addr, brokers, registry string, now time.Time, out io.Writer) error {
	cfg := mysql.NewConfig()
	cfg.User, cfg.Net, cfg.Addr, cfg.DBName = "root", "tcp", addr, "main"
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer func() { _ = db.Close() }()
	conn, err := db.Conn(ctx) // one connection: what a statement read is a variable of its session
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	fill := strings.NewReplacer("BROKERS", brokers, "REGISTRY", registry, "SINCE", strconv.FormatInt(now.Add(-10*time.Minute).UnixMilli(), 10))
	for _, s := range stops {
		if err := visit(ctx, conn, s.says, fill.Replace(s.sql), out); err != nil {
			return err
		}
	}
	return nil
}

func visit(ctx context.Context, conn *sql.Conn, says, statement string, out io.Writer) error {
	if says != "" {
		fmt.Fprintf(out, "\n-- %s\n", says)
	} else {
		fmt.Fprintln(out)
	}
	fmt.Fprintf(out, "%s;\n", statement)
	before, err := lastScan(ctx, conn)
	if err != nil {
		return err
	}
	start := time.Now()
	rows, err := conn.QueryContext(ctx, statement)
	if err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	head, cells, err := fetch(rows)
	if err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	took := time.Since(start)
	if len(head) > 0 {
		writeTable(out, head, cells)
	}
	read, err := lastScan(ctx, conn)
	if err != nil {
		return err
	}
	line := fmt.Sprintf("%d rows in %s", len(cells), took.Round(100*time.Microsecond))
	if len(cells) == 1 {
		line = strings.Replace(line, "rows", "row", 1)
	}
	if len(head) == 0 {
		line = fmt.Sprintf("done in %s", took.Round(100*time.Microsecond))
	}
	if read.id != before.id {
		line += fmt.Sprintf(", read %d records, %s", read.records, size(read.bytes))
	}
	fmt.Fprintf(out, "(%s)\n", line)
	return nil
}

// scanned is the newest scan of a session, and what the last statement that scanned a topic has read.
type scanned struct{ id, records, bytes int64 }

// lastScan asks for it. A statement that reads no topic leaves it as it is: the variables tell of the one before.
func lastScan(ctx context.Context, conn *sql.Conn) (s scanned, err error) {
	err = conn.QueryRowContext(ctx, `SELECT coalesce(max(scan_id), 0), @@last_scan_records, @@last_scan_bytes
FROM information_schema.kafka_scans WHERE connection_id = connection_id()`).Scan(&s.id, &s.records, &s.bytes)
	return s, err
}

// fetch reads all rows as text; NULL is shown as NULL.
func fetch(rows *sql.Rows) (head []string, cells [][]string, err error) {
	defer func() { _ = rows.Close() }()
	if head, err = rows.Columns(); err != nil {
		return nil, nil, err
	}
	raw, ptrs := make([]sql.RawBytes, len(head)), make([]any, len(head))
	for i := range raw {
		ptrs[i] = &raw[i]
	}
	for rows.Next() {
		if err := rows.Scan(ptrs...); err != nil {
			return nil, nil, err
		}
		row := make([]string, len(head))
		for i, b := range raw {
			if row[i] = string(b); b == nil {
				row[i] = "NULL"
			}
		}
		cells = append(cells, row)
	}
	return head, cells, rows.Err()
}

func size(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	default:
		return fmt.Sprintf("%d bytes", n)
	}
}
