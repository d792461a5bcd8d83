package kafka

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/sasl"

	"millrace/internal/option"
	"millrace/internal/sqlerr"
)

// sasl settles how to log in: from the line of a JAAS module as Java has it, or from single properties.
func (p *propertyParser) sasl() error {
	c := &p.config
	if !c.Protocol.usesSASL() {
		c.Mechanism, c.User, c.Password, c.DelegationToken, c.Login = "", "", "", false, nil
		return nil
	}
	if p.Has("sasl.mechanism") {
		c.Mechanism = p.String("sasl.mechanism")
	}
	if c.Mechanism == "" {
		return sqlerr.New(sqlerr.OptionMissing, "%s needs 'kafka.sasl.mechanism'", c.Protocol).WithHint("%s", mechanismsHint)
	}
	login, err := p.jaas()
	if err != nil {
		return err
	}
	if err := p.handlers(); err != nil {
		return err
	}
	p.warnUnused()
	switch c.Mechanism {
	case "OAUTHBEARER":
		return p.oauth(login)
	case "AWS_MSK_IAM":
		return p.aws(login)
	case "GSSAPI":
		return p.gssapi(login)
	default:
		return p.password(login)
	}
}

// jaas parses sasl.jaas.config, if given.
func (p *propertyParser) jaas() (jaasLogin, error) {
	if !p.Has("sasl.jaas.config") {
		return jaasLogin{}, nil
	}
	as := p.As("sasl.jaas.config")
	login, err := parseJAAS(p.String("sasl.jaas.config"))
	if err != nil {
		return jaasLogin{}, sqlerr.New(sqlerr.OptionInvalid, "'%s' cannot be parsed: %v", as, err).
			WithHint(`expected is a line such as org.apache.kafka.common.security.plain.PlainLoginModule required username="…" password="…";`)
	}
	if !login.serves(p.config.Mechanism) {
		return jaasLogin{}, sqlerr.New(sqlerr.OptionConflict, "'%s' names the %s, which does not log in with %s", as, login.module, p.config.Mechanism).
			WithHint("PLAIN goes with PlainLoginModule, SCRAM with ScramLoginModule, OAUTHBEARER with OAuthBearerLoginModule, AWS_MSK_IAM with IAMLoginModule, GSSAPI with Krb5LoginModule")
	}
	return login, nil
}

func (l jaasLogin) serves(mechanism string) bool {
	for class, mechanisms := range jaasModules {
		if strings.HasSuffix(class, "."+l.module) && slices.Contains(mechanisms, mechanism) {
			return true
		}
	}
	return false
}

// callbackHandlers are the Java classes that stand for a way to log in that is built in here → the mechanisms they belong to.
var callbackHandlers = map[string][]string{
	"org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler":                              {"OAUTHBEARER"},
	"org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler":                      {"OAUTHBEARER"},
	"org.apache.kafka.common.security.oauthbearer.internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler": {"OAUTHBEARER"},
	"org.apache.kafka.common.security.oauthbearer.internals.OAuthBearerSaslClientCallbackHandler":               {"OAUTHBEARER"},
	googleHandler: {"OAUTHBEARER"},
	"software.amazon.msk.auth.iam.IAMClientCallbackHandler":                           {"AWS_MSK_IAM"},
	"org.apache.kafka.common.security.scram.internals.ScramSaslClientCallbackHandler": {"SCRAM-SHA-256", "SCRAM-SHA-512"},
}

const googleHandler = "com.google.cloud.hosted.kafka.auth.GcpLoginCallbackHandler"

func unshaded(class string) string {
	class = strings.TrimSpace(class)
	for _, shade := range shades {
		class = strings.TrimPrefix(class, shade)
	}
	return class
}

// handlers accepts the classes that mean what is done anyway, and refuses all others: they are Java programs.
func (p *propertyParser) handlers() error {
	for _, name := range []string{"sasl.login.callback.handler.class", "sasl.client.callback.handler.class"} {
		if !p.Has(name) {
			continue
		}
		class := unshaded(p.String(name))
		mechanisms, known := callbackHandlers[class]
		switch {
		case strings.HasSuffix(class, ".IAMOAuthBearerLoginCallbackHandler"):
			return sqlerr.New(sqlerr.NotSupported, "'%s' asks for MSK's tokens for OAUTHBEARER, which are not supported", p.As(name)).WithHint("use sasl.mechanism AWS_MSK_IAM, which MSK takes at the same port")
		case !known:
			return sqlerr.New(sqlerr.OptionForbidden, "'%s' is refused: %s", p.As(name), noJavaClass).
				WithHint("known are %s", strings.Join(slices.Sorted(maps.Keys(callbackHandlers)), ", "))
		case !slices.Contains(mechanisms, p.config.Mechanism):
			return sqlerr.New(sqlerr.OptionConflict, "'%s' belongs to %s, and 'sasl.mechanism' is %s", p.As(name), strings.Join(mechanisms, ", "), p.config.Mechanism)
		}
	}
	return nil
}

