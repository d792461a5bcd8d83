//go:build integration

package integration

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
)

// fillForClients fills the topic that test/clients/README.md describes.
func fillForClients(t *testing.T) string {
	cl, adm := client(t)
	name := topic(t, adm, 1, map[string]string{"retention.ms": "-1"}) // the records are older than any retention
	base := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var rs []*kgo.Record
	for i := range 1000 {
		r := &kgo.Record{Topic: name, Key: fmt.Appendf(nil, "key-%d", i), Timestamp: base.Add(time.Duration(i) * time.Millisecond)}
		switch i {
		case 900:
			r.Value = []byte(`{"id":"oops"}`)
		case 999: // a tombstone
		default:
			r.Value = fmt.Appendf(nil, `{"id":%d,"big":9007199254740993,"name":"žluťoučký 🎉"}`, i)
		}
		rs = append(rs, r)
	}
	produce(t, cl, rs...)
	return name
}

// want is what every client must see.
func want(topic string) string {
	return strings.ReplaceAll(`select = 1
version = 8.0.36-millrace
count = 1000
prepared = 500
row = key-7|{"id":7,"big":9007199254740993,"name":"žluťoučký 🎉"}|TOPIC|0|7|2026-01-02 03:04:05.007|0
path = 8|9007199254740993|žluťoučký 🎉
null = NULL
all = 1000|6890|0|999
unknown topic = 31016
after error = 1
error after rows = 1292
usable = 2
streamed = 1000
`, "TOPIC", topic)
}

func TestEveryClientSeesTheSame(t *testing.T) {
	s := sharedServer(t)
	name := fillForClients(t)
	host, port, err := net.SplitHostPort(s.ports["mysql"])
	if err != nil {
		t.Fatal(err)
	}
	brokers := env(t, "KAFKA_PLAINTEXT")
	clients, err := filepath.Abs("../clients")
	if err != nil {
		t.Fatal(err)
	}
	javaDir := env(t, "TEST_JAVA")
	for who, command := range map[string][]string{
		"mariadb":                        {filepath.Join(clients, "steps.sh"), host, port, brokers, name},
		"pymysql":                        {"python3", filepath.Join(clients, "steps.py"), host, port, brokers, name, "pymysql"},
		"mysql-connector-python":         {"python3", filepath.Join(clients, "steps.py"), host, port, brokers, name, "connector-pure"},
		"mysql-connector-python-native":  {"python3", filepath.Join(clients, "steps.py"), host, port, brokers, name, "connector"},
		"mysql2":                         {"node", filepath.Join(clients, "steps.js"), host, port, brokers, name},
		"connector-j":                    {"java", "-cp", javaDir + ":" + javaDir + "/libs/*", "Steps", host, port, brokers, name, "client"},
		"connector-j-server-preparation": {"java", "-cp", javaDir + ":" + javaDir + "/libs/*", "Steps", host, port, brokers, name, "server"},
	} {
		t.Run(who, func(t *testing.T) {
			cmd := exec.Command(command[0], command[1:]...)
			cmd.Env = append(os.Environ(), "PYTHONPATH="+env(t, "TEST_PYTHON"), "NODE_PATH="+filepath.Join(env(t, "TEST_NODE"), "node_modules"),
				"TZ=UTC", "PYTHONIOENCODING=utf-8", "LC_ALL=C.UTF-8", "JAVA_TOOL_OPTIONS=-Dfile.encoding=UTF-8 -Dstdout.encoding=UTF-8")
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s%s", err, out, &stderr)
			}
			if d := cmp.Diff(want(name), string(out)); d != "" {
				t.Errorf("-want +got:\n%s%s", d, &stderr)
			}
		})
	}
}
