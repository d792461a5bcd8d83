package kafka

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"millrace/internal/option"
	"millrace/internal/sqlerr"
)

// TestPropertiesScripts runs the scripts in testdata/properties: a client.properties file goes in, what it changes or the error comes out.
func TestPropertiesScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/properties", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			properties := map[string]string{}
			for line := range strings.SplitSeq(d.Input, "\n") {
				if name, value, ok := strings.Cut(line, "="); ok {
					properties[name] = value
				}
			}
			c, warnings, err := ParseProperties(Config{Brokers: []string{"k:9092"}}, properties, PropertyOptions{})
			if err != nil {
				var e *sqlerr.Error
				if !errors.As(err, &e) {
					t.Fatalf("not a *sqlerr.Error: %v", err)
				}
				return e.Kind.Symbol + ": " + e.Error()
			}
			return describe(c, warnings)
		})
	})
}

// describe lists the fields of c that are set.
func describe(c Config, warnings []string) string {
	var b strings.Builder
	line := func(name string, value any, set bool) {
		if set {
			fmt.Fprintf(&b, "%-18s %v\n", name, value)
		}
	}
	line("brokers", c.Brokers, true)
	line("client id", c.ClientID, c.ClientID != "")
	line("rack", c.Rack, c.Rack != "")
	line("protocol", c.Protocol, true)
	line("mechanism", c.Mechanism, c.Mechanism != "")
	line("user", c.User, c.User != "")
	line("password", c.Password, c.Password != "")
	line("delegation token", "", c.DelegationToken)
	if c.Login != nil {
		line("login", c.Login.who, true)
	}
	if c.TLS != nil {
		line("tls versions", fmt.Sprintf("%04x to %04x", c.TLS.MinVersion, c.TLS.MaxVersion), true)
		line("tls suites", c.TLS.CipherSuites, c.TLS.CipherSuites != nil)
		line("tls host names", "not verified", c.TLS.InsecureSkipVerify)
		line("tls client", "has a certificate", c.TLS.Certificates != nil)
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"connect timeout", c.ConnectTimeout}, {"fetch timeout", c.FetchRetryTimeout}, {"dial timeout", c.DialTimeout}, {"request timeout", c.RequestTimeout}, {"fetch max wait", c.FetchMaxWait}} {
		line(d.name, d.value, d.value != 0)
	}
	line("fetch max bytes", c.FetchMaxBytes, c.FetchMaxBytes != 0)
	line("partition bytes", c.PartitionMaxBytes, c.PartitionMaxBytes != 0)
	line("fetch min bytes", c.FetchMinBytes, c.FetchMinBytes != 0)
	line("receive buffer", c.ReceiveBuffer, c.ReceiveBuffer != 0)
	line("send buffer", c.SendBuffer, c.SendBuffer != 0)
	line("checksums", "off", c.SkipCRC)
	for _, w := range warnings {
		line("warning", w, true)
	}
	return b.String()
}

// TestEveryPropertyDoesWhatItsRowSays tries each property, with and without its prefix and in capitals.
func TestEveryPropertyDoesWhatItsRowSays(t *testing.T) {
	for _, o := range Properties.Options() {
		for _, name := range o.Names() {
			name = strings.ReplaceAll(name, "*", "x")
			for _, as := range []string{name, "kafka." + name, strings.ToUpper(name)} {
				value := o.Example
				if value == "" {
					value = "1"
				}
				v, err := Properties.Bind([]option.Pair{{Name: as, Value: value}}, false)
				switch o.Batch {
				case option.Supported:
					if err != nil {
						t.Errorf("%s: %v", as, err)
					}
				case option.Ignored:
					if err != nil || len(v.Warnings) != 1 || !strings.Contains(v.Warnings[0], "'"+as+"' is ignored: "+o.Reason) {
						t.Errorf("%s: %v", as, err)
					}
				case option.Later:
					if !sqlerr.HasKind(err, sqlerr.NotSupported) || !strings.Contains(err.Error(), "'"+as+"'") {
						t.Errorf("%s: %v", as, err)
					}
				case option.Refused:
					if !sqlerr.HasKind(err, sqlerr.OptionForbidden) || !strings.Contains(err.Error(), "'"+as+"' is refused: "+o.Reason) {
						t.Errorf("%s: %v", as, err)
					}
				}
			}
		}
	}
}

// TestBadValuesOfPropertiesAreRefused is the bad case of each property that takes more than text.
func TestBadValuesOfPropertiesAreRefused(t *testing.T) {
	for _, o := range Properties.Options() {
		if o.Batch != option.Supported || o.Type == option.String {
			continue
		}
		_, _, err := ParseProperties(Config{}, map[string]string{o.Name: ", ,"}, PropertyOptions{})
		if !sqlerr.HasKind(err, sqlerr.OptionInvalid) || !strings.Contains(err.Error(), "'"+o.Name+"'") {
			t.Errorf("%s: %v", o.Name, err)
		}
	}
}

