package readkafka

import (
	"fmt"
	"maps"
	"net"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dolthub/go-mysql-server/sql"

	"millrace/internal/kafka"
	"millrace/internal/option"
	"millrace/internal/sqlerr"
)

// StreamFlag is the name of the pair by which the dialect marks STREAM read_kafka(…); its value is 1.
const StreamFlag = "#stream"

// ArgsEnv is what the server contributes to the arguments of every call.
type ArgsEnv struct {
	// FilesDir is the directory below which arguments may name files, empty for none.
	FilesDir string
	// DefaultConnection names the connection to use when a call gives no brokers, empty for none.
	DefaultConnection string
	// Use gives what a connection or credential holds to a statement of ctx, or the error that its user may not use it or that there is none; nil when
	// there are no names.
	Use func(ctx *sql.Context, kind NamedKind, name string) (Named, error)
	// Allow is handed to kafka.Config.
	Allow func(hostPort string, ip net.IP) error
	// The time-outs of kafka.Config, 0 for its defaults; client properties override them.
	ConnectTimeout, FetchRetryTimeout, DialTimeout, RequestTimeout time.Duration
	// MaxBatchBytes is that of kafka.Config.
	MaxBatchBytes int64

	// named is Use for the statement that the call is in.
	named func(NamedKind, string) (Named, error)
}

// Args are the arguments of one call, checked as far as that is possible without asking a broker.
type Args struct {
	Spec    kafka.ReadSpec
	Cluster kafka.Config
	// Stream is true for STREAM read_kafka(…): Spec.End then means nothing.
	Stream bool
	// Readers bounds how many lanes read at once, 0 for the default.
	Readers int
	// Computing is over how many lanes what is read is spread for decoding and computing, 0 for those that read.
	Computing int
	Format    Format
	// TimestampSkew is how far records may be out of the order of their timestamps, nil when the user has not said so.
	TimestampSkew *time.Duration
	// DiscoveryInterval is how often a STREAM looks for new partitions and topics, 0 for the default.
	DiscoveryInterval time.Duration
	// Trigger bounds the batches of a streaming table.
	Trigger Trigger
	// Mirror says to which consumer group a streaming table shows its positions.
	Mirror Mirror
	// Warnings say what was given and changes nothing.
	Warnings []string

	settings []option.Setting
}

// Trigger says when a streaming table takes a batch and how large it is; 0 means no bound.
type Trigger struct {
	MaxOffsets, MinOffsets int64
	MaxDelay               time.Duration
}

// Mirror is what commitOffsets asks for; without a name the group is named after the prefix and the table.
type Mirror struct {
	On            bool
	Group, Prefix string
}

// Bind turns the pairs of a call, in their order, into Args. The pair StreamFlag marks a STREAM. Errors are *sqlerr.Error and hold no secret.
func Bind(pairs []option.Pair, env ArgsEnv) (*Args, error) {
	pairs, stream := cutStreamFlag(pairs)
	pairs, err := spreadConfig(Arguments, pairs, stream)
	if err != nil {
		return nil, err
	}
	values, err := Arguments.Bind(pairs, stream)
	if err != nil {
		return nil, err
	}
	b := &binder{Values: values, env: env, args: &Args{Stream: stream}}
	for _, step := range []func() error{b.selection, b.bounds, b.reading, b.cluster, b.crossCheck} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	b.args.Warnings, b.args.settings = values.Warnings, values.Settings()
	return b.args, nil
}

// binder carries one Bind through its steps.
type binder struct {
	*option.Values
	env  ArgsEnv
	args *Args
}

func (b *binder) warn(format string, args ...any) {
	b.Warnings = append(b.Warnings, fmt.Sprintf(format, args...))
}

func cutStreamFlag(pairs []option.Pair) ([]option.Pair, bool) {
	is := func(p option.Pair) bool { return p.Name == StreamFlag }
	if !slices.ContainsFunc(pairs, is) {
		return pairs, false
	}
	return slices.DeleteFunc(slices.Clone(pairs), is), true
}

