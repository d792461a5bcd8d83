package planner

import "testing"

// TestPushedAndUnpushedAgree runs queries of every shape that the rule touches, and of shapes that it must not, both ways.
func TestPushedAndUnpushedAgree(t *testing.T) {
	e := newTestEngine(t, generate(1, 400))
	for _, q := range []string{
		"SELECT * FROM records()",
		"SELECT * FROM records() r WHERE r.`partition` = 1",
		"SELECT `key`, `value` FROM records() WHERE topic = 'a' AND `offset` BETWEEN 3 AND 9",
		"SELECT COUNT(*) FROM records()",
		"SELECT COUNT(*), COUNT(`key`), COUNT(1), COUNT(NULL), COUNT(`offset`) FROM records() WHERE `offset` >= 5",
		"SELECT SUM(`offset`), AVG(`offset`), MIN(`key`), MAX(`value`), MIN(`timestamp`), MAX(topic) FROM records()",
		"SELECT SUM(length(`value`)) + SUM(length(`key`)) FROM records()",
		"SELECT SUM(`offset`), MIN(`key`), MAX(topic), COUNT(*), AVG(length(`key`)) FROM records() WHERE `offset` < 0",
		"SELECT length(`value`), octet_length(`key`), char_length(`key`) FROM records()",
		"SELECT `offset` FROM records() WHERE `timestamp` >= '2026-01-02 03:04:30' AND `timestamp` < '2026-01-02 03:04:40'",
		"SELECT `offset` FROM records() WHERE `timestamp` > '2026-01-02 03:04:30.0005'",
		"SELECT `offset` FROM records() WHERE `timestamp` IS NULL OR `partition` = 2",
		"SELECT `offset` FROM records() WHERE NOT (`partition` = 1 OR `partition` = 2)",
		"SELECT `offset` FROM records() WHERE `partition` IN (0, 2) AND `offset` NOT IN (1, 3, 5)",
		"SELECT `offset` FROM records() WHERE (`partition` = 0 AND `offset` > 5) OR (`partition` = 1 AND `offset` < 3)",
		"SELECT `offset` FROM records() WHERE `key` = 'k1'",
		"SELECT `offset` FROM records() WHERE `key` IN ('k1', 'K1', x'ff00')",
		"SELECT `offset` FROM records() WHERE `key` <=> NULL",
		"SELECT `offset` FROM records() WHERE `key` IS NOT NULL AND length(`value`) > 4",
		"SELECT `offset` FROM records() WHERE `offset` > 2.5 AND `offset` <= '9' AND `partition` <> 1.0",
		"SELECT `offset` FROM records() WHERE `offset` = 2.5",
		"SELECT `offset` FROM records() WHERE `offset` % 3 = 1 AND `partition` = 0",
		"SELECT `offset` + 1, concat(topic, '-', `partition`) FROM records() WHERE `partition` = 0",
		"SELECT `key` FROM v WHERE len > 3 AND `partition` = 1",
		"SELECT COUNT(*) FROM v WHERE `offset` < 7",
		"SELECT * FROM (SELECT topic AS t, `offset` AS o FROM records() WHERE `partition` = 0) d WHERE o > 4",
		"WITH c AS (SELECT topic, `offset`, `value` FROM records()) SELECT topic, COUNT(*), SUM(`offset`) FROM c WHERE `offset` < 9 GROUP BY topic",
		"WITH c AS (SELECT topic, `offset`, `partition` FROM records()) SELECT x.`offset`, y.`value` FROM c x JOIN records() y ON x.`offset` = y.`offset` AND x.topic = y.topic AND x.`partition` = y.`partition` WHERE x.`partition` = 1",
		"SELECT `offset` FROM records() WHERE topic = 'a' UNION ALL SELECT n FROM numbers",
		"SELECT topic FROM records() UNION SELECT topic FROM v WHERE `partition` = 1",
		"SELECT n, (SELECT COUNT(*) FROM records() WHERE `partition` = n) FROM numbers",
		"SELECT n, (SELECT COUNT(*) FROM records() WHERE `partition` = 1 AND topic = s) FROM numbers",
		"SELECT n, (SELECT SUM(`offset`) FROM records() WHERE `partition` = 1) FROM numbers",
		"SELECT n, l.c, l.m FROM numbers, LATERAL (SELECT COUNT(*) AS c, MAX(`offset`) AS m FROM records() WHERE `partition` = n) l",
		"SELECT n, l.`offset` FROM numbers, LATERAL (SELECT `offset` FROM records() WHERE `partition` = 1 AND `offset` < n) l",
		"SELECT n FROM numbers WHERE EXISTS (SELECT 1 FROM records() WHERE `offset` = n AND `partition` = 2)",
		"SELECT n FROM numbers WHERE n IN (SELECT `partition` FROM records() WHERE topic = 'b')",
		"SELECT n FROM numbers WHERE n NOT IN (SELECT `offset` FROM records() WHERE topic = 'b' AND `partition` = 0)",
		"SELECT `offset` FROM records() r WHERE `offset` = (SELECT MAX(`offset`) FROM records() i WHERE i.`partition` = r.`partition`)",
		"SELECT `offset` FROM records() r WHERE EXISTS (SELECT 1 FROM numbers WHERE n = r.`offset`) AND r.topic = 'a'",
		"SELECT r.`value`, n.s FROM records() r JOIN numbers n ON r.`offset` = n.n",
		"SELECT r.`value`, n.s FROM numbers n LEFT JOIN records() r ON r.`offset` = n.n AND r.`partition` = 0 AND r.topic = 'a'",
		"SELECT a.`offset`, COUNT(*) FROM records() a JOIN records() b ON a.`offset` = b.`offset` WHERE a.`partition` = 0 GROUP BY a.`offset`",
		"SELECT DISTINCT topic, `partition` FROM records()",
		"SELECT topic, COUNT(*) c FROM records() GROUP BY topic HAVING c > 10",
		"SELECT `offset`, `timestamp` FROM records() WHERE `timestamp` IS NOT NULL ORDER BY `timestamp`, `offset`, `partition`, topic",
		"SELECT topic, `partition`, `offset` FROM records() ORDER BY topic, `partition`, `offset` LIMIT 10",
		"SELECT topic, `offset`, ROW_NUMBER() OVER (PARTITION BY topic, `partition` ORDER BY `offset`) FROM records() WHERE `partition` = 1",
		"SELECT topic, `offset`, SUM(`offset`) OVER (PARTITION BY topic, `partition` ORDER BY `offset`) FROM records()",
		"SELECT COUNT(*) FROM (SELECT * FROM records() LIMIT 13) d",
		"SELECT COUNT(*) FROM (SELECT * FROM records() LIMIT 13 OFFSET 5) d",
		"SELECT COUNT(*) FROM (SELECT `offset` + 1 FROM records() WHERE `partition` = 0 LIMIT 4 OFFSET 2) d",
		"SELECT COUNT(*) FROM (SELECT * FROM (SELECT * FROM records() LIMIT 20) x LIMIT 5 OFFSET 10) d",
		"SELECT COUNT(*) FROM (SELECT * FROM (SELECT * FROM records() LIMIT 20) x WHERE `offset` >= 0) d",
		"SELECT COUNT(*) FROM records() LIMIT 0",
		"SELECT headers, timestampType FROM records() WHERE headers IS NOT NULL",
		"SELECT `key` = 'k1', `offset` > 3 AND `partition` = 0, topic <=> 'a' FROM records()",
		"SELECT 1, 'x', `offset` FROM records() WHERE `partition` = 0",
		"SELECT COUNT(DISTINCT topic), COUNT(*) FROM records()",
		"SELECT GROUP_CONCAT(DISTINCT topic ORDER BY topic) FROM records()",
	} {
		e.both(q)
		if n := e.log.open.Load(); n != 0 {
			t.Errorf("%s: %d sources are left open", q, n)
			e.log.open.Store(0)
		}
	}
}