// warnUnused tells of properties of another mechanism than the one in force.
func (p *propertyParser) warnUnused() {
	for _, o := range Properties.Options() {
		for prefix, mechanism := range map[string]string{"sasl.oauthbearer.": "OAUTHBEARER", "sasl.aws.": "AWS_MSK_IAM", "sasl.kerberos.": "GSSAPI"} {
			if strings.HasPrefix(o.Name, prefix) && o.Batch == option.Supported && p.Has(o.Name) && p.config.Mechanism != mechanism {
				p.warn("'" + p.As(o.Name) + "' is ignored: 'sasl.mechanism' is " + p.config.Mechanism)
			}
		}
	}
}

// password is the login of PLAIN and SCRAM.
func (p *propertyParser) password(login jaasLogin) error {
	c := &p.config
	for _, name := range []string{"sasl.username", "sasl.password"} {
		if p.Has(name) && login.module != "" {
			return sqlerr.New(sqlerr.OptionConflict, "'%s' and '%s' both give credentials", p.As(name), p.As("sasl.jaas.config")).WithHint("keep one of them")
		}
	}
	if p.Has("sasl.username") {
		c.User = p.String("sasl.username")
	}
	if p.Has("sasl.password") {
		c.Password = p.String("sasl.password")
	}
	if login.module != "" {
		as := p.As("sasl.jaas.config")
		for _, needed := range []string{"username", "password"} {
			if login.options[needed] == "" {
				return sqlerr.New(sqlerr.OptionMissing, "'%s' holds no %s", as, needed)
			}
		}
		p.warnOptions(login, "username", "password", "tokenauth")
		c.User, c.Password = login.options["username"], login.options["password"]
		// A delegation token: its id and its key stand for user and password, and the broker must know which.
		if c.DelegationToken = strings.EqualFold(login.options["tokenauth"], "true"); c.DelegationToken && c.Mechanism == "PLAIN" {
			return sqlerr.New(sqlerr.OptionConflict, "'%s' holds tokenauth, which is for SCRAM", as)
		}
	}
	if c.User == "" {
		return sqlerr.New(sqlerr.OptionMissing, "%s with %s needs a user and a password", c.Protocol, c.Mechanism).
			WithHint("give kafka.sasl.jaas.config, or kafka.sasl.username and kafka.sasl.password")
	}
	return nil
}

// warnOptions tells of options of the login module that nobody reads. An option ending in _ stands for all that begin so.
func (p *propertyParser) warnOptions(login jaasLogin, known ...string) {
	for _, name := range slices.Sorted(maps.Keys(login.options)) {
		if !slices.ContainsFunc(known, func(k string) bool {
			return k == name || (strings.HasSuffix(k, "_") || strings.HasSuffix(k, ".")) && strings.HasPrefix(name, k)
		}) {
			p.warn("'" + p.As("sasl.jaas.config") + "' has options besides " + strings.Join(known, ", ") + ", which are ignored")
			return
		}
	}
}

// either gives an option of the login module or the property that means the same.
func (p *propertyParser) either(login jaasLogin, option, property string) (string, error) {
	value, inLine := login.options[option]
	if !p.Has(property) {
		return value, nil
	}
	if inLine && value != p.String(property) {
		return "", sqlerr.New(sqlerr.OptionConflict, "'%s' and %s in '%s' are different", p.As(property), option, p.As("sasl.jaas.config")).WithHint("keep one of them")
	}
	return p.String(property), nil
}

