package readkafka

import (
	"millrace/internal/kafka"
	"millrace/internal/option"
	"millrace/internal/sqlerr"
)

// BindConnection binds a call of another table function that reaches Kafka as read_kafka does: its table holds ConnectionArguments and its own.
// The warnings of the values say what was given and changes nothing.
func BindConnection(table *option.Table, pairs []option.Pair, env ArgsEnv) (*option.Values, kafka.Config, error) {
	pairs, err := spreadConsumerConfig(table, pairs, false)
	if err != nil {
		return nil, kafka.Config{}, err
	}
	values, err := table.Bind(pairs, false)
	if err != nil {
		return nil, kafka.Config{}, err
	}
	config, err := bindCluster(values, env)
	return values, config, err
}

// bindCluster binds the arguments that say how to reach the cluster.
func bindCluster(v *option.Values, env ArgsEnv) (kafka.Config, error) {
	if !v.Has("bootstrapServers") && env.DefaultConnection != "" {
		return kafka.Config{}, sqlerr.New(sqlerr.NotSupported, "the server's default connection '%s' is not supported yet", env.DefaultConnection).
			WithHint("give bootstrapServers => 'broker:9092'")
	}
	if err := v.Require("bootstrapServers"); err != nil {
		return kafka.Config{}, err
	}
	brokers, err := kafka.ParseBrokers(v.List("bootstrapServers"))
	if err != nil {
		return kafka.Config{}, v.Invalid("bootstrapServers", "%w", err)
	}
	base := kafka.Config{
		Brokers: brokers, Allow: env.Allow, MaxBatchBytes: env.MaxBatchBytes,
		ConnectTimeout: env.ConnectTimeout, FetchRetryTimeout: env.FetchRetryTimeout, DialTimeout: env.DialTimeout, RequestTimeout: env.RequestTimeout,
	}
	config, warnings, err := kafka.ParseProperties(base, v.Under("kafka.*"), kafka.PropertyOptions{FilesDir: env.FilesDir})
	if err != nil {
		return kafka.Config{}, err
	}
	v.Warnings = append(v.Warnings, warnings...)
	return config, nil
}
