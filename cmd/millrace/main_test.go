package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"millrace/internal/demo"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func command(t *testing.T, env []string, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(context.Background(), args, env, &streams{out: &o, err: &e})
	return code, o.String(), e.String()
}

func config(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "millrace.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestQueryFormats(t *testing.T) {
	const sql = "SELECT 1.50 AS n, 'a\"b\n' AS s, NULL AS z, cast('[1, 2]' AS json) AS j UNION ALL SELECT -2.00, '', 'x', cast('null' AS json)"
	for format, want := range map[string]string{
		"table":    "+-------+-------+------+--------+\n|     n | s     | z    | j      |\n+-------+-------+------+--------+\n|  1.50 | a\"b\\n | NULL | [1, 2] |\n| -2.00 |       | x    | null   |\n+-------+-------+------+--------+\n2 rows\n",
		"csv":      "n,s,z,j\n1.50,\"a\"\"b\n\",,\"[1, 2]\"\n-2.00,,x,null\n",
		"json":     "[\n {\"n\":1.50,\"s\":\"a\\\"b\\n\",\"z\":null,\"j\":[1, 2]},\n {\"n\":-2.00,\"s\":\"\",\"z\":\"x\",\"j\":null}\n]\n",
		"jsonl":    "{\"n\":1.50,\"s\":\"a\\\"b\\n\",\"z\":null,\"j\":[1, 2]}\n{\"n\":-2.00,\"s\":\"\",\"z\":\"x\",\"j\":null}\n",
		"vertical": "*************************** 1. row ***************************\nn: 1.50\ns: a\"b\\n\nz: NULL\nj: [1, 2]\n*************************** 2. row ***************************\nn: -2.00\ns: \nz: x\nj: null\n",
	} {
		code, out, errs := command(t, nil, "query", "--format", format, sql)
		if code != 0 || out != want || errs != "" {
			t.Errorf("%s: code %d, %s\n got %q\nwant %q", format, code, errs, out, want)
		}
	}
}

func TestQueryEndsWithOneAtTheFirstError(t *testing.T) {
	code, out, errs := command(t, nil, "query", "--format", "csv", "SELECT 1; SELECT nope; SELECT 3")
	if code != 1 || out != "1\n1\n" || !strings.Contains(errs, "nope") {
		t.Errorf("code %d, out %q, err %q", code, out, errs)
	}
	if code, _, errs := command(t, nil, "query"); code != 1 || !strings.Contains(errs, "nothing to run") {
		t.Errorf("without statements: code %d, err %q", code, errs)
	}
	path := config(t, "SELECT 'from a file' AS s;")
	if code, out, errs := command(t, nil, "query", "-f", path, "--format", "csv"); code != 0 || out != "s\nfrom a file\n" {
		t.Errorf("-f: code %d, out %q, err %q", code, out, errs)
	}
}

func TestSettingsComeFromFlagsThenEnvironmentThenFile(t *testing.T) {
	// --memory-limit names its value in its error, which shows where the value came from.
	path := config(t, "memory-limit: file\n")
	for name, test := range map[string]struct {
		env, args []string
		want      string
	}{
		"default":     {nil, nil, ""},
		"file":        {nil, []string{"--config", path}, "'file'"},
		"file by env": {[]string{"MILLRACE_CONFIG=" + path}, nil, "'file'"},
		"env":         {[]string{"MILLRACE_MEMORY_LIMIT=env"}, []string{"--config", path}, "'env'"},
		"flag":        {[]string{"MILLRACE_MEMORY_LIMIT=env"}, []string{"--config", path, "--memory-limit", "flag"}, "'flag'"},
	} {
		code, _, errs := command(t, test.env, append([]string{"query", "SELECT 1"}, test.args...)...)
		if (code == 0) != (test.want == "") || !strings.Contains(errs, test.want) {
			t.Errorf("%s: code %d, %s", name, code, errs)
		}
	}
}