// oauth is the login of OAUTHBEARER: tokens of a token endpoint, of a Google service account, of a file, or made here without a signature.
func (p *propertyParser) oauth(login jaasLogin) error {
	p.warnOptions(login, "clientId", "clientSecret", "scope", "extension_", "ssl.", "unsecuredLogin", "unsecuredLoginStringClaim_", "unsecuredLoginNumberClaim_", "unsecuredLoginListClaim_",
		"unsecuredLoginLifetimeSeconds", "unsecuredLoginPrincipalClaimName", "unsecuredLoginScopeClaimName")
	extensions, err := p.extensions(login)
	if err != nil {
		return err
	}
	handler := ""
	if p.Has("sasl.login.callback.handler.class") {
		handler = unshaded(p.String("sasl.login.callback.handler.class"))
	}
	endpoint := p.Has("sasl.oauthbearer.token.endpoint.url")
	google := p.Has("sasl.oauthbearer.google.credentials") || p.Has("sasl.oauthbearer.google.credentials.location")
	switch {
	case endpoint && google:
		return sqlerr.New(sqlerr.OptionConflict, "'%s' and the key of a Google service account exclude each other", p.As("sasl.oauthbearer.token.endpoint.url"))
	case google || handler == googleHandler:
		return p.google(extensions)
	case endpoint && strings.HasPrefix(strings.ToLower(p.String("sasl.oauthbearer.token.endpoint.url")), "file:"):
		return p.tokenFile(extensions)
	case endpoint:
		return p.clientCredentials(login, extensions)
	case slices.ContainsFunc(slices.Collect(maps.Keys(login.options)), func(n string) bool { return strings.HasPrefix(n, "unsecuredLogin") }):
		return p.unsecured(login, extensions)
	}
	return sqlerr.New(sqlerr.OptionMissing, "OAUTHBEARER needs 'kafka.sasl.oauthbearer.token.endpoint.url'").
		WithHint(`for example https://login.example.com/oauth2/token, with clientId="…" clientSecret="…" scope="…" in kafka.sasl.jaas.config`)
}

// extensions are those of RFC 7628, which some brokers want (logicalCluster and the like).
func (p *propertyParser) extensions(login jaasLogin) (map[string]string, error) {
	extensions := map[string]string{}
	for name, value := range login.options {
		key, ok := strings.CutPrefix(name, "extension_")
		if !ok {
			continue
		}
		letters := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
		if key == "" || key == "auth" || strings.IndexFunc(key, func(r rune) bool { return !letters(r) }) >= 0 {
			return nil, sqlerr.New(sqlerr.OptionInvalid, "'%s' has an extension whose name is not made of letters, or is auth", p.As("sasl.jaas.config"))
		}
		if strings.IndexFunc(value, func(r rune) bool { return (r < ' ' || r > '~') && r != '\t' && r != '\r' && r != '\n' }) >= 0 {
			return nil, sqlerr.New(sqlerr.OptionInvalid, "'%s' has an extension whose value holds characters that OAUTHBEARER does not allow", p.As("sasl.jaas.config"))
		}
		extensions[key] = value
	}
	return extensions, nil
}

// bearerLogin makes the Login of a source.
func bearerLogin(who string, source *tokenSource, extensions map[string]string, parts ...any) *Login {
	return newLogin(who, func(cfg Config) sasl.Mechanism {
		return bearer(func(ctx context.Context) (string, error) { return source.get(ctx, cfg) }, extensions)
	}, append(parts, sorted(extensions))...)
}

func sorted(m map[string]string) string {
	b, _ := json.Marshal(m) // a map of strings cannot fail; its keys are sorted
	return string(b)
}

func (p *propertyParser) clientCredentials(login jaasLogin, extensions map[string]string) error {
	const property = "sasl.oauthbearer.token.endpoint.url"
	source := newTokenSource()
	var err error
	if source.endpoint, err = tokenEndpoint(p.String(property)); err != nil {
		return p.Invalid(property, "%w", err)
	}
	var values [3]string
	for i, from := range [3][2]string{
		{"clientId", "sasl.oauthbearer.client.credentials.client.id"}, {"clientSecret", "sasl.oauthbearer.client.credentials.client.secret"}, {"scope", "sasl.oauthbearer.scope"},
	} {
		if values[i], err = p.either(login, from[0], from[1]); err != nil {
			return err
		}
		if values[i] == "" && from[0] != "scope" {
			return sqlerr.New(sqlerr.OptionMissing, "OAUTHBEARER with '%s' needs %s", p.As(property), from[0]).
				WithHint(`give clientId="…" clientSecret="…" in kafka.sasl.jaas.config, or kafka.%s`, from[1])
		}
	}
	tlsKey := ""
	if source.tls, tlsKey, err = p.endpointTLS(login); err != nil {
		return err
	}
	encode := p.Bool("sasl.oauthbearer.header.urlencode")
	if source.endpoint.Scheme == "http" {
		p.warn("'" + p.As(property) + "' is not encrypted: client secret and tokens can be read on the way")
	}
	source.request = clientCredentials(values[0], values[1], values[2], encode)
	p.config.Login = bearerLogin("client '"+values[0]+"'", source, extensions, "oauth", source.endpoint, values, tlsKey, encode)
	return nil
}

