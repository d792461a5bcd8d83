package arch

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// anyone may import these packages of ours.
var anyone = []string{"internal/column", "internal/sqlerr", "internal/option", "internal/convert", "internal/memory", "internal/failpoint"}

// layers: package (without the module path) → packages of ours that it may import besides anyone's. A trailing /... covers the folder.
// Tests and bench/ are exempt. A package that is missing here fails the test: adding one is a decision.
var layers = map[string][]string{
	"cmd/millrace":                 {"server", "internal/demo"},
	"server":                       {"internal/decode/ddl", "server/dialect", "server/wire", "server/http", "planner", "planner/expr", "functions", "functions/readkafka", "functions/writekafka", "functions/kafkameta", "streaming/...", "internal/catalog/...", "internal/kafka", "internal/registry", "internal/scan", "internal/decode", "internal/export", "internal/ops", "internal/spill"},
	"server/dialect":               {},
	"server/wire":                  {},
	"server/http":                  {},
	"planner":                      {"planner/agg", "planner/expr", "internal/scan", "internal/ops", "internal/decode/...", "internal/spill", "streaming/store"},
	"planner/expr":                 {"internal/decode/..."},
	"planner/agg":                  {"planner/expr", "internal/sketch"},
	"functions":                    {"functions/named", "planner", "planner/agg", "planner/expr", "internal/scan", "internal/ops", "internal/kafka", "internal/decode/...", "internal/registry", "internal/catalog"},
	"functions/named":              {},
	"functions/kafkameta":          {"functions/named", "functions/readkafka", "planner", "internal/kafka", "internal/registry"},
	"functions/readkafka":          {"functions/named", "planner", "planner/expr", "internal/scan", "internal/ops", "internal/kafka", "internal/decode/...", "internal/registry", "internal/catalog"},
	"functions/writekafka":         {"functions/named", "functions/readkafka", "internal/kafka", "internal/decode/...", "internal/registry"},
	"internal/catalog":             {},
	"internal/catalog/catalogtest": {"internal/catalog"},
	"internal/catalog/pgcatalog":   {"internal/catalog", "internal/postgres"},
	"internal/postgres":            {},
	"internal/option":              {},
	"internal/column":              {},
	"internal/convert":             {},
	"internal/export":              {"internal/export/parquet"},
	"internal/export/parquet":      {},
	"internal/failpoint":           {},
	"internal/memory":              {},
	"internal/spill":               {},
	"internal/sqlerr":              {},
	"internal/scan":                {},
	"internal/sketch":              {},
	"internal/ops":                 {"internal/scan", "internal/sketch", "internal/decode", "internal/decode/json", "internal/spill"},
	"internal/kafka":               {"internal/scan"},
	"internal/registry":            {},
	"internal/decode":              {},
	"internal/decode/json":         {"internal/decode", "internal/decode/ddl"},
	"internal/decode/avro":         {"internal/decode", "internal/decode/json"},
	"internal/decode/proto":        {"internal/decode", "internal/decode/json"},
	"internal/decode/csv":          {"internal/decode", "internal/decode/json"},
	"internal/decode/ddl":          {},
	"internal/decode/jsonschema":   {"internal/decode/..."},
	"internal/decode/debezium":     {"internal/decode", "internal/decode/json"},
	"internal/decode/framed":       {"internal/decode"},
	"internal/decode/serde":        {"internal/decode"},
	"internal/demo":                {},
	"internal/testkit":             {"..."},
	"streaming":                    {"streaming/executor", "streaming/checkpoint", "streaming/schedule", "streaming/store", "internal/scan", "internal/kafka", "internal/catalog"},
	"streaming/executor":           {"streaming/checkpoint", "streaming/schedule", "streaming/store", "internal/scan", "internal/kafka"},
	"streaming/checkpoint":         {"streaming/store", "internal/scan", "internal/kafka"},
	"streaming/schedule":           {},
	"streaming/sqltable":           {"streaming/store", "planner", "internal/scan"},
	"streaming/store":              {"internal/scan"},
	"streaming/store/segment":      {"streaming/store"},
	"streaming/store/pebblestore":  {"streaming/store", "streaming/store/segment", "internal/scan"},
	"streaming/store/pgstore":      {"streaming/store", "internal/scan", "internal/postgres"},
	"streaming/store/storetest":    {"streaming/store", "internal/scan", "internal/ops"},
	"internal/arch":                {},
}