func TestUnknownSettingsAreErrorsWithAHint(t *testing.T) {
	for name, test := range map[string]struct {
		env, args []string
		want      string
	}{
		"flag":            {nil, []string{"--memry-limit", "1GiB"}, "--memory-limit"},
		"env":             {[]string{"MILLRACE_MEMRY_LIMIT=1GiB"}, nil, "MILLRACE_MEMORY_LIMIT"},
		"key":             {nil, []string{"--config", config(t, "memry-limit: 1GiB")}, "'memory-limit'"},
		"map for a value": {nil, []string{"--config", config(t, "memory-limit: {a: b}")}, "found a map"},
		"no YAML":         {nil, []string{"--config", config(t, "a: b: c")}, "'--config'"},
		"no file":         {nil, []string{"--config", "/does/not/exist"}, "'--config'"},
	} {
		code, _, errs := command(t, test.env, append([]string{"query", "SELECT 1"}, test.args...)...)
		if code != 1 || !strings.Contains(errs, test.want) {
			t.Errorf("%s: code %d, %s", name, code, errs)
		}
	}
	if code, _, errs := command(t, []string{"MILLRACE_SECRET_PROD_PASSWORD=x", "OTHER=y"}, "query", "--format", "csv", "SELECT 1"); code != 0 {
		t.Errorf("a secret was taken for a setting: %s", errs)
	}
}

func TestYAMLTakesListsAndUnderscores(t *testing.T) {
	path := config(t, "allow_hosts: [\"a:99999\", b]\nmemory_limit: 1GiB\n")
	code, _, errs := command(t, nil, "query", "SELECT 1", "--config", path)
	if code != 1 || !strings.Contains(errs, "'a:99999'") {
		t.Errorf("code %d, %s", code, errs)
	}
}

func TestStoresThatCannotBeUsed(t *testing.T) {
	for store, want := range map[string]string{
		"mysql://u:canary@h/d":                "'--store' is neither the word embedded nor a URL such as postgres://",
		"postgres://u:canary@[::1/d":          "'--store' cannot be read: its URL has a character that no URL has there",
		"postgres://u:pa@canary@h/d":          "'--store' cannot be read: its URL has more than one '@'\nhint: characters such as '@'",
		"postgres://u:pa@canary/x@h/d":        "has an '@' behind a '/'",
		"postgres://u:canary@h/d?sslmode=bad": "sslmode",
	} {
		if code, _, errs := command(t, nil, "serve", "--data-dir", t.TempDir(), "--store", store); code != 1 || !strings.Contains(errs, want) || strings.Contains(errs, "canary") {
			t.Errorf("%s: code %d, %s", store, code, errs)
		}
	}
}

func TestServeRunsUntilItsContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	ready := make(chan struct{})
	out := writerFunc(func(p []byte) (int, error) {
		if strings.HasPrefix(string(p), "http listening on 127.0.0.1:") {
			close(ready)
		}
		return len(p), nil
	})
	done := make(chan int, 1)
	var errs bytes.Buffer
	go func() {
		done <- run(ctx, []string{"serve", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--data-dir", t.TempDir(), "--log-level", "error"}, nil, &streams{out: out, err: &errs})
	}()
	select {
	case <-ready:
	case code := <-done:
		t.Fatalf("ended with %d: %s", code, errs.String())
	}
	cancel()
	if code := <-done; code != 0 {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestHelpAndVersion(t *testing.T) {
	if code, out, _ := command(t, nil, "version"); code != 0 || out != "millrace dev\n" {
		t.Errorf("version: %d %q", code, out)
	}
	if code, out, _ := command(t, nil, "--version"); code != 0 || out != "millrace dev\n" {
		t.Errorf("--version: %d %q", code, out)
	}
	for flag, want := range map[string]string{"--port": "--listen", "--http-port": "--http", "--data-dri": "--data-dir"} {
		if code, _, errs := command(t, nil, "serve", flag, "1"); code != 1 || !strings.Contains(errs, "did you mean \""+want+"\"?") {
			t.Errorf("serve %s: %d %q", flag, code, errs)
		}
	}
	for _, args := range [][]string{{}, {"--help"}, {"help"}, {"help", "query"}, {"serve", "--help"}, {"query", "--help"}, {"demo", "--help"}} {
		code, out, _ := command(t, nil, args...)
		if code != 0 || !strings.Contains(out, "millrace") {
			t.Errorf("%v: %d %q", args, code, out)
		}
	}
}

func TestLogLevels(t *testing.T) {
	for text, want := range map[string]string{"loud": "'loud'", "info,kafka=": "'kafka='", "": "''"} {
		if _, err := parseLevels(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	l, err := parseLevels("warn,kafka=debug")
	if err != nil || l.main.String() != "WARN" || l.by["kafka"].String() != "DEBUG" {
		t.Errorf("%v %v", l, err)
	}
}

// CREATE STREAMING TABLE said ok, and the table was gone when the process ended.
func TestQuerySaysWhatItDoesNotKeep(t *testing.T) {
	for name, test := range map[string]struct{ sql, want string }{
		"a table":          {"CREATE TABLE t (a INT)", "table 'main.t'"},
		"a view":           {"CREATE VIEW v AS SELECT 1", "view 'main.v'"},
		"a database":       {"CREATE DATABASE d", "database 'd'"},
		"a user":           {"CREATE USER u IDENTIFIED BY 'x'; SELECT 1", "users and grants"},
		"several":          {"CREATE USER u; CREATE TABLE t (a INT)", "table 'main.t', users and grants"},
		"what was used":    {"CREATE TABLE t (a INT); CREATE VIEW v AS SELECT a FROM t; SELECT count(*) FROM v", ""},
		"what was dropped": {"CREATE TABLE t (a INT); DROP TABLE t", ""},
	} {
		code, _, errs := command(t, nil, "query", test.sql)
		if said := strings.Contains(errs, "not kept, as this process has no '--data-dir'"); code != 0 || said != (test.want != "") || !strings.Contains(errs, test.want) {
			t.Errorf("%s: code %d, %q", name, code, errs)
		}
	}
	dir := t.TempDir()
	if code, _, errs := command(t, nil, "query", "--data-dir", dir, "CREATE TABLE t (a INT)"); code != 0 || strings.Contains(errs, "not kept") {
		t.Errorf("with a folder: code %d, %q", code, errs)
	}
	if code, out, errs := command(t, nil, "query", "--data-dir", dir, "--format", "csv", "SELECT count(*) AS n FROM t"); code != 0 || out != "n\n0\n" {
		t.Errorf("from the folder: code %d, %q, %q", code, out, errs)
	}
}

func TestQuerySaysThatStreamingTablesAreNotKept(t *testing.T) {
	broker, err := demo.StartBroker("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	producer, err := kgo.NewClient(kgo.SeedBrokers(broker.Addr()), kgo.DefaultProduceTopic("numbers"), kgo.AllowAutoTopicCreation())
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	if err := producer.ProduceSync(t.Context(), kgo.StringRecord("1"), &kgo.Record{Topic: "copies"}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	read := "STREAM read_kafka(bootstrapServers => '" + broker.Addr() + "', subscribe => 'numbers', startingOffsets => 'earliest')"
	flow := "CREATE FLOW f AS INSERT INTO write_kafka(bootstrapServers => '" + broker.Addr() + "', topic => 'copies') BY NAME SELECT value FROM " + read
	for sql, want := range map[string]string{
		"CREATE STREAMING TABLE t AS SELECT offset FROM " + read + "; SELECT * FROM t": "streaming table 'main.t'",
		flow: "flow 'main.f'",
	} {
		if code, _, errs := command(t, nil, "query", sql); code != 0 || !strings.Contains(errs, "not kept, as this process has no '--data-dir' and ends now: "+want) {
			t.Errorf("%s: code %d, %q", sql, code, errs)
		}
	}
}
