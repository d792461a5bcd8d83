package server

import (
	"errors"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/mysql_db"

	"millrace/functions/readkafka"
	"millrace/internal/catalog"
	"millrace/internal/kafka"
	"millrace/internal/option"
	"millrace/internal/sqlerr"
	"millrace/server/dialect"
)

// connections are the named connections and credentials of CREATE CONNECTION and CREATE CREDENTIAL. What they hold is stored sealed; it leaves here
// only for the arguments of a statement whose user has USAGE, together with the hosts that it may be sent to.
type connections struct {
	catalog *catalog.Catalog
	// key is nil when there is none: then no secret can be stored.
	key      *catalog.Key
	users    *mysql_db.MySQLDb
	secrets  *secrets
	filesDir string
	// changing is held by the statements that change names, so that two of them on one name do not mix their grants.
	changing sync.Mutex
}

// connectionName is what names of connections, credentials and scopes of secrets look like.
var connectionName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$`)

// The options of the two statements.
var (
	connectionOptions = option.New("CREATE CONNECTION", "option", "", " ",
		option.Option{Name: "bootstrapServers", Aliases: []string{"kafka.bootstrap.servers"}, Type: option.List, Required: true, Doc: "The brokers to ask first.", Example: "'broker1:9092,broker2:9092'"},
		option.Option{Name: "hosts", Type: option.List, Doc: "The brokers that the connection may be used for: host or host:port, with * in hosts.", Example: "'*.kafka.example.com:9093'"},
		option.Option{Name: "kafka.*", Type: option.Scalar, SecretName: kafka.Properties.IsSecret, Doc: "A client property.", Example: "'SASL_SSL'"},
	)
	credentialOptions = option.New("CREATE CREDENTIAL", "option", "", " ",
		option.Option{Name: "hosts", Type: option.List, Required: true, Doc: "The brokers that the credential may be sent to: host or host:port, with * in hosts.", Example: "'*.kafka.example.com:9093'"},
		option.Option{Name: "kafka.*", Type: option.Scalar, SecretName: kafka.Properties.IsSecret, Doc: "A client property.", Example: "'SASL_SSL'"},
	)
)

func kindOf(credential bool) catalog.Kind {
	if credential {
		return catalog.KindCredential
	}
	return catalog.KindConnection
}

// administer is the error for who may not make and drop connections.
func (n *connections) administer(ctx *sql.Context, kind catalog.Kind) error {
	if n.administers(ctx) {
		return nil
	}
	return sqlerr.New(sqlerr.PrivilegeNeeded, "you may not create or drop a %s", kind).WithHint("it needs the privilege STREAMING_ADMIN: GRANT STREAMING_ADMIN ON *.* TO …")
}

func (n *connections) administers(ctx *sql.Context) bool {
	return n.users.UserHasPrivileges(ctx, sql.NewDynamicPrivilegedOperation(streamingAdmin))
}

func (n *connections) mayUse(ctx *sql.Context, kind, name string) bool {
	return n.users.UserHasPrivileges(ctx, sql.NewDynamicPrivilegedOperation(readkafka.UsagePrivilege(kind, name)))
}

// create runs CREATE CONNECTION and CREATE CREDENTIAL.
func (n *connections) create(ctx *sql.Context, st dialect.CreateConnection) error {
	kind := kindOf(st.Credential)
	if err := n.administer(ctx, kind); err != nil {
		return err
	}
	if !connectionName.MatchString(st.Name) {
		return sqlerr.New(sqlerr.OptionInvalid, "'%s' is no name for a %s: those have 1 to 64 letters, digits, dots, underscores and dashes", option.Show(st.Name), kind)
	}
	if st.Type != "" && st.Type != "kafka" {
		return sqlerr.New(sqlerr.NotSupported, "TYPE '%s' is not supported", option.Show(st.Type)).WithHint("the only type is kafka")
	}
	made, err := n.make(ctx, kind, st)
	if err != nil {
		return err
	}
	n.changing.Lock()
	defer n.changing.Unlock()
	_, existed := n.catalog.Named(kind, st.Name)
	switch {
	case existed && st.IfNotExists:
		ctx.Warn(int(sqlerr.ConnectionExists.Errno), "%s '%s' exists", kind, st.Name)
		return nil
	case existed && !st.Replace:
		return sqlerr.New(sqlerr.ConnectionExists, "%s '%s' exists", kind, st.Name).WithHint("CREATE OR REPLACE %s replaces it", strings.ToUpper(string(kind)))
	case !existed:
		// Grants left over from one of the same name were for other secrets. Who makes it may use it and let others use it.
		if err := n.forget(ctx, kind, st.Name, !n.users.UserActivePrivilegeSet(ctx).Has(sql.PrivilegeType_Super)); err != nil {
			return err
		}
	}
	return n.catalog.Update(func(s *catalog.State) error {
		if _, taken := s.Named(kind)[strings.ToLower(st.Name)]; taken && !existed {
			return sqlerr.New(sqlerr.ConnectionExists, "%s '%s' exists", kind, st.Name) // another server was faster
		}
		s.SetNamed(kind, made)
		return nil
	})
}

// make checks the options of a statement and seals them.
func (n *connections) make(ctx *sql.Context, kind catalog.Kind, st dialect.CreateConnection) (catalog.Connection, error) {
	made := catalog.Connection{Name: st.Name, Type: "kafka"}
	table := connectionOptions
	if st.Credential {
		table = credentialOptions
	}
	var pairs []option.Pair
	for _, o := range st.Options {
		p := option.Pair{Name: o.Name, Value: o.Value}
		if o.Scope != "" || o.Key != "" {
			value, err := n.secrets.reveal(ctx, o.Scope, o.Key)
			if err != nil {
				return made, err
			}
			p.Value = option.SecretValue(value)
		}
		pairs = append(pairs, p)
	}
	v, err := table.Bind(pairs, false)
	if err != nil {
		return made, err
	}
	stored := v.Under("kafka.*")
	config := kafka.Config{}
	if st.Credential {
		err = v.Require("hosts")
	} else if err = v.Require("bootstrapServers"); err == nil {
		if config.Brokers, err = kafka.ParseBrokers(v.List("bootstrapServers")); err != nil {
			err = v.Invalid("bootstrapServers", "%w", err)
		}
		stored["bootstrapServers"] = strings.Join(config.Brokers, ",")
	}
	if err != nil {
		return made, err
	}
	if v.Has("hosts") {
		if config.Hosts, err = kafka.ParseHosts(v.List("hosts")); err != nil {
			return made, v.Invalid("hosts", "%w", err)
		}
		made.Hosts = config.Hosts
	}
	for _, b := range config.Brokers {
		if !config.Hosts.Match(b) {
			return made, sqlerr.New(sqlerr.OptionConflict, "'%s' names broker '%s', which 'hosts' does not cover", v.As("bootstrapServers"), b)
		}
	}
	if err := n.check(ctx, st, v, config); err != nil {
		return made, err
	}
	if n.key == nil {
		for _, name := range slices.Sorted(maps.Keys(stored)) {
			if table.IsSecret(name) {
				return made, sqlerr.New(sqlerr.KeyNeeded, "'%s' is a secret, and this server has no key to encrypt it with", name).
					WithHint("start the server with --key-file FILE, or MILLRACE_KEY in its environment: 32 bytes in base64 or in hexadecimal digits")
			}
		}
	}
	return made, made.Seal(kind, stored, n.key)
}

// check wants the properties to be ones that a read would take, so that a slip is told now and to who made it.
func (n *connections) check(ctx *sql.Context, st dialect.CreateConnection, v *option.Values, config kafka.Config) error {
	properties := v.Under("kafka.*")
	config, warnings, err := kafka.ParseProperties(config, properties, kafka.PropertyOptions{FilesDir: n.filesDir, Environment: os.Getenv})
	if err != nil {
		return err
	}
	given := slices.ContainsFunc(slices.Collect(maps.Keys(properties)), func(name string) bool { return strings.EqualFold(name, "kafka.security.protocol") })
	if st.Credential && !given {
		return sqlerr.New(sqlerr.OptionMissing, "CREATE CREDENTIAL needs the option 'kafka.security.protocol'").WithHint("a credential says all about how to log in, for example kafka.security.protocol 'SASL_SSL'")
	}
	for _, w := range append(v.Warnings, warnings...) {
		ctx.Warn(connectionWarning, "%s", w)
	}
	if config.Protocol == kafka.SASLPlaintext && (config.Mechanism == "PLAIN" || config.Mechanism == "OAUTHBEARER") {
		ctx.Warn(connectionWarning, "%s over SASL_PLAINTEXT sends the secret in the clear", config.Mechanism)
	}
	return nil
}

// connectionWarning is the code of warnings about options, as those of read_kafka have it.
const connectionWarning = 31101

// drop runs DROP CONNECTION and DROP CREDENTIAL.
func (n *connections) drop(ctx *sql.Context, st dialect.DropConnection) error {
	kind := kindOf(st.Credential)
	if err := n.administer(ctx, kind); err != nil {
		return err
	}
	n.changing.Lock()
	defer n.changing.Unlock()
	if _, ok := n.catalog.Named(kind, st.Name); !ok {
		if st.IfExists {
			ctx.Warn(int(sqlerr.NoConnection.Errno), "%s '%s' does not exist", kind, st.Name)
			return nil
		}
		return n.missing(kind, st.Name)
	}
	// The grants go first: those that outlive the name would be for the next of that name.
	if err := n.forget(ctx, kind, st.Name, false); err != nil {
		return err
	}
	return n.catalog.Update(func(s *catalog.State) error {
		delete(s.Named(kind), strings.ToLower(st.Name))
		return nil
	})
}

// forget takes USAGE on a name from everybody, and gives it to the user of ctx, with the right to grant it, when that is wanted.
func (n *connections) forget(ctx *sql.Context, kind catalog.Kind, name string, give bool) error {
	privilege := readkafka.UsagePrivilege(string(kind), name)
	ed := n.users.Editor()
	defer ed.Close()
	before := map[*mysql_db.User]mysql_db.PrivilegeSet{}
	change := func(u *mysql_db.User, do func(mysql_db.PrivilegeSet)) {
		if _, twice := before[u]; !twice {
			before[u] = u.PrivilegeSet.Copy()
		}
		do(u.PrivilegeSet)
	}
	ed.VisitUsers(func(u *mysql_db.User) {
		if u.PrivilegeSet.HasDynamic(privilege) {
			change(u, func(p mysql_db.PrivilegeSet) { p.RemoveGlobalDynamic(privilege) })
		}
	})
	if give {
		client := ctx.Session.Client()
		if u := n.users.GetUser(ed, client.User, client.Address, false); u != nil {
			change(u, func(p mysql_db.PrivilegeSet) { p.AddGlobalDynamic(true, privilege) })
		}
	}
	if len(before) == 0 {
		return nil
	}
	if err := n.users.Persist(ctx, ed); err != nil {
		for u, privileges := range before {
			u.PrivilegeSet = privileges
		}
		return err
	}
	return nil
}

// missing is the error for a name that does not exist; only those who may see the others are helped to the right one.
func (n *connections) missing(kind catalog.Kind, name string) error {
	e := sqlerr.New(sqlerr.NoConnection, "%s '%s' does not exist", kind, option.Show(name))
	state := n.catalog.State()
	if near := option.Nearest(name, slices.Sorted(maps.Keys(state.Named(kind)))); near != "" {
		return e.WithHint("did you mean '%s'?", near)
	}
	return e.WithHint("SHOW %sS lists them", strings.ToUpper(string(kind)))
}

func (n *connections) denied(ctx *sql.Context, kind catalog.Kind, name string) error {
	return sqlerr.New(sqlerr.NotGranted, "you may not use %s '%s'", kind, option.Show(name)).
		WithHint("it needs a grant: GRANT USAGE ON %s %s TO '%s'", strings.ToUpper(string(kind)), option.Show(name), ctx.Session.Client().User)
}

// use gives what a name holds to a statement. Who may not use it is not told whether it exists.
func (n *connections) use(ctx *sql.Context, named readkafka.NamedKind, name string) (readkafka.Named, error) {
	kind := catalog.Kind(named)
	if !n.mayUse(ctx, string(kind), name) {
		return readkafka.Named{}, n.denied(ctx, kind, name)
	}
	stored, ok := n.catalog.Named(kind, name)
	if !ok {
		return readkafka.Named{}, n.missing(kind, name)
	}
	options, err := n.open(kind, stored)
	if err != nil {
		return readkafka.Named{}, err
	}
	held := readkafka.Named{Brokers: option.SplitList(options["bootstrapServers"]), Properties: options, Environment: os.Getenv}
	if stored.Hosts != nil {
		held.Hosts = stored.Hosts
	}
	delete(options, "bootstrapServers")
	return held, nil
}

// open opens what is stored under a name.
func (n *connections) open(kind catalog.Kind, stored catalog.Connection) (map[string]string, error) {
	options, err := stored.Open(kind, n.key)
	if err != nil {
		e := sqlerr.New(sqlerr.KeyNeeded, "%s '%s' cannot be opened: %v", kind, stored.Name, err)
		if errors.Is(err, catalog.ErrNoKey) || errors.Is(err, catalog.ErrOtherKey) {
			return nil, e.WithHint("start the server with the key that it was stored with, or replace the %s", kind)
		}
		return nil, e
	}
	return options, nil
}
