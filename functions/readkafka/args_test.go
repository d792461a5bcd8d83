package readkafka

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"millrace/internal/kafka"
	"millrace/internal/option"
	"millrace/internal/sqlerr"
)

// TestArgs runs the scripts in testdata/args. An input is one argument a line, as in SQL, after STREAM on a line of its own for a streaming read; the output
// is what a read would do, or the error. bind starts from brokers and a topic, bind-bare from nothing.
func TestArgs(t *testing.T) {
	env := ArgsEnv{FilesDir: "testdata/files", Allow: func(string, net.IP) error { return nil }, named: testNames}
	datadriven.Walk(t, "testdata/args", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			pairs := parsePairs(t, d.Input)
			e := env
			switch d.Cmd {
			case "bind":
				pairs = append([]option.Pair{{Name: "bootstrapServers", Value: "k:9092"}, {Name: "subscribe", Value: "t"}}, pairs...)
			case "bind-brokers":
				pairs = append([]option.Pair{{Name: "bootstrapServers", Value: "k:9092"}}, pairs...)
			case "bind-bare":
			case "bind-default-connection":
				e.DefaultConnection = "prod"
			default:
				d.Fatalf(t, "unknown command")
			}
			args, err := Bind(pairs, e)
			if err != nil {
				return showError(t, err)
			}
			return show(args)
		})
	})
}

// testNames are the connection prod and the credential reader.
func testNames(kind NamedKind, name string) (Named, error) {
	login := map[string]string{"kafka.security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "u", "sasl.password": "hunter2", "client.id": "stored"}
	switch {
	case kind == NamedConnection && name == "prod":
		return Named{Brokers: []string{"k1:9092", "k2:9092"}, Properties: login}, nil
	case kind == NamedCredential && name == "reader":
		return Named{Hosts: kafka.Hosts{"*.example.com:9093"}, Properties: login}, nil
	}
	return Named{}, sqlerr.New(sqlerr.NoConnection, "%s '%s' does not exist", kind, name)
}

func parsePairs(t *testing.T, input string) []option.Pair {
	var pairs []option.Pair
	for line := range strings.SplitSeq(input, "\n") {
		line = strings.TrimSuffix(strings.TrimSpace(line), ",")
		name, literal, ok := strings.Cut(line, " => ")
		switch {
		case line == "" || strings.HasPrefix(line, "--"):
			continue
		case line == "STREAM":
			pairs = append(pairs, option.Pair{Name: StreamFlag, Value: int8(1)})
			continue
		case !ok:
			t.Fatalf("no argument: %s", line)
		}
		var value any
		switch {
		case literal == "NULL":
		case literal == "true", literal == "false":
			value = literal == "true"
		case literal[0] == '\'':
			value = strings.ReplaceAll(literal[1:len(literal)-1], "''", "'")
		default:
			n, err := strconv.ParseInt(literal, 10, 64)
			if err != nil {
				t.Fatalf("no literal: %s", literal)
			}
			value = n
		}
		pairs = append(pairs, option.Pair{Name: strings.Trim(name, "`"), Value: value})
	}
	return pairs
}

func showError(t *testing.T, err error) string {
	var e *sqlerr.Error
	if !errors.As(err, &e) {
		t.Errorf("not a *sqlerr.Error: %v", err)
		return err.Error()
	}
	return e.Kind.Symbol + ": " + e.Error()
}

func show(a *Args) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	s := a.Spec
	switch {
	case s.Select.Topics != nil:
		line("topics     %s", strings.Join(s.Select.Topics, ", "))
	case s.Select.Pattern != nil:
		line("pattern    %s", s.Select.Pattern)
	default:
		line("partitions %v", s.Select.Assign)
	}
	if a.Stream {
		line("stream     from %s", showBound(s.Start))
	} else {
		line("range      from %s to %s", showBound(s.Start), showBound(s.End))
	}
	if s.Isolation == kafka.ReadUncommitted {
		line("isolation  read_uncommitted")
	}
	if !s.FailOnDataLoss {
		line("data loss  is a warning")
	}
	if s.MinPartitions != 0 || s.MaxRecordsPerPartition != 0 {
		line("splits     at least %d, at most %d records each", s.MinPartitions, s.MaxRecordsPerPartition)
	}
	if a.Computing != 0 {
		line("computing on lanes of their own")
	}
	if a.Readers != 0 {
		line("readers    %d", a.Readers)
	}
	if s.MaxTime != 0 || s.MaxRecords != 0 {
		line("ends after %v, %d records", s.MaxTime, s.MaxRecords)
	}
	if s.Select.Missing != kafka.MissingFails {
		line("missing    topics are %s", [...]string{"", "left out", "waited for"}[s.Select.Missing])
	}
	if a.TimestampSkew != nil {
		line("skew       %v", *a.TimestampSkew)
	}
	if a.Format.Headers {
		line("columns    with headers")
	}
	if a.Format.Payload {
		line("columns    with payload")
	}
	if a.Stream {
		line("trigger    %+v", a.Trigger)
	}
	line("cluster    %s", a.Cluster)
	for _, w := range a.Warnings {
		line("warning    %s", w)
	}
	return b.String()
}

