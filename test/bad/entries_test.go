package bad

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// elsewhere says for each entry without a script where it is tested, or why a bounded query cannot show it.
var elsewhere = map[string]string{
	"peers/T-04": "does not apply: no reader of a registry's own topic",
	"peers/T-13": "streaming tables: a keyed table becomes visible at its first complete state",
	"peers/T-15": "streaming tables: lag",
	"peers/T-16": "streaming tables: lag",
	"peers/T-18": "internal/kafka: TestRetentionDuringAScanIsReported, where the answer to a range that is gone holds no offsets",

	"peers/V-02": "peers/V-01, and internal/decode/avro: TestTypes",
	"peers/V-07": "functions/readkafka: TestAvroWithRegistry, records shorter than the id of a schema",
	"peers/V-11": "functions/readkafka: TestProtobufWithRegistry; bare records are peers/V-12",

	"databricks/01": "internal/kafka: TestRecreatedAndDeletedTopicsAreErrors; a topic made anew between two statements is simply read",
	"databricks/02": "internal/kafka: TestRecreatedAndDeletedTopicsAreErrors, by the topic's id",
	"databricks/03": "internal/kafka: TestPassingTroubleIsOvercome",
	"databricks/09": "streaming tables: positions",
	"databricks/10": "streaming tables: restart of a bounded refresh",
	"databricks/11": "streaming tables: restart of a bounded refresh",
	"databricks/17": "streaming tables: commitOffsets",
	"databricks/18": "streaming tables: lag in the progress",
	"databricks/19": "TestLargeResultsNeedLittleMemory; maxOffsetsPerTrigger with streaming tables",
	"databricks/20": "streaming tables: minOffsetsPerTrigger",
	"databricks/27": "streaming tables: the checkpoint wins over startingOffsets",

	"beam/E-11": "streaming tables: lag",
	"beam/E-12": "streaming tables: idle time-out of watermarks",
	"beam/E-19": "streaming tables: state by topic and partition",
	"beam/E-23": "internal/kafka: TestManyPartitionsCostFewRequests; TestManyStatementsShareConnections",
	"beam/E-24": "streaming tables: commits",
	"beam/E-29": "internal/registry: TLS and logins; functions/readkafka: TestErrorsOfRegistries",
	"beam/E-30": "functions/readkafka: TestAvroWithRegistry; internal/decode/avro: TestEvolution",
	"beam/E-26": "internal/kafka: TestConnectionErrorsAreHonestAndQuick",
}

// TestEveryEntryIsAccountedFor wants each entry once: as a script, or above.
func TestEveryEntryIsAccountedFor(t *testing.T) {
	var entries []string
	add := func(format string, from, to int) {
		for i := from; i <= to; i++ {
			entries = append(entries, fmt.Sprintf(format, i))
		}
	}
	add("peers/T-%02d", 1, 21)
	add("peers/F-%02d", 1, 15)
	add("peers/V-%02d", 1, 28)
	add("databricks/%02d", 1, 30)
	add("beam/E-%d", 11, 34)
	add("beam/E-%d", 36, 37)
	for _, e := range entries {
		_, err := os.Stat(filepath.Join("testdata", filepath.FromSlash(e)))
		if _, other := elsewhere[e]; other == (err == nil) {
			t.Errorf("%s: a script or a line in elsewhere is wanted", e)
		}
	}
	for e := range elsewhere {
		if !slices.Contains(entries, e) {
			t.Errorf("%s is no entry", e)
		}
	}
}
