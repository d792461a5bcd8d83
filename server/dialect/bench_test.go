package dialect

import (
	"strings"
	"testing"
)

func BenchmarkRewrite(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{"select_1", "SELECT 1"},
		{"plain_200_bytes", "SELECT o.id, o.total, c.name FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.state = 'open' AND o.total > 100 GROUP BY o.id, o.total, c.name HAVING count(*) > 1 ORDER BY o.total LIMIT 10"},
		{"plain_200_bytes_walked", "SELECT o.id, o.total, c.name FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.state = 'open' AND o.total > 100 GROUP BY o.id, o.total, c.name HAVING count(*) > 1 ORDER BY o.total LIMIT 10 # "},
		{"typical", "SELECT key::string:user_id::bigint AS u, count(*) FROM read_kafka(bootstrapServers => 'localhost:9092', subscribe => 'orders') WHERE partition = 3 AND value:type = 'paid' GROUP BY 1 LIMIT 10"},
		{"insert_1_MB", "INSERT INTO t VALUES ('" + strings.Repeat("x", 1<<20) + "')"},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(c.text)))
			for b.Loop() {
				if _, err := Rewrite(c.text, Mode{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSplit(b *testing.B) {
	text := "SELECT a, b FROM t WHERE c = 'x;y' AND d > 10; SELECT 2"
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Split(text, Mode{})
	}
}