// strict: packages of anyone that may not even import each other.
var strict = map[string][]string{
	"internal/column":    {},
	"internal/memory":    {},
	"internal/sqlerr":    {},
	"internal/option":    {"internal/sqlerr"},
	"internal/convert":   {"internal/sqlerr", "internal/column"},
	"internal/failpoint": {},
}

// owners: a library → the only packages that may import it.
var owners = map[string][]string{
	"github.com/twmb/franz-go/pkg/kgo":   {"internal/kafka", "internal/demo", "internal/testkit"},
	"github.com/twmb/franz-go/pkg/sr":    {"internal/registry", "internal/demo", "internal/testkit"},
	"github.com/dolthub/go-mysql-server": {"server", "planner", "planner/agg", "planner/expr", "functions", "functions/named", "functions/kafkameta", "functions/readkafka", "functions/writekafka", "streaming/sqltable", "internal/testkit"},
	"github.com/dolthub/vitess":          {"server", "planner", "planner/agg", "planner/expr", "functions", "functions/named", "functions/kafkameta", "functions/readkafka", "functions/writekafka", "streaming/sqltable", "internal/testkit"},
	"github.com/twmb/franz-go/pkg/kfake": {"internal/demo", "internal/testkit"},
	"github.com/parquet-go/parquet-go":   {"internal/export/parquet"},
	"github.com/cockroachdb/pebble":      {"streaming/store/pebblestore"},
	"github.com/jackc/pgx/v5":            {"streaming/store/pgstore", "internal/catalog/pgcatalog", "internal/postgres"},
}

type pkg struct {
	ImportPath string
	Name       string
	Doc        string
	Imports    []string
}

func list(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-tags", "gms_pure_go", "-json=ImportPath,Name,Doc,Imports", "millrace/...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		var x *exec.ExitError
		if errors.As(err, &x) {
			t.Fatalf("go list: %v\n%s", err, x.Stderr)
		}
		t.Fatal(err)
	}
	var ps []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return ps
		} else if err != nil {
			t.Fatal(err)
		}
		ps = append(ps, p)
	}
}

func allowed(p string, list []string) bool {
	return slices.ContainsFunc(list, func(a string) bool {
		return a == p || a == "..." || strings.HasSuffix(a, "/...") && strings.HasPrefix(p+"/", strings.TrimSuffix(a, "..."))
	})
}

func TestLayersImportOneWay(t *testing.T) {
	for _, p := range list(t) {
		name := strings.TrimPrefix(p.ImportPath, "millrace/")
		if strings.HasPrefix(name, "bench") || strings.HasPrefix(name, "test/") {
			continue
		}
		may, known := layers[name]
		if !known {
			t.Errorf("%s is not in the table of layers", name)
			continue
		}
		if s, ok := strict[name]; ok {
			may = s
		} else {
			may = append(slices.Clone(may), anyone...)
		}
		for _, i := range p.Imports {
			if ours, ok := strings.CutPrefix(i, "millrace/"); ok && !allowed(ours, may) {
				t.Errorf("%s imports %s, which its layer may not", name, ours)
			}
			for lib, owner := range owners {
				if (i == lib || strings.HasPrefix(i, lib+"/")) && !allowed(name, owner) {
					t.Errorf("%s imports %s, which only %v may", name, i, owner)
				}
			}
		}
	}
}

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	for _, p := range list(t) {
		if len(p.Doc) < 40 && !strings.HasPrefix(p.ImportPath, "millrace/bench") && !strings.HasPrefix(p.ImportPath, "millrace/test/") {
			t.Errorf("%s has no package comment that says what it is for", p.ImportPath)
		}
	}
}
