package readkafka

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"

	"millrace/internal/kafka"
	"millrace/internal/option"
	"millrace/internal/registry"
	"millrace/internal/sqlerr"
)

// registryProperties are the beginnings of the names of Java clients' properties for a schema registry.
var registryProperties = []string{"confluent.schema.registry.", "schema.registry."}

// RegistryArguments say how to reach a schema registry. Other table functions that do have them too.
func RegistryArguments() []option.Option {
	return []option.Option{
		{Name: "schemaRegistryUrl", Aliases: []string{"schemaRegistryAddress", "confluentSchemaRegistryUrl", "schema.registry.url", "schema.registry.address"}, Type: option.List,
			Doc: "The schema registry with Confluent's interface: one URL, or several of the same registry with commas between them.", Example: "'http://localhost:8081'"},
		{Name: "schemaRegistryAuthUser", Type: option.String, Doc: "The user for basic authentication at the registry.", Example: "'reader'"},
		{Name: "schemaRegistryAuthPassword", Type: option.String, Secret: true, Doc: "The password of that user.", Example: "'…'"},
		{Name: "schemaRegistryAuthToken", Type: option.String, Secret: true, Doc: "A token for bearer authentication at the registry.", Example: "'…'"},
		{Name: "schemaRegistryTimeout", Type: option.Duration, Default: "10s", Doc: "How long the registry may take to give a schema, all tries together.", Example: "'30s'"},
		{Name: "confluent.schema.registry.*", Aliases: []string{"schema.registry.*"}, Type: option.Scalar, SecretName: secretRegistryProperty,
			Doc: "A property of Java clients: basic.auth.user.info, bearer.auth.token, and those of ssl, which mean the same as for Kafka.", Example: "'reader:secret'"},
	}
}

// subjectArguments say which schemas are meant.
func subjectArguments() []option.Option {
	return []option.Option{
		{Name: "schemaRegistrySubject", Aliases: []string{"confluentSchemaRegistrySubject", "schema.registry.subject"}, Type: option.String, DefaultNote: "the topic's name with -value",
			Doc: "The subject whose schema gives the columns of values.", Example: "'orders-value'"},
		{Name: "schemaRegistryVersion", Aliases: []string{"schema.registry.version"}, Type: option.Scalar, Default: "latest", Doc: "The version of that subject: a number, or latest.", Example: "3"},
		{Name: "keySubject", Type: option.String, DefaultNote: "the topic's name with -key", Doc: "The subject whose schema gives the columns of keys.", Example: "'orders-key'"},
	}
}

func registryProperty(name string) string {
	name = strings.ToLower(name)
	for _, beginning := range registryProperties {
		if rest, ok := strings.CutPrefix(name, beginning); ok {
			return rest
		}
	}
	return name
}

func secretRegistryProperty(name string) bool {
	property := registryProperty(name)
	return property == "basic.auth.user.info" || property == "bearer.auth.token" || kafka.Properties.IsSecret(property)
}

// The bounds of schemaRegistryTimeout.
const (
	leastPatience = 100 * time.Millisecond
	mostPatience  = 5 * time.Minute
)

// bindRegistry binds RegistryArguments.
func bindRegistry(v *option.Values, env ArgsEnv) (registryArgs, error) {
	a := registryArgs{user: v.String("schemaRegistryAuthUser"), password: v.String("schemaRegistryAuthPassword"), token: v.String("schemaRegistryAuthToken"), patience: v.Duration("schemaRegistryTimeout")}
	if a.patience < leastPatience || a.patience > mostPatience {
		return a, v.Invalid("schemaRegistryTimeout", "is '%s', allowed is '100ms' to '5m'", a.patience)
	}
	ssl := map[string]string{}
	seen := map[string]string{}
	for name, value := range v.Under("confluent.schema.registry.*") {
		property := registryProperty(name)
		if first, twice := seen[property]; twice {
			return a, sqlerr.New(sqlerr.OptionConflict, "'%s' and '%s' are the same argument", first, name).WithHint("keep one of them")
		}
		seen[property] = name
		if err := a.property(name, property, value, ssl); err != nil {
			return a, err
		}
	}
	if len(ssl) > 0 {
		text, err := json.Marshal(ssl)
		if err != nil {
			return a, err
		}
		a.properties = string(text)
		_, warnings, err := a.tls(env.FilesDir)
		if err != nil {
			return a, err
		}
		v.Warnings = append(v.Warnings, warnings...)
	}
	if !v.Has("schemaRegistryUrl") {
		for _, name := range []string{"schemaRegistryAuthUser", "schemaRegistryAuthPassword", "schemaRegistryAuthToken", "schemaRegistryTimeout"} {
			if v.Has(name) {
				return a, sqlerr.New(sqlerr.OptionMissing, "'%s' is given without 'schemaRegistryUrl'", v.As(name)).WithHint("for example schemaRegistryUrl => 'http://localhost:8081'")
			}
		}
		if len(seen) > 0 {
			return a, sqlerr.New(sqlerr.OptionMissing, "properties of a schema registry are given without 'schemaRegistryUrl'").WithHint("for example schemaRegistryUrl => 'http://localhost:8081'")
		}
		return a, nil
	}
	return a, a.check(v)
}

