package server

import (
	"github.com/dolthub/go-mysql-server/sql"

	"millrace/functions"
	"millrace/functions/kafkameta"
	"millrace/functions/readkafka"
	"millrace/functions/writekafka"
	"millrace/internal/kafka"
	"millrace/planner"
)

// functionsOf is what SQL can call: our scalar functions, and the table functions with the connections of the process behind it.
func functionsOf(e *engine, cfg Config, hosts hostRules, pool *kafka.Pool, registries *readkafka.Registries, scans *planner.Options) functionSet {
	env := readkafka.Env{Pool: pool, Registries: registries, Observe: e.observe, Decided: noteColumns}
	env.Privileges = func() sql.PrivilegedOperationChecker { return e.users }
	env.FilesDir = cfg.FilesDir
	env.Allow = hosts.allow
	env.DefaultConnection = cfg.DefaultConnection
	env.Use = func(ctx *sql.Context, kind readkafka.NamedKind, name string) (readkafka.Named, error) {
		return e.connections.use(ctx, kind, name)
	}
	reveal := func(ctx *sql.Context, scope, key string) (string, error) {
		return e.connections.secrets.reveal(ctx, scope, key)
	}
	env.Memory = scans.Budget
	env.MaxBatchBytes = min(256<<20, cfg.memory/4)
	return functionSet{tables: append(kafkameta.New(env), readkafka.New(env), writekafka.New(env)), functions: append(append(functions.Functions(), functions.RegistryFunctions(env.OpenSchema)...), functions.SecretFunction(reveal), functions.CoalesceFunction())}
}
