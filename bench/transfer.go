package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-sql-driver/mysql"
	"github.com/twmb/franz-go/pkg/kgo"
)

// transferColumns are those of read_kafka, in the order in which all servers are asked for them.
const transferColumns = "`key`, `value`, topic, `partition`, `offset`, `timestamp`, timestampType"

const transferTitle = "rows of 7 columns to a client"

// measureTransfer is P14: the records of a topic, seven columns each, to a client: from Kafka by our server, from the memory of the stock
// listener, and from an Aria table of MariaDB.
func measureTransfer(ctx context.Context, c *config, r *report) error {
	if !c.wants("P14") {
		return nil
	}
	broker, stopBroker, err := c.startBroker(ctx)
	if err != nil {
		return err
	}
	defer stopBroker()
	n := min(c.records/5, 2_000_000)
	const topic = "transfer"
	for _, t := range []struct {
		name string
		n    int
	}{{topic, n}, {topic + "-tenth", n / 10}} {
		if err := fill(ctx, broker, t.name, "lz4", t.n); err != nil {
			return err
		}
	}
	own, err := startServer(ctx, c.binary)
	if err != nil {
		return err
	}
	defer own.stop()
	source := func(topic string) string {
		return fmt.Sprintf("SELECT %s FROM read_kafka(bootstrapServers => '%s', subscribe => '%s')", transferColumns, broker, topic)
	}
	stock, err := startStock(ctx, "-broker", broker, "-topic", topic)
	if err != nil {
		return err
	}
	m := measurement{ID: "P14", Title: transferTitle, Variant: fmt.Sprintf("%d rows", n), Against: "stock", Records: n, CPUBar: 2}
	err = compareTransfer(ctx, c, &m, stock, "SELECT "+transferColumns+" FROM kafka.events", own.asMySQL(), source(topic))
	stock.stop() // its copy of the rows is large
	if err != nil {
		return err
	}
	r.add(m)
	if err := transferMariaDB(ctx, c, r, own, broker, topic, n, source(topic)); err != nil {
		return err
	}
	return transferFlat(ctx, c, r, own, n, source(topic+"-tenth"), source(topic))
}

// compareTransfer lets baseline and server take turns after it has seen that both send the same rows.
func compareTransfer(ctx context.Context, c *config, m *measurement, base *mysqlServer, baseQuery string, own *mysqlServer, query string) error {
	want, err := base.answer(ctx, baseQuery)
	if err != nil {
		return fmt.Errorf("P14: %w", err)
	}
	got, err := own.answer(ctx, query)
	if err != nil {
		return fmt.Errorf("P14: %w", err)
	}
	if got != want || want.rows != int64(m.Records) {
		return fmt.Errorf("P14: %s sends %+v, Millrace %+v, of %d records", base.name, want, got, m.Records)
	}
	for range c.pairs {
		b, err := takeAll(ctx, base, baseQuery, m.Records)
		if err != nil {
			return err
		}
		o, err := takeAll(ctx, own, query, m.Records)
		if err != nil {
			return err
		}
		m.add(b, o)
	}
	perRow := func(us []usage) float64 {
		return median(us, func(u usage) float64 { return u.CPU }) / float64(m.Records) * 1e6
	}
	m.Note = fmt.Sprintf("%.2f / %.2f µs CPU a row", perRow(m.Base), perRow(m.Own))
	return nil
}

func takeAll(ctx context.Context, s *mysqlServer, query string, records int) (usage, error) {
	u, rows, err := s.take(ctx, query)
	if err == nil && rows != int64(records) {
		err = fmt.Errorf("%s sends %d rows of %d", s.name, rows, records)
	}
	if err != nil {
		return u, fmt.Errorf("P14: %w", err)
	}
	return u, nil
}

func transferMariaDB(ctx context.Context, c *config, r *report, own *server, broker, topic string, n int, query string) error {
	maria, err := startMariaDB(ctx)
	if err != nil {
		r.missing("P14 against MariaDB", err)
		return nil
	}
	defer maria.stop()
	if err := loadEvents(ctx, maria, broker, topic); err != nil {
		return fmt.Errorf("P14: %w", err)
	}
	m := measurement{ID: "P14", Title: transferTitle, Variant: fmt.Sprintf("%d rows", n), Against: "MariaDB", Records: n, Bar: 1}
	if err := compareTransfer(ctx, c, &m, maria, "SELECT "+transferColumns+" FROM events", own.asMySQL(), query); err != nil {
		return err
	}
	r.add(m)
	return nil
}

// transferFlat compares the server's memory for a tenth of the rows and for all.
func transferFlat(ctx context.Context, c *config, r *report, own *server, n int, tenth, all string) error {
	m := measurement{ID: "P14", Title: "memory", Variant: fmt.Sprintf("%d rows", n), Against: "a tenth of the rows", Records: n, MaxRSSRatio: 1.25}
	for range c.pairs {
		small, err := takeAll(ctx, own.asMySQL(), tenth, n/10)
		if err != nil {
			return err
		}
		large, err := takeAll(ctx, own.asMySQL(), all, n)
		if err != nil {
			return err
		}
		m.add(small, large)
	}
	r.add(m)
	return nil
}

// loadEvents copies a topic into the Aria table main.events.
func loadEvents(ctx context.Context, s *mysqlServer, broker, topic string) error {
	if err := s.exec(ctx, "CREATE TABLE events (`key` LONGBLOB, `value` LONGBLOB, topic VARCHAR(249), `partition` INT, `offset` BIGINT, `timestamp` DATETIME(3), timestampType INT) ENGINE=Aria"); err != nil {
		return err
	}
	pr, pw := io.Pipe()
	mysql.RegisterReaderHandler("events", func() io.Reader { return pr })
	defer mysql.DeregisterReaderHandler("events")
	reading, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		var b []byte
		err := poll(reading, broker, topic, func(r *kgo.Record) {
			b = appendRecord(b, r)
			if len(b) > 1<<16 {
				_, _ = pw.Write(b) // fails when the server has stopped reading, which its own error tells
				b = b[:0]
			}
		})
		_, _ = pw.Write(b)
		_ = pw.CloseWithError(err)
		ended <- err
	}()
	err := s.exec(ctx, `LOAD DATA LOCAL INFILE 'Reader::events' INTO TABLE events CHARACTER SET binary FIELDS TERMINATED BY '\t' ESCAPED BY '\\' LINES TERMINATED BY '\n'`)
	cancel()
	_ = pr.Close()
	if read := <-ended; err == nil && !errors.Is(read, context.Canceled) {
		err = read
	}
	return err
}

var escapes = []struct{ from, to []byte }{{[]byte(`\`), []byte(`\\`)}, {[]byte("\t"), []byte(`\t`)}, {[]byte("\n"), []byte(`\n`)}}

// appendRecord writes a record as a line of LOAD DATA.
func appendRecord(b []byte, r *kgo.Record) []byte {
	for _, text := range [][]byte{r.Key, r.Value} {
		for _, e := range escapes {
			text = bytes.ReplaceAll(text, e.from, e.to)
		}
		b = append(append(b, text...), '\t')
	}
	b = append(append(b, r.Topic...), '\t')
	b = append(strconv.AppendInt(b, int64(r.Partition), 10), '\t')
	b = append(strconv.AppendInt(b, r.Offset, 10), '\t')
	b = append(r.Timestamp.UTC().AppendFormat(b, "2006-01-02 15:04:05.000"), '\t')
	return append(b, '0', '\n')
}
