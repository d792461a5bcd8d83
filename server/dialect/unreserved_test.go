package dialect

import (
	"strings"
	"testing"
)

// A user could make a column OFF, and not read it: MySQL does not reserve the word, and the engine's parser does.
func TestWordsThatMySQLDoesNotReserveAreNames(t *testing.T) {
	forms := []string{
		"SELECT % FROM t", "SELECT t.%, %.a FROM t", "SELECT 1 AS %", "SELECT 1 %", "SELECT max(%), a + %, -% FROM t GROUP BY % HAVING % > 1 ORDER BY % DESC", "SELECT a FROM t WHERE % = 1",
		"SELECT * FROM %", "SELECT * FROM a JOIN % ON %.a = a.a", "INSERT INTO t (a, %) VALUES (1, 2)", "UPDATE t SET % = 1", "DELETE FROM % WHERE % = 1",
		"CREATE TABLE t (a int, % int, PRIMARY KEY (%))", "CREATE TABLE % (a int)", "CREATE VIEW v AS SELECT % FROM t", "CREATE INDEX i ON t (%)", "DROP TABLE %",
		"ALTER TABLE t ADD COLUMN % int", "ALTER TABLE t DROP COLUMN %", "ALTER TABLE t RENAME COLUMN a TO %",
	}
	aliased := []string{"SELECT * FROM t AS %", "SELECT * FROM t AS % JOIN u AS b USING (a)", "WITH % AS (SELECT 1) SELECT 1", "WITH RECURSIVE % AS (SELECT 1) SELECT 1"}
	check := func(words string, forms []string) {
		for _, name := range strings.Fields(words) {
			for _, form := range forms {
				for _, name := range []string{name, strings.ToUpper(name)} {
					text := strings.ReplaceAll(form, "%", name)
					r, err := Rewrite(text, Mode{})
					if err != nil {
						t.Errorf("%s: %v", text, err)
					} else if err := engineParses(r.SQL, Mode{}); err != nil {
						t.Errorf("%s\n%s\n%v", text, r.SQL, err)
					}
				}
			}
		}
	}
	check(functionWords+" "+refusedWords, append(forms, aliased...))
	check(aliasWords, aliased)
}

func TestKeywordsStayKeywordsWhereTheyAreNoNames(t *testing.T) {
	for _, text := range []string{
		"SET autocommit = OFF", "ALTER TABLE t ADD COLUMN a int, ALGORITHM = INPLACE, LOCK = SHARED", "ALTER TABLE t ADD INDEX i (a), ALGORITHM=COPY", "CREATE TABLE t (a vector(3))",
		"SELECT now(), substring('a', 1), std(a), extract(DAY FROM a) FROM t", "GRANT ROLE_ADMIN ON *.* TO u", "CREATE TABLE t (a int COMMENT 'c') COMMENT 'd'", "SELECT * FROM t FULL JOIN u ON t.a = u.a",
		"CREATE TABLE t (a datetime DEFAULT now() ON UPDATE now())",
	} {
		if r, err := Rewrite(text, Mode{}); err != nil || r.SQL != text {
			t.Errorf("%s\n%v\n%v", text, r, err)
		}
	}
}
