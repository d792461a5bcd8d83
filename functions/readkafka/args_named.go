package readkafka

import (
	"maps"
	"slices"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"

	"millrace/functions/named"
	"millrace/internal/kafka"
	"millrace/internal/option"
	"millrace/internal/sqlerr"
)

// NamedKind is what the arguments connection and serviceCredential name.
type NamedKind string

// The kinds.
const (
	NamedConnection NamedKind = "connection"
	NamedCredential NamedKind = "credential"
)

// Named is what a connection or credential holds.
type Named struct {
	// Brokers are those of a connection.
	Brokers []string
	// Hosts are the brokers that the credentials may be sent to. A connection that has none may be used for its own brokers, and those that they name.
	Hosts kafka.Hosts
	// Properties are client properties.
	Properties map[string]string
	// Environment is that of kafka.PropertyOptions.
	Environment func(string) string
}

// UsagePrivilege is the dynamic privilege that GRANT USAGE ON CONNECTION, CREDENTIAL or SECRET grants; the engine keeps and checks it like any other.
func UsagePrivilege(kind, name string) string {
	return "usage on " + strings.ToLower(kind) + " " + strings.ToLower(name)
}

// In is e for a call in the session of ctx, whose user must be allowed to use the connections and credentials that the call names.
func (e ArgsEnv) In(ctx *sql.Context) ArgsEnv {
	if use := e.Use; use != nil {
		e.named = func(kind NamedKind, name string) (Named, error) { return use(ctx, kind, name) }
	}
	return e
}

// target is where a call connects and with which properties.
type target struct {
	brokers     []string
	properties  map[string]string
	hosts       kafka.Hosts
	label       string
	environment func(string) string
}

// bindTarget finds out from bootstrapServers, connection, serviceCredential and kafka.* where a call connects to. A named connection or credential says
// all about how to log in: a call that could change a part of it, such as the protocol or whom to trust, could have the secret sent in the clear.
func bindTarget(v *option.Values, env ArgsEnv) (target, error) {
	t := target{properties: v.Under("kafka.*")}
	if v.Has("bootstrapServers") {
		brokers, err := kafka.ParseBrokers(v.List("bootstrapServers"))
		if err != nil {
			return t, v.Invalid("bootstrapServers", "%w", err)
		}
		t.brokers = brokers
	}
	argument, kind, name := "", NamedConnection, ""
	switch {
	case v.Has("connection") && v.Has("serviceCredential"):
		return t, sqlerr.New(sqlerr.OptionConflict, "'%s' and '%s' exclude each other", v.As("connection"), v.As("serviceCredential")).WithHint("keep one of them")
	case v.Has("connection"):
		argument, name = v.As("connection"), v.String("connection")
	case v.Has("serviceCredential"):
		argument, kind, name = v.As("serviceCredential"), NamedCredential, v.String("serviceCredential")
	case t.brokers == nil && env.DefaultConnection != "":
		argument, name = "--default-connection", env.DefaultConnection
	default:
		return t, v.Require("bootstrapServers")
	}
	if kind == NamedCredential && t.brokers == nil {
		return t, v.Require("bootstrapServers")
	}
	if env.named == nil {
		return t, sqlerr.New(sqlerr.NotSupported, "'%s' is not supported here", argument)
	}
	held, err := env.named(kind, name)
	if err != nil {
		return t, err
	}
	t.label = string(kind) + " '" + name + "'"
	if err := t.checkBrokers(v, held, kind); err != nil {
		return t, err
	}
	t.hosts, t.environment = held.Hosts, held.Environment
	given := t.properties
	t.properties = maps.Clone(held.Properties)
	if t.properties == nil {
		t.properties = map[string]string{}
	}
	for _, property := range slices.Sorted(maps.Keys(given)) {
		bare := strings.TrimPrefix(strings.ToLower(property), "kafka.")
		for _, prefix := range []string{"security.", "sasl.", "ssl."} {
			if strings.HasPrefix(bare, prefix) {
				return t, sqlerr.New(sqlerr.OptionConflict, "'%s' cannot be given beside '%s': a %s says all about how to log in", property, argument, kind).
					WithHint("leave it out, or leave '%s' out and give everything", argument)
			}
		}
		maps.DeleteFunc(t.properties, func(n, _ string) bool { return strings.TrimPrefix(strings.ToLower(n), "kafka.") == bare })
		t.properties[property] = given[property]
	}
	return t, nil
}

// checkBrokers refuses brokers that the secrets are not for.
func (t *target) checkBrokers(v *option.Values, held Named, kind NamedKind) error {
	if t.brokers == nil {
		t.brokers = held.Brokers
		return nil
	}
	for _, b := range t.brokers {
		if slices.Contains(held.Brokers, b) || held.Hosts != nil && held.Hosts.Match(b) {
			continue
		}
		e := sqlerr.New(sqlerr.KafkaHostRefused, "'%s' names broker '%s', which is none of the hosts that %s is for", v.As("bootstrapServers"), b, t.label)
		if kind == NamedConnection {
			return e.WithHint("leave '%s' out: the connection has its own brokers", v.As("bootstrapServers"))
		}
		return e.WithHint("the option hosts of CREATE CREDENTIAL says where its secrets may be sent")
	}
	return nil
}

// Allowed reports whether a user may make a call: with KAFKA_READ any, with USAGE on a connection those that name it, whose brokers and credentials are
// then all that the call can reach: a schema registry takes KAFKA_READ.
func Allowed(ctx *sql.Context, checker sql.PrivilegedOperationChecker, args []named.Arg) bool {
	if checker.UserHasPrivileges(ctx, sql.NewDynamicPrivilegedOperation(Privilege)) {
		return true
	}
	for _, a := range args {
		if o := Arguments.Lookup(a.Name); o != nil && o.Name == "schemaRegistryUrl" {
			return false
		}
	}
	for _, a := range args {
		if !strings.EqualFold(a.Name, "connection") {
			continue
		}
		if !named.Constant([]sql.Expression{a.Value}) {
			return true // a parameter: ArgsEnv.Use asks when it has a value, and every value goes through it
		}
		if name, err := named.Value(ctx, a.Value); err == nil {
			text, _ := name.(string)
			return text != "" && checker.UserHasPrivileges(ctx, sql.NewDynamicPrivilegedOperation(UsagePrivilege(string(NamedConnection), text)))
		}
	}
	return false
}
