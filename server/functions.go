package server

import (
	"millrace/functions"
	"millrace/functions/kafkameta"
	"millrace/functions/readkafka"
	"millrace/internal/kafka"
)

// functionsOf is what SQL can call: our scalar functions, and the table functions with the connections of the process behind it.
func functionsOf(e *engine, cfg Config, hosts hostRules, pool *kafka.Pool) functionSet {
	env := readkafka.Env{Pool: pool, Observe: e.observe}
	env.FilesDir = cfg.FilesDir
	env.Allow = hosts.allow
	env.MaxBatchBytes = min(256<<20, cfg.memory/4)
	return functionSet{tables: append(kafkameta.New(env), readkafka.New(env)), functions: functions.Functions()}
}
