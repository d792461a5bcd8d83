package readkafka

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"millrace/internal/kafka"
	"millrace/internal/option"
	"millrace/internal/sqlerr"
)

const canary = "hunter2hunter2"

// TestNoSecretLeavesTheBinder puts a canary into every argument and client property that is secret, in shapes that bind and shapes that do not, and looks
// for it in everything that may be shown.
func TestNoSecretLeavesTheBinder(t *testing.T) {
	var names []string
	for _, o := range Arguments.Options() {
		if name := strings.ReplaceAll(o.Name, "*", "Password"); IsSecret(name) {
			names = append(names, o.Names()...)
		}
	}
	for _, o := range kafka.Properties.Options() {
		if name := "kafka." + strings.ReplaceAll(o.Name, "*", "client.secret"); IsSecret(name) {
			names = append(names, name, strings.ToUpper(name))
		}
	}
	names = append(names, "kafka.sasl.pasword", "kafka.my.token", "sasl.password", "paswords", "schema_registry_auth_user_info")
	if len(names) < 25 {
		t.Fatalf("few secret names: %v", names)
	}
	line := `org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="` + canary + `"`
	values := []any{canary, []byte(canary), line, line + ` "` + canary, `{"sasl.password":"` + canary + `"}`, `{"sasl.pasword":"` + canary + `"}`, `{"sasl.jaas.config":"` + canary + `","client.id":"c"}`,
		`{"` + "security.protocol" + `":"SASL_SSL","sasl.mechanism":"PLAIN","sasl.username":"u","sasl.password":"` + canary + `"}`,
		map[string]any{"sasl.password": canary, "x": []any{canary}}, map[string]string{"sasl.password": canary}, []string{canary}, struct{ S string }{canary}}
	beside := [][]option.Pair{
		nil,
		{{Name: "kafka.security.protocol", Value: "SASL_SSL"}, {Name: "kafka.sasl.mechanism", Value: "PLAIN"}},
		{{Name: "kafka.security.protocol", Value: "SASL_SSL"}, {Name: "kafka.sasl.mechanism", Value: "PLAIN"}, {Name: "kafka.sasl.username", Value: "u"}},
		{{Name: "kafka.security.protocol", Value: "SSL"}},
		{{Name: "kafka.sasl.password", Value: "other"}},
	}
	bound := 0
	for _, name := range names {
		for _, value := range values {
			for _, others := range beside {
				pairs := append([]option.Pair{{Name: "bootstrapServers", Value: "k:9092"}, {Name: "subscribe", Value: "t"}}, others...)
				args, err := Bind(append(pairs, option.Pair{Name: name, Value: value}), ArgsEnv{})
				if err == nil {
					bound++
				}
				if out := everythingShown(args, err); strings.Contains(out, canary) {
					t.Fatalf("%s: %s", name, out)
				}
			}
		}
	}
	if bound == 0 {
		t.Error("no shape binds, so nothing that binds was looked at")
	}
}

// TestUserAndPasswordInAddressesAreHidden covers arguments that are no secrets and hold one nevertheless.
func TestUserAndPasswordInAddressesAreHidden(t *testing.T) {
	for _, p := range []option.Pair{
		{Name: "bootstrapServers", Value: "user:" + canary + "@k:9092"}, {Name: "bootstrapServers", Value: "SASL_SSL://user:" + canary + "@k:9092"},
		{Name: "schemaRegistryUrl", Value: "http://user:" + canary + "@registry"}, {Name: "kafka.schema.registry.url", Value: "http://user:" + canary + "@registry"},
	} {
		args, err := Bind([]option.Pair{{Name: "subscribe", Value: "t"}, p}, ArgsEnv{})
		if out := everythingShown(args, err); strings.Contains(out, canary) {
			t.Errorf("%s: %s", p.Name, out)
		}
	}
}

func everythingShown(a *Args, err error) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v %+v %#v", err, err, err)
	var e *sqlerr.Error
	if errors.As(err, &e) {
		fmt.Fprint(&b, e.Msg, e.Detail, e.Hint, e.Err)
	}
	if a == nil {
		return b.String()
	}
	fmt.Fprintf(&b, "%v %+v %#v %v %+v %s %v", a, a, a, *a, *a, a, a.Settings())
	fmt.Fprint(&b, a.Warnings)
	slog.New(slog.NewJSONHandler(&b, nil)).Info("args", "pointer", a, "value", *a)
	slog.New(slog.NewTextHandler(&b, nil)).Info("args", "pointer", a, "value", *a)
	j, jerr := json.Marshal(a)
	fmt.Fprint(&b, string(j), jerr)
	return b.String()
}

func TestSettingsAreRedacted(t *testing.T) {
	a, err := Bind([]option.Pair{
		{Name: "bootstrap_servers", Value: "k:9092"}, {Name: "topic", Value: "t"}, {Name: "kafka.security.protocol", Value: "SASL_SSL"}, {Name: "kafka.sasl.mechanism", Value: "PLAIN"},
		{Name: "consumer_config_updates", Value: map[string]string{"sasl.username": "u", "sasl.password": canary}}, {Name: StreamFlag, Value: 1},
	}, ArgsEnv{})
	if err != nil {
		t.Fatal(err)
	}
	want := "STREAM, bootstrapServers => 'k:9092', subscribe => 't', kafka.security.protocol => 'SASL_SSL', kafka.sasl.mechanism => 'PLAIN', kafka.sasl.password => '[redacted]', kafka.sasl.username => '[redacted]'"
	if a.String() != want {
		t.Errorf("got  %s\nwant %s", a, want)
	}
	if a.Cluster.Password != canary {
		t.Error("the password did not arrive")
	}
}
