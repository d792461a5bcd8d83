#!/usr/bin/env bash
# The steps for the mariadb command line client: HOST PORT BROKERS TOPIC.
set -uo pipefail
host=$1 port=$2 brokers=$3 topic=$4
sql() { mariadb --no-defaults -h "$host" -P "$port" -u root --default-character-set=utf8mb4 --skip-column-names --batch --raw --quick -e "$1" 2>&1; }
show() { local out; out=$(sql "$2" | head -1 | tr '\t' '|'); echo "$1 = $out"; }
fails() { local out; out=$(sql "$2" | sed -n 's/^ERROR \([0-9]*\).*/\1/p'); echo "$1 = ${out:-no error}"; }
read="read_kafka(bootstrapServers => '$brokers', subscribe => '$topic')"
show select "SELECT 1"
show version "SELECT version()"
show count "SELECT COUNT(*) FROM $read"
show prepared "SET @b = '$brokers', @t = '$topic', @o = 500; PREPARE s FROM 'SELECT COUNT(*) FROM read_kafka(bootstrapServers => ?, subscribe => ?) WHERE offset >= ?'; EXECUTE s USING @b, @t, @o"
show row "SELECT key, value, topic, partition, offset, timestamp, timestampType FROM $read WHERE offset = 7"
show path "SELECT value::string:id::bigint, value::string:big::bigint, value::string:name FROM $read WHERE offset = 8"
show null "SELECT value FROM $read WHERE offset = 999"
show all "SELECT COUNT(*), SUM(length(key)), MIN(offset), MAX(offset) FROM $read WHERE partition = 0"
fails "unknown topic" "SELECT COUNT(*) FROM read_kafka(bootstrapServers => '$brokers', subscribe => 'no-such-topic')"
show "after error" "SELECT 1"
fails "error after rows" "SELECT value::string:id::bigint FROM $read WHERE offset < 950"
show usable "SELECT 2"
echo "streamed = $(sql "SELECT * FROM $read" | wc -l)"