// endpointTLS reads the ssl.* options of the login module, which in Java are for the token endpoint as the properties are for brokers.
func (p *propertyParser) endpointTLS(login jaasLogin) (*tls.Config, string, error) {
	var pairs []option.Pair
	for _, name := range slices.Sorted(maps.Keys(login.options)) {
		if strings.HasPrefix(name, "ssl.") {
			pairs = append(pairs, option.Pair{Name: name, Value: login.options[name]})
		}
	}
	if pairs == nil {
		return nil, "", nil
	}
	v, err := Properties.Bind(pairs, false)
	if err != nil {
		return nil, "", err
	}
	sub := &propertyParser{Values: v, config: Config{Protocol: SSL}, files: p.files}
	if err := sub.tls(); err != nil {
		return nil, "", err
	}
	p.Warnings = append(p.Warnings, v.Warnings...)
	return sub.config.TLS, sub.config.TLSKey, nil
}

// google reads the key of a service account.
func (p *propertyParser) google(extensions map[string]string) error {
	inline, location := "sasl.oauthbearer.google.credentials", "sasl.oauthbearer.google.credentials.location"
	text, name := "", inline
	switch {
	case p.Has(inline) && p.Has(location):
		return sqlerr.New(sqlerr.OptionConflict, "'%s' and '%s' exclude each other", p.As(inline), p.As(location)).WithHint("keep one of them")
	case p.Has(inline):
		text = p.String(inline)
	case p.Has(location):
		name = location
		var err error
		if text, err = p.file(location); err != nil {
			return err
		}
	default:
		return sqlerr.New(sqlerr.OptionMissing, "'%s' takes the identity of the machine, which SQL may not use", p.As("sasl.login.callback.handler.class")).
			WithHint("give the key file of a service account in kafka.%s, or below --files-dir in kafka.%s", inline, location)
	}
	key, err := parseGoogleKey(text)
	if err != nil {
		return sqlerr.New(sqlerr.OptionInvalid, "'%s' %v", p.As(name), err)
	}
	source := newTokenSource()
	if source.endpoint, err = tokenEndpoint(key.TokenURI); err != nil {
		return sqlerr.New(sqlerr.OptionInvalid, "'%s' has a token_uri that %v", p.As(name), err)
	}
	source.request, source.finish = key.request, key.wrap(source.now)
	p.config.Login = bearerLogin("service account '"+key.Email+"'", source, extensions, "google", text)
	return nil
}

// tokenFile reads tokens from a file that somebody else keeps fresh, anew for each login.
func (p *propertyParser) tokenFile(extensions map[string]string) error {
	const property = "sasl.oauthbearer.token.endpoint.url"
	path := strings.TrimPrefix(p.String(property)[len("file:"):], "//")
	read := func() (string, error) {
		content, err := p.fileAt(property, path)
		if token := strings.TrimSpace(content); err != nil || jwtShape.MatchString(token) {
			return token, err
		}
		return "", sqlerr.New(sqlerr.OptionInvalid, "'%s' names a file that holds no token", p.As(property))
	}
	token, err := read()
	if err != nil {
		return err
	}
	p.config.Login = newLogin("the token of a file", func(Config) sasl.Mechanism {
		return bearer(func(context.Context) (string, error) { return read() }, extensions)
	}, "token file", path, token, sorted(extensions))
	return nil
}

// jwtShape is all that leaves the server from a file: whoever may name one here may also name the broker that it is sent to.
var jwtShape = regexp.MustCompile(`^[A-Za-z0-9_=-]+\.[A-Za-z0-9_=-]+\.[A-Za-z0-9_=-]*$`)

func (p *propertyParser) unsecured(login jaasLogin, extensions map[string]string) error {
	token, who, err := newUnsecuredToken(login.options)
	if err != nil {
		return sqlerr.New(sqlerr.OptionInvalid, "'%s': %v", p.As("sasl.jaas.config"), err)
	}
	p.warn("'" + p.As("sasl.jaas.config") + "' makes tokens without a signature, which is for development only")
	p.config.Login = newLogin("'"+who+"'", func(Config) sasl.Mechanism {
		return bearer(func(context.Context) (string, error) { return token.make(time.Now()) }, extensions)
	}, "unsecured", fmt.Sprint(token.claims), token.life, sorted(extensions))
	return nil
}