// spreadConfig replaces a map of client properties by a kafka.* pair for each of its entries, so that they meet the same rules as those given singly.
func spreadConfig(table *option.Table, pairs []option.Pair, stream bool) ([]option.Pair, error) {
	name := ""
	is := func(p option.Pair) bool {
		o := table.Lookup(p.Name)
		if o == nil || o.Name != "consumerConfigUpdates" && o.Name != "producerConfigUpdates" {
			return false
		}
		name = o.Name
		return true
	}
	if !slices.ContainsFunc(pairs, is) {
		return pairs, nil
	}
	var configs, rest []option.Pair
	for _, p := range pairs {
		if is(p) {
			configs = append(configs, p)
		} else {
			rest = append(rest, p)
		}
	}
	for _, p := range configs {
		if _, ok := p.Value.(option.SecretValue); ok {
			// Which of the entries it is in could not be told any more, and not all of them are kept from view.
			return nil, sqlerr.New(sqlerr.OptionForbidden, "secret() may not stand in '%s'", p.Name).WithHint("give the property as an argument of its own: `kafka.sasl.password` => secret('scope', 'key')")
		}
	}
	v, err := table.Bind(configs, stream)
	if err != nil {
		return nil, err
	}
	singly := map[string]option.Pair{}
	for _, p := range rest {
		singly[strings.ToLower(p.Name)] = p
	}
	updates := v.Map(name)
	for _, key := range slices.Sorted(maps.Keys(updates)) {
		property := option.Pair{Name: key, Value: updates[key]}
		if !strings.HasPrefix(strings.ToLower(key), "kafka.") {
			property.Name = "kafka." + key
		}
		given, twice := singly[strings.ToLower(property.Name)]
		switch {
		case !twice:
			rest = append(rest, property)
		case !table.Same(given, property):
			return nil, sqlerr.New(sqlerr.OptionConflict, "'%s' stands in '%s' too, with another value", property.Name, v.As(name)).WithHint("keep one of them")
		}
	}
	return rest, nil
}

var topicName = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

// CheckTopic is the error for what is no name of a topic.
func CheckTopic(name string) error {
	if !topicName.MatchString(name) || name == "." || name == ".." {
		return fmt.Errorf("'%s' is no name of a topic: those have 1 to 249 letters, digits, dots, underscores and dashes", option.Show(name))
	}
	return nil
}

// selection binds the three ways to say what to read.
func (b *binder) selection() error {
	ways := []string{"subscribe", "subscribePattern", "assign"}
	var given []string
	for _, w := range ways {
		if b.Has(w) {
			given = append(given, w)
		}
	}
	const choose = "give exactly one of subscribe, subscribePattern and assign, for example subscribe => 'orders'"
	switch {
	case len(given) == 0:
		return sqlerr.New(sqlerr.OptionMissing, "read_kafka needs one of 'subscribe', 'subscribePattern' and 'assign'").WithHint(choose)
	case len(given) > 1:
		return sqlerr.New(sqlerr.OptionConflict, "'%s' and '%s' exclude each other: only one of the ways to name topics can be given", b.As(given[0]), b.As(given[1])).WithHint(choose)
	}
	s := &b.args.Spec.Select
	var err error
	switch way := given[0]; way {
	case "subscribe":
		*s, err = bindTopics(b.Values, *s)
	case "subscribePattern":
		*s, err = bindPattern(b.Values, *s)
	case "assign":
		if s.Assign, err = parseAssign(b.String(way)); err != nil {
			return b.malformed(way, "", err)
		}
	}
	return err
}

// malformed is the error for a JSON argument, with an example of the shape; words, which may be empty, are what is allowed besides JSON.
func (b *binder) malformed(name, words string, err error) error {
	example := strings.Trim(Arguments.Lookup(name).Example, "'")
	text := b.String(name)
	wrong := sqlerr.New(sqlerr.OptionInvalid, "'%s': expected %se.g. %s, got %s", b.As(name), words, example, option.Show(text))
	if words == "" || strings.HasPrefix(strings.TrimSpace(text), "{") {
		return wrong.WithDetail("%v", err)
	}
	// A word is meant, and what it lacks to be JSON explains nothing.
	if near := option.Nearest(text, strings.FieldsFunc(words, func(c rune) bool { return c == ',' || c == ' ' })); near != "" && near != "or" {
		return wrong.WithHint("did you mean '%s'?", near)
	}
	return wrong
}

// unique drops what stands in list before.
func unique[T comparable](list []T) []T {
	seen := make(map[T]bool, len(list))
	var once []T
	for _, x := range list {
		if !seen[x] {
			seen[x] = true
			once = append(once, x)
		}
	}
	return once
}

