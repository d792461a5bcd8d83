package readkafka

import (
	"millrace/internal/kafka"
	"millrace/internal/option"
)

// BindConnection binds a call of another table function that reaches Kafka as read_kafka does: its table holds ConnectionArguments and its own.
// The warnings of the values say what was given and changes nothing.
func BindConnection(table *option.Table, pairs []option.Pair, env ArgsEnv) (*option.Values, kafka.Config, error) {
	pairs, err := spreadConfig(table, pairs, false)
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
	t, err := bindTarget(v, env)
	if err != nil {
		return kafka.Config{}, err
	}
	base := kafka.Config{
		Brokers: t.brokers, Hosts: t.hosts, Label: t.label, Allow: env.Allow, MaxBatchBytes: env.MaxBatchBytes,
		ConnectTimeout: env.ConnectTimeout, FetchRetryTimeout: env.FetchRetryTimeout, DialTimeout: env.DialTimeout, RequestTimeout: env.RequestTimeout,
	}
	config, warnings, err := kafka.ParseProperties(base, t.properties, kafka.PropertyOptions{FilesDir: env.FilesDir, Environment: t.environment})
	if err != nil {
		return kafka.Config{}, err
	}
	v.Warnings = append(v.Warnings, warnings...)
	return config, nil
}
