package dialect

import (
	"strings"
	"testing"
)

// The columns of read_kafka work without quotes wherever a column or its alias may stand.
func TestColumnsOfReadKafkaNeedNoQuotes(t *testing.T) {
	names := []string{"key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers", "KEY", "Partition"}
	for _, form := range []string{
		"SELECT % FROM t", "SELECT t.% FROM t", "SELECT DISTINCT % FROM t", "SELECT a AS % FROM t", "SELECT a % FROM t", "SELECT a %, b FROM t", "SELECT max(%) % FROM t HAVING % > 1",
		"SELECT % % FROM t", "SELECT % + 1, -%, NOT %, (%), %.% FROM t AS %", "SELECT f(%, %), count(DISTINCT %), count(DISTINCT %, a) FROM t",
		"SELECT sum(%) OVER (PARTITION BY %, a ORDER BY % ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t", "SELECT 1 FROM t WINDOW w AS (PARTITION BY % ORDER BY %)",
		"SELECT a FROM t WHERE % = 1 AND 1 = % OR % BETWEEN % AND % OR % IN (%, 1) OR % IS NULL OR % LIKE 'a'", "SELECT a FROM t WHERE (%, a) IN ((1, 2))",
		"SELECT a FROM t GROUP BY %, a ORDER BY a, % DESC LIMIT 1 OFFSET 2", "SELECT CASE % WHEN % THEN % ELSE % END FROM t",
		"SELECT EXTRACT(HOUR FROM %), CAST(% AS DATE), % + INTERVAL % DAY, TIMESTAMPDIFF(SECOND, %, now()), group_concat(% ORDER BY % SEPARATOR ',') FROM t",
		"SELECT * FROM a JOIN b USING (%)", "SELECT * FROM a JOIN b ON a.% = b.%", "SELECT * FROM t %", "SELECT * FROM t AS % JOIN u ON %.a = u.a", "SELECT * FROM (SELECT 1 AS %) %",
		"SELECT * FROM f(1) %", "SELECT * FROM f(a => %)", "WITH % AS (SELECT 1 AS %) SELECT % FROM %", "WITH c (%) AS (SELECT 1) SELECT % FROM c",
		"INSERT INTO t (a, %) VALUES (1, 2) ON DUPLICATE KEY UPDATE % = VALUES(%)", "INSERT INTO t (%) SELECT % FROM u", "INSERT INTO t SET % = 1", "UPDATE t SET % = %, a = 1 WHERE % > 1",
		"DELETE FROM t WHERE % = 1", "SELECT %->'$.a', %->>'$.a' FROM t", "SELECT %::string, %:a.b::int FROM t",
		"CREATE TABLE t (% int, b int)", "CREATE TABLE t (a int, % varchar(10) NOT NULL, PRIMARY KEY (%), KEY i (%), UNIQUE KEY (%), CHECK (% > 1))",
		"CREATE TABLE t (% int PRIMARY KEY)", "CREATE TABLE t AS SELECT % FROM u", "CREATE INDEX i ON t (a, %)", "CREATE VIEW v (%) AS SELECT % FROM t",
		"ALTER TABLE t ADD COLUMN % int", "ALTER TABLE t ADD % int AFTER %", "ALTER TABLE t DROP COLUMN %", "ALTER TABLE t DROP %", "ALTER TABLE t MODIFY % int", "ALTER TABLE t CHANGE % b int",
		"ALTER TABLE t CHANGE COLUMN % % int", "ALTER TABLE t RENAME COLUMN % TO b", "ALTER TABLE t RENAME COLUMN b TO %", "ALTER TABLE t ALTER COLUMN % SET DEFAULT 1", "ALTER TABLE t ADD INDEX i (%)",
		"SELECT * FROM JSON_TABLE('[]', '$[*]' COLUMNS (% int PATH '$.a')) x", "SELECT % FROM t UNION SELECT % FROM u ORDER BY %",
	} {
		for _, name := range names {
			text := strings.ReplaceAll(form, "%", name)
			r, err := Rewrite(text, Mode{})
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			if err := engineParses(r.SQL, Mode{}); err != nil {
				t.Errorf("%s\n%s\n%v", text, r.SQL, err)
			}
		}
	}
}