func (b *binder) reading() error {
	a := b.args
	a.Spec.Isolation = kafka.ReadCommitted
	if b.String("isolationLevel") == "read_uncommitted" {
		a.Spec.Isolation = kafka.ReadUncommitted
	}
	a.Spec.FailOnDataLoss = b.Bool("failOnDataLoss")
	a.Spec.MinPartitions = int(b.Int("minPartitions"))
	a.Spec.MaxRecordsPerPartition = b.Int("maxRecordsPerPartition")
	a.Readers = int(b.Int("readers"))
	if err := b.redistribution(); err != nil {
		return err
	}
	var err error
	if a.Format, err = bindFormat(b.Values, b.env); err != nil {
		return err
	}
	if b.Has("timestampSkew") {
		skew := b.Duration("timestampSkew")
		a.TimestampSkew = &skew
	}
	if err := b.budget(); err != nil {
		return err
	}
	if !a.Stream {
		return nil
	}
	a.Trigger = Trigger{MaxOffsets: b.Int("maxOffsetsPerTrigger"), MinOffsets: b.Int("minOffsetsPerTrigger"), MaxDelay: b.Duration("maxTriggerDelay")}
	if a.Trigger.MaxOffsets > 0 && a.Trigger.MinOffsets > a.Trigger.MaxOffsets {
		return sqlerr.New(sqlerr.OptionConflict, "'%s' is %d, more than '%s', which is %d", b.As("minOffsetsPerTrigger"), a.Trigger.MinOffsets, b.As("maxOffsetsPerTrigger"), a.Trigger.MaxOffsets)
	}
	a.Mirror = Mirror{b.Bool("commitOffsets"), b.String("groupId"), b.String("groupIdPrefix")}
	for _, name := range []string{"groupId", "groupIdPrefix"} {
		if b.Has(name) && !a.Mirror.On {
			b.warn("'%s' is ignored: a read joins no consumer group; with commitOffsets => true a streaming table shows its positions to that one", b.As(name))
		}
	}
	return b.discovery()
}

// redistribution binds what spreads the work behind the readers.
func (b *binder) redistribution() error {
	keys, on := b.Int("redistributeNumKeys"), b.Bool("redistribute")
	switch {
	case keys > 0 && !on:
		return sqlerr.New(sqlerr.OptionConflict, "'%s' is %d without 'redistribute'", b.As("redistributeNumKeys"), keys).WithHint("add redistribute => true, or leave '%s' out", b.As("redistributeNumKeys"))
	case b.Bool("offsetDeduplication") && b.Bool("allowDuplicates"):
		return sqlerr.New(sqlerr.OptionConflict, "'%s' and '%s' exclude each other", b.As("offsetDeduplication"), b.As("allowDuplicates")).WithHint("leave one of them out")
	case on:
		b.args.Computing = runtime.GOMAXPROCS(0)
		if keys > 0 {
			b.args.Computing = int(min(keys, int64(b.args.Computing)))
		}
	}
	return nil
}

// longestRead is the largest value of maxReadTimeSeconds: a year.
const longestRead = 365 * 24 * 60 * 60

// budget binds what ends a read early.
func (b *binder) budget() error {
	b.args.Spec.MaxRecords = b.Int("maxNumRecords")
	if b.Has("maxReadTimeSeconds") {
		text := strings.TrimSpace(b.String("maxReadTimeSeconds"))
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil || !(seconds > 0 && seconds <= longestRead) {
			return b.Invalid("maxReadTimeSeconds", "is '%s', expected a number of seconds above 0 and up to %d", option.Show(text), longestRead)
		}
		b.args.Spec.MaxTime = time.Duration(seconds * float64(time.Second))
	}
	switch word := b.String("missingTopic"); {
	case word == "skip":
		b.args.Spec.Select.Missing = kafka.MissingSkipped
	case word == "wait" && b.args.Stream:
		b.args.Spec.Select.Missing = kafka.MissingAwaited
	case word == "wait":
		return b.Invalid("missingTopic", "is 'wait', which a read with an end cannot do").
			WithHint("allowed are 'error' and 'skip'; a STREAM can wait for a topic to be created")
	}
	return nil
}

func (b *binder) cluster() (err error) {
	b.args.Cluster, err = bindCluster(b.Values, b.env)
	return err
}

// CheckName is the error for an argument name that read_kafka does not have, nil for one it has. It serves to refuse a call before its values are known.
func CheckName(name string) error {
	if name != StreamFlag && Arguments.Lookup(name) == nil {
		return Arguments.Unknown(name)
	}
	return nil
}

// IsSecret reports whether the value of the named argument must be redacted where a statement is shown.
func IsSecret(name string) bool { return Arguments.IsSecret(name) }

// Settings lists what the call gave, in its order, with secrets redacted; EXPLAIN shows it.
func (a *Args) Settings() []option.Setting { return a.settings }

// String writes the settings on one line.
func (a *Args) String() string {
	parts := make([]string, 0, len(a.settings)+1)
	if a.Stream {
		parts = append(parts, "STREAM")
	}
	for _, s := range a.settings {
		parts = append(parts, s.Name+" => '"+s.Value+"'")
	}
	return strings.Join(parts, ", ")
}