// secretConfig holds a secret in every field that may.
func secretConfig(t *testing.T) Config {
	t.Helper()
	c, _, err := ParseProperties(Config{Brokers: []string{"k:9092"}}, map[string]string{
		"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "hunter2", "sasl.password": "hunter2",
	}, PropertyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestConfigNeverPrintsItsCredentials(t *testing.T) {
	c := secretConfig(t)
	if c.User != "hunter2" || c.Password != "hunter2" {
		t.Fatal("the credentials are not there")
	}
	nested := struct {
		C Config
		P *Config
	}{c, &c}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, x := range []any{c, &c, nested, []Config{c}, map[string]Config{"c": c}} {
			if out := fmt.Sprintf(verb, x); strings.Contains(out, "hunter2") || strings.Contains(out, fmt.Sprintf("%x", "hunter2")) {
				t.Errorf("%s of %T: %s", verb, x, out)
			}
		}
	}
	var log strings.Builder
	logger := slog.New(slog.NewJSONHandler(&log, nil))
	logger.Info("c", "c", c, "p", &c, "nested", nested)
	slog.New(slog.NewTextHandler(&log, nil)).Info("c", "c", c, "p", &c, "nested", nested)
	if b, err := json.Marshal(nested); err != nil || strings.Contains(string(b), "hunter2") {
		t.Errorf("%s, %v", b, err)
	}
	if strings.Contains(log.String(), "hunter2") || !strings.Contains(log.String(), "SASL_SSL") {
		t.Error(log.String())
	}
}

// TestNoErrorOrWarningHoldsASecret puts a canary into every secret property, alone and beside others, in shapes that parse and shapes that do not.
func TestNoErrorOrWarningHoldsASecret(t *testing.T) {
	const canary = "hunter2hunter2"
	shapes := []string{canary, plainModule + ` required username="u" password="` + canary + `"`, plainModule + ` required password=` + canary + ` "` + canary,
		"-----BEGIN PRIVATE KEY-----\n" + canary + "\n-----END PRIVATE KEY-----", "-----BEGIN " + canary, `{"a":"` + canary + `"}`}
	beside := []map[string]string{
		{}, {"security.protocol": "SASL_SSL"}, {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "u"},
		{"security.protocol": "SSL", "ssl.keystore.certificate.chain": "x"}, {"security.protocol": "PLAINTEXT", "colour": "red"},
		{"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-256"},
	}
	var names []string
	for _, o := range Properties.Options() {
		if name := strings.ReplaceAll(o.Name, "*", "client.secret"); Properties.IsSecret(name) {
			names = append(names, name, "kafka."+name)
		}
	}
	names = append(names, "sasl.pasword", "kafka.ssl.key.pasword", "my.token")
	if len(names) < 19 {
		t.Fatalf("few secret properties: %v", names)
	}
	for _, name := range names {
		for _, shape := range shapes {
			for _, others := range beside {
				properties := maps.Clone(others)
				properties[name] = shape
				c, warnings, err := ParseProperties(Config{Brokers: []string{"k:9092"}}, properties, PropertyOptions{})
				if out := fmt.Sprintf("%v %+v %v", c, warnings, err); strings.Contains(out, canary) {
					t.Errorf("%s with %v: %s", name, slices.Collect(maps.Keys(others)), out)
				}
				var e *sqlerr.Error
				if errors.As(err, &e) && e.Err != nil && strings.Contains(fmt.Sprint(e.Err), canary) {
					t.Errorf("%s: the cause shows it: %v", name, e.Err)
				}
			}
		}
	}
}

func TestParsePropertiesKeepsWhatTheBaseHas(t *testing.T) {
	base := Config{Brokers: []string{"k:9092"}, ConnectTimeout: time.Second, MaxBatchBytes: 5, ClientID: "base"}
	c, warnings, err := ParseProperties(base, nil, PropertyOptions{})
	if err != nil || warnings != nil || c.ConnectTimeout != time.Second || c.MaxBatchBytes != 5 || c.ClientID != "base" || c.Protocol != Plaintext {
		t.Errorf("%+v, %v, %v", c, warnings, err)
	}
}

func TestBrokersAreTidied(t *testing.T) {
	got, err := ParseBrokers([]string{"a:9092", "a:9092", "SSL://b:1", "[::1]:65535", "10.0.0.1:9092"})
	if want := []string{"a:9092", "b:1", "[::1]:65535", "10.0.0.1:9092"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"a", "a:", ":9092", "a:0", "a:65536", "a:x", "::1:9092", "a b:9092", "u:p@a:9092", "a:9092/x", "http://u@a:1"} {
		if got, err := ParseBrokers([]string{bad}); err == nil {
			t.Errorf("%s: %v", bad, got)
		} else if strings.Contains(err.Error(), "u:p") {
			t.Error(err)
		}
	}
}