func showBound(b kafka.Bound) string {
	switch b.Kind {
	case kafka.AtEarliest:
		return "earliest"
	case kafka.AtLatest:
		return "latest"
	case kafka.AtOffsets:
		return fmt.Sprintf("offsets %v", b.Offsets)
	}
	text := fmt.Sprintf("times %v", b.Timestamps)
	if b.Kind == kafka.AtTimestamp {
		text = "time " + time.UnixMilli(b.Timestamp).UTC().Format("2006-01-02T15:04:05.999Z")
	}
	if b.NoMatchError {
		text += " (no match is an error)"
	}
	return text
}

// TestOptionsDocIsCurrent compares docs/options.md with the tables; -rewrite writes it.
func TestOptionsDocIsCurrent(t *testing.T) {
	var b strings.Builder
	b.WriteString(docHead)
	if err := Arguments.WriteMarkdown(&b, true); err != nil {
		t.Fatal(err)
	}
	b.WriteString(docProperties)
	if err := kafka.Properties.WriteMarkdown(&b, false); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("..", "..", "docs", "options.md")
	if rewriting() {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != b.String() {
		t.Errorf("%s is not what the tables say; run make generate", path)
	}
}

// TestEveryArgumentHasAnExampleThatBinds keeps the docs honest: what they show as an example is accepted, or refused for the reason they give.
func TestEveryArgumentHasAnExampleThatBinds(t *testing.T) {
	for _, o := range Arguments.Options() {
		if o.Example == "" || strings.HasSuffix(o.Name, "*") {
			continue
		}
		for _, name := range o.Names() {
			pairs := parsePairs(t, name+" => "+o.Example)
			for _, stream := range []bool{false, true} {
				support := o.Batch
				if stream {
					support = o.Stream
				}
				_, err := Arguments.Bind(pairs, stream)
				switch support {
				case option.Supported, option.Ignored:
					if err != nil {
						t.Errorf("%s (stream %v): %v", name, stream, err)
					}
				case option.Later:
					if err != nil && !sqlerr.HasKind(err, sqlerr.NotSupported) {
						t.Errorf("%s (stream %v): %v", name, stream, err)
					}
				case option.Refused:
					if !sqlerr.HasKind(err, sqlerr.OptionForbidden) || !strings.Contains(err.Error(), o.Reason) {
						t.Errorf("%s (stream %v): %v", name, stream, err)
					}
				}
			}
		}
	}
}

// TestEveryArgumentRefusesNullAndAWrongType is the bad case of each argument; the scripts have those that mean more.
func TestEveryArgumentRefusesNullAndAWrongType(t *testing.T) {
	for _, o := range Arguments.Options() {
		name := strings.ReplaceAll(o.Name, "*", "x")
		for _, wrong := range []any{nil, struct{}{}} {
			_, err := Arguments.Bind([]option.Pair{{Name: name, Value: wrong}}, false)
			var e *sqlerr.Error
			if !errors.As(err, &e) || !strings.Contains(e.Msg, "'"+name+"'") || e.Kind != sqlerr.OptionInvalid && e.Kind != sqlerr.OptionForbidden {
				t.Errorf("%s => %v: %v", name, wrong, err)
			}
		}
	}
}

func TestNamesCanBeCheckedBeforeValuesAreKnown(t *testing.T) {
	for _, name := range []string{"subscribe", StreamFlag, "kafka.anything", "starting_offsets"} {
		if err := CheckName(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := CheckName("startingOfsets"); !sqlerr.HasKind(err, sqlerr.OptionUnknown) || !strings.Contains(err.Error(), "did you mean 'startingOffsets'?") {
		t.Error(err)
	}
	for name, want := range map[string]bool{"include_headers": true, "FORMAT": true, "data_format": true, "subscribe": false, "nonsense": false} {
		if got := DecidesColumns(name); got != want {
			t.Errorf("DecidesColumns(%s) = %v", name, got)
		}
	}
}

// BenchmarkBind is what the arguments cost each statement.
func BenchmarkBind(b *testing.B) {
	pairs := []option.Pair{
		{Name: "bootstrapServers", Value: "broker1:9092,broker2:9092"}, {Name: "subscribe", Value: "orders"}, {Name: "startingOffsets", Value: `{"orders":{"0":23,"1":-2}}`},
		{Name: "includeHeaders", Value: true}, {Name: "kafka.security.protocol", Value: "SASL_SSL"}, {Name: "kafka.sasl.mechanism", Value: "PLAIN"},
		{Name: "kafka.sasl.username", Value: "u"}, {Name: "kafka.sasl.password", Value: "p"},
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Bind(pairs, ArgsEnv{}); err != nil {
			b.Fatal(err)
		}
	}
}
