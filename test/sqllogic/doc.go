// Package sqllogic runs files in the format of sqllogictest, which SQLite made to compare databases: what plain SQL answers here must be what other
// databases of MySQL's kind answer. The results in testdata were written by MariaDB, not by us:
//
//	go test -tags gms_pure_go ./test/sqllogic -args -dsn 'root@tcp(127.0.0.1:3306)/?collation=utf8mb4_bin' -server mariadb -write-results
//
// runs the files against that server and writes down what it says. A file is a list of records with blank lines between:
//
//	statement ok                 a statement that must succeed
//	statement error [pattern]    one that must fail, with a message that matches
//	query IRT [sort] [label]     one that returns rows; below ---- stand the values, one a line
//	hash-threshold n             results of more than n values are written as their MD5
//	halt                         nothing after it is run
//
// The letters are the types of the columns: I integer, R a real number shown with three decimals, T text. sort is nosort, rowsort or valuesort. Queries
// with one label must give one result. skipif and onlyif on the lines before a record name a server: millrace, mariadb, or mysql for both. NULL is
// shown as NULL, an empty text as (empty), a character that cannot be printed as @. Lines that begin with # are comments.
package sqllogic