// aws is the login of AWS_MSK_IAM. Java's module looks for keys in profiles, roles and the metadata of the machine; here they are given.
func (p *propertyParser) aws(login jaasLogin) error {
	for _, name := range slices.Sorted(maps.Keys(login.options)) {
		switch name {
		case "awsRoleArn", "awsRoleAccessKeyId", "awsRoleSecretAccessKey", "awsRoleSessionToken", "awsRoleSessionName", "awsRoleExternalId", "awsStsRegion":
			return sqlerr.New(sqlerr.OptionForbidden, "%s in '%s' is refused: assuming a role would use the identity of the machine", name, p.As("sasl.jaas.config")).WithHint("%s", awsHint)
		case "awsProfileName":
			return sqlerr.New(sqlerr.OptionForbidden, "%s in '%s' is refused: profiles lie in files of the machine, which SQL may not name", name, p.As("sasl.jaas.config")).WithHint("%s", awsHint)
		}
	}
	p.warnOptions(login, "awsDebugCreds", "awsMaxRetries", "awsMaxBackOffTimeMs")
	get := func(property, variable string) string {
		switch {
		case p.Has(property):
			return p.String(property)
		case p.environment != nil && !p.Has("sasl.aws.access.key.id"):
			return p.environment(variable)
		}
		return ""
	}
	id, secret := get("sasl.aws.access.key.id", "AWS_ACCESS_KEY_ID"), get("sasl.aws.secret.access.key", "AWS_SECRET_ACCESS_KEY")
	session := get("sasl.aws.session.token", "AWS_SESSION_TOKEN")
	if id == "" || secret == "" {
		return sqlerr.New(sqlerr.OptionMissing, "AWS_MSK_IAM needs 'kafka.sasl.aws.access.key.id' and 'kafka.sasl.aws.secret.access.key'").WithHint("%s", awsHint)
	}
	p.config.Login = awsKeys(id, secret, session)
	return nil
}

const awsHint = "give kafka.sasl.aws.access.key.id, kafka.sasl.aws.secret.access.key and, for keys that expire, kafka.sasl.aws.session.token; " +
	"in CREATE CONNECTION and CREATE CREDENTIAL the variables AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN of the server stand in for them"

// gssapi is the login of GSSAPI by a keytab.
func (p *propertyParser) gssapi(login jaasLogin) error {
	const kdc, service = "sasl.kerberos.kdc", "sasl.kerberos.service.name"
	as := p.As("sasl.jaas.config")
	switch {
	case login.module == "":
		return sqlerr.New(sqlerr.OptionMissing, "GSSAPI needs 'kafka.sasl.jaas.config'").
			WithHint(`for example com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true keyTab="reader.keytab" principal="reader@EXAMPLE.COM";`)
	case strings.EqualFold(login.options["useTicketCache"], "true"):
		return sqlerr.New(sqlerr.OptionForbidden, "useTicketCache in '%s' is refused: it would use the identity of the machine", as).WithHint("give keyTab and principal")
	case login.options["keyTab"] == "" || login.options["principal"] == "":
		return sqlerr.New(sqlerr.OptionMissing, "'%s' needs keyTab and principal", as)
	case !p.Has(kdc):
		return sqlerr.New(sqlerr.OptionMissing, "GSSAPI needs 'kafka.%s'", kdc).WithHint("it takes the place of krb5.conf, which Java finds by itself: the key distribution centers, for example kdc.example.com:88")
	}
	p.warnOptions(login, "useKeyTab", "keyTab", "principal", "storeKey", "doNotPrompt", "serviceName", "useTicketCache", "refreshKrb5Config", "isInitiator", "debug")
	name, err := p.either(login, "serviceName", service)
	if err != nil {
		return err
	}
	if name == "" {
		return sqlerr.New(sqlerr.OptionMissing, "GSSAPI needs 'kafka.%s'", service).WithHint("it is the name of the brokers' principal, usually kafka")
	}
	kdcs, err := ParseBrokers(p.List(kdc))
	if err != nil {
		return p.Invalid(kdc, "%w", err)
	}
	keys, err := p.fileAt("sasl.jaas.config", login.options["keyTab"])
	if err != nil {
		return err
	}
	if p.config.Login, err = newKerberosLogin(login.options["principal"], name, keys, kdcs); err != nil {
		return sqlerr.New(sqlerr.OptionInvalid, "'%s': %v", as, err)
	}
	return nil
}
