package readkafka

import (
	"context"
	"strings"
	"testing"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/functions/named"
)

// grants are dynamic privileges.
type grants struct {
	sql.PrivilegedOperationChecker
	list string
}

func (g grants) UserHasPrivileges(_ *sql.Context, operations ...sql.PrivilegedOperation) bool {
	for _, o := range operations {
		for _, p := range o.DynamicPrivileges {
			if !strings.Contains(g.list, strings.ToLower(p)) {
				return false
			}
		}
	}
	return true
}

func TestUsageOfAConnectionReachesNothingElse(t *testing.T) {
	arg := func(name, value string) named.Arg {
		return named.Arg{Name: name, Value: expression.NewLiteral(value, types.LongText)}
	}
	usage := grants{list: UsagePrivilege("connection", "prod")}
	for _, c := range []struct {
		name string
		have grants
		args []named.Arg
		want bool
	}{
		{"its own connection", usage, []named.Arg{arg("connection", "prod")}, true},
		{"another connection", usage, []named.Arg{arg("connection", "test")}, false},
		{"no connection", usage, []named.Arg{arg("bootstrapServers", "b:1")}, false},
		{"a registry beside it", usage, []named.Arg{arg("connection", "prod"), arg("schema_registry_address", "http://r")}, false},
		{"a registry with KAFKA_READ", grants{list: strings.ToLower(Privilege)}, []named.Arg{arg("connection", "prod"), arg("schemaRegistryUrl", "http://r")}, true},
	} {
		ctx := sql.NewContext(context.Background())
		if got := Allowed(ctx, c.have, c.args); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