// property takes a property of Java clients.
func (a *registryArgs) property(as, property, value string, ssl map[string]string) error {
	conflict := func(with string) error {
		return sqlerr.New(sqlerr.OptionConflict, "'%s' and '%s' exclude each other", as, with).WithHint("keep one of them")
	}
	switch {
	case property == "basic.auth.user.info":
		user, password, ok := strings.Cut(value, ":")
		switch {
		case a.user != "":
			return conflict("schemaRegistryAuthUser")
		case !ok:
			return sqlerr.New(sqlerr.OptionInvalid, "'%s' must be user:password", as)
		}
		a.user, a.password = user, password
	case property == "bearer.auth.token":
		if a.token != "" {
			return conflict("schemaRegistryAuthToken")
		}
		a.token = value
	case property == "basic.auth.credentials.source":
		if !strings.EqualFold(value, "USER_INFO") {
			return sqlerr.New(sqlerr.OptionInvalid, "'%s' is '%s', allowed is USER_INFO", as, option.Show(value))
		}
	case property == "bearer.auth.credentials.source":
		if !strings.EqualFold(value, "STATIC_TOKEN") {
			return sqlerr.New(sqlerr.OptionInvalid, "'%s' is '%s', allowed is STATIC_TOKEN", as, option.Show(value))
		}
	case strings.HasPrefix(property, "ssl."):
		ssl[property] = value
	default:
		return sqlerr.New(sqlerr.OptionUnknown, "'%s' is not a property of a schema registry that is known here", as).
			WithHint("known are basic.auth.user.info, bearer.auth.token and ssl.*")
	}
	return nil
}

// check looks at what was given.
func (a *registryArgs) check(v *option.Values) error {
	urls := v.List("schemaRegistryUrl")
	for _, text := range urls {
		if u, err := url.Parse(text); err == nil && u.User != nil || strings.Contains(text, "@") {
			// It would be shown wherever the statement's arguments are.
			return sqlerr.New(sqlerr.OptionForbidden, "'%s' holds a user or password, which would be shown", v.As("schemaRegistryUrl")).
				WithHint("give them as 'schemaRegistryAuthUser' and 'schemaRegistryAuthPassword'")
		}
	}
	a.list = strings.Join(urls, ",")
	if a.user == "" && a.password != "" {
		return sqlerr.New(sqlerr.OptionMissing, "'%s' is given without 'schemaRegistryAuthUser'", v.As("schemaRegistryAuthPassword"))
	}
	if a.user != "" && a.token != "" {
		return sqlerr.New(sqlerr.OptionConflict, "a user and a token for the schema registry exclude each other").WithHint("keep one of them")
	}
	client, err := registry.New(registry.Config{URLs: urls, User: a.user, Password: a.password, Token: a.token})
	if err != nil {
		return err
	}
	client.Close()
	return nil
}

// bindSubjects binds the arguments that say which schemas are meant.
func (a *registryArgs) bindSubjects(v *option.Values) error {
	a.subject, a.keySubject = v.String("schemaRegistrySubject"), v.String("keySubject")
	if !a.given() {
		for _, name := range []string{"schemaRegistrySubject", "keySubject"} {
			if v.Has(name) {
				return sqlerr.New(sqlerr.OptionMissing, "'%s' is given without 'schemaRegistryUrl'", v.As(name)).WithHint("for example schemaRegistryUrl => 'http://localhost:8081'")
			}
		}
	}
	text := strings.TrimSpace(v.String("schemaRegistryVersion"))
	if strings.EqualFold(text, "latest") || text == "-1" {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		return v.Invalid("schemaRegistryVersion", "is '%s', expected a number from 1 on, or latest", option.Show(text))
	}
	a.version = int(n)
	return nil
}
