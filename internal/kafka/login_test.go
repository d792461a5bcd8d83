package kafka

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"millrace/internal/option"
	"millrace/internal/sqlerr"
)

func awsConfig(t *testing.T, properties map[string]string, o PropertyOptions) (Config, error) {
	t.Helper()
	all := map[string]string{"security.protocol": "SASL_SSL", "sasl.mechanism": "AWS_MSK_IAM", "sasl.jaas.config": "shadedmskiam.software.amazon.msk.auth.iam.IAMLoginModule required;"}
	for k, v := range properties {
		all[k] = v
	}
	c, _, err := ParseProperties(Config{Brokers: []string{"k:9098"}}, all, o)
	return c.withDefaults(), err
}

// Each authentication signs the name of its broker anew.
func TestMSKLoginsAreSignedForTheBroker(t *testing.T) {
	c, err := awsConfig(t, map[string]string{"sasl.aws.access.key.id": "AKIDEXAMPLE", "sasl.aws.secret.access.key": "hunter2hunter2", "sasl.aws.session.token": "session"}, PropertyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.mechanism()
	if err != nil {
		t.Fatal(err)
	}
	signatures := map[string]bool{}
	for _, host := range []string{"b-1.shop.abc.c2.kafka.eu-west-1.amazonaws.com", "b-2.shop.abc.c2.kafka.eu-west-1.amazonaws.com"} {
		_, first, err := m.Authenticate(t.Context(), host+":9098")
		if err != nil {
			t.Fatal(err)
		}
		var payload map[string]string
		if err := json.Unmarshal(first, &payload); err != nil {
			t.Fatal(err)
		}
		if payload["host"] != host || payload["action"] != "kafka-cluster:Connect" || payload["x-amz-security-token"] != "session" || payload["user-agent"] != "millrace" ||
			!strings.HasPrefix(payload["x-amz-credential"], "AKIDEXAMPLE/") || !strings.HasSuffix(payload["x-amz-credential"], "/eu-west-1/kafka-cluster/aws4_request") {
			t.Errorf("%v", payload)
		}
		if strings.Contains(string(first), "hunter2") {
			t.Error("the secret is sent")
		}
		signatures[payload["x-amz-signature"]] = true
	}
	if len(signatures) != 2 {
		t.Error("one signature for two brokers")
	}
}

// The keys of the server's environment are lent to what an administrator stored, never to a statement.
func TestEnvironmentLendsKeysOnlyWhenItIsGiven(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDSERVER")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "hunter2hunter2")
	if _, err := awsConfig(t, nil, PropertyOptions{}); !sqlerr.HasKind(err, sqlerr.OptionMissing) {
		t.Error(err)
	}
	lent := PropertyOptions{Environment: func(name string) string {
		return map[string]string{"AWS_ACCESS_KEY_ID": "AKIDSERVER", "AWS_SECRET_ACCESS_KEY": "hunter2hunter2", "AWS_SESSION_TOKEN": ""}[name]
	}}
	if c, err := awsConfig(t, nil, lent); err != nil || c.Login == nil {
		t.Error(err)
	}
	// A key of the statement is not joined with the secret of the server.
	if _, err := awsConfig(t, map[string]string{"sasl.aws.access.key.id": "AKIDOTHER"}, lent); !sqlerr.HasKind(err, sqlerr.OptionMissing) {
		t.Error(err)
	}
}

// Configs that log in differently must not share connections.
func TestLoginsTellConfigsApart(t *testing.T) {
	base := func() Config {
		return Config{Brokers: []string{"k:9092"}, Protocol: SASLSSL, Mechanism: "OAUTHBEARER", Login: newLogin("a", nil, "a", "secret")}
	}
	a := base()
	if same := base(); same.Key() != a.Key() {
		t.Error("the same login has two keys")
	}
	for name, change := range map[string]func(*Config){
		"login": func(c *Config) { c.Login = newLogin("a", nil, "a", "other") }, "token": func(c *Config) { c.DelegationToken = true }, "hosts": func(c *Config) { c.Hosts = Hosts{"k"} },
	} {
		c := base()
		change(&c)
		if c.Key() == a.Key() {
			t.Errorf("%s does not count", name)
		}
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		if out := fmt.Sprintf(verb, a.Login); out != "login of a" {
			t.Errorf("%s shows %s", verb, out)
		}
	}
}

// A scan that runs waits for a token endpoint that is down, and not for one that says no.
func TestRefusedLoginsEndAScanAtOnce(t *testing.T) {
	c := &Cluster{}
	for kind, permanent := range map[*sqlerr.Kind]bool{sqlerr.KafkaAuth: true, sqlerr.KafkaProtocol: true, sqlerr.KafkaUnreachable: false} {
		err := fmt.Errorf("unable to dial: %w", &loginError{sqlerr.New(kind, "token endpoint 'x' says no")})
		if got := c.permanent(err); (got != nil) != permanent {
			t.Errorf("%s: %v", kind.Symbol, got)
		}
	}
}

// Every option that may hold a secret is one by its name, so that it is redacted where settings are shown.
func TestSecretPropertiesAreMarked(t *testing.T) {
	for _, o := range Properties.Options() {
		if o.Batch == option.Supported && option.LooksSecret(o.Name) && !o.Secret && o.Name != "sasl.oauthbearer.token.endpoint.url" &&
			!strings.HasSuffix(o.Name, ".location") && !strings.HasSuffix(o.Name, ".client.id") {
			t.Errorf("%s looks secret and is none", o.Name)
		}
	}
}
