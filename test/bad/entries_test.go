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
	"peers/T-13": "later: keyed tables become visible at their first complete state",
	"peers/T-15": "server: TestLagReachesZeroOverTransactions",
	"peers/T-16": "server: TestLagReachesZeroOverTransactions",
	"peers/T-18": "internal/kafka: TestRetentionDuringAScanIsReported, where the answer to a range that is gone holds no offsets",

	"peers/S-01": "test/crash: TestEveryRecordIsThereOnceWhateverIsKilled",
	"peers/S-02": "test/crash, and streaming/store: rows and positions are one commit, which is all or nothing",
	"peers/S-03": "test/crash: positions are compared and set with the rows",
	"peers/S-04": "the store is open before tables start: server: TestAStreamingTableLoadsFollowsAndResumes",
	"peers/S-05": "server: TestAStreamingTableLoadsFollowsAndResumes",
	"peers/S-06": "server: TestATopicThatIsCreatedAgainIsNotTakenForTheOldOne",
	"peers/S-07": "server: TestPartitionsThatAreAddedAreReadFromTheirFirstRecord",
	"peers/S-08": "server: TestABrokerThatIsAwayStallsATableForAMoment, TestATableFollowsLeadersThatMove",
	"peers/S-09": "later: windows",
	"peers/S-10": "later: watermarks",
	"peers/S-11": "later: watermarks",
	"peers/S-12": "later: windows",
	"peers/S-13": "later: windows",
	"peers/S-14": "server: TestACreateThatFailsLeavesNothing, TestABrokenDefinitionStopsNobodyElse",
	"peers/S-15": "server: TestABrokerThatIsAwayStallsATableForAMoment",
	"peers/S-16": "internal/kafka: tokens are asked for at each login and again before they end",
	"peers/S-17": "server: TestACreateReadsBeforeItSaysYes",
	"peers/S-18": "server: TestAStreamingTableLoadsFollowsAndResumes: CREATE returns when what there was is there",

	"peers/V-02": "peers/V-01, and internal/decode/avro: TestTypes",
	"peers/V-07": "functions/readkafka: TestAvroWithRegistry, records shorter than the id of a schema",
	"peers/V-11": "functions/readkafka: TestProtobufWithRegistry; bare records are peers/V-12",

	"databricks/01": "internal/kafka: TestRecreatedAndDeletedTopicsAreErrors; a topic made anew between two statements is simply read",
	"databricks/02": "internal/kafka: TestRecreatedAndDeletedTopicsAreErrors, by the topic's id",
	"databricks/03": "internal/kafka: TestPassingTroubleIsOvercome",
	"databricks/09": "streaming/checkpoint: TestPartitionsThatVanishedAreNoLossYet",
	"databricks/10": "server: TestPartitionsThatAreAddedAreReadFromTheirFirstRecord; test/crash",
	"databricks/11": "streaming/checkpoint: TestPartitionsThatVanishedAreNoLossYet",
	"databricks/17": "server: TestPositionsAreShownToAConsumerGroup",
	"databricks/18": "server: TestStatementsOnStreamingTables, the progress",
	"databricks/19": "TestLargeResultsNeedLittleMemory; server: TestBatchesAreBoundedInOffsets",
	"databricks/20": "server: TestBatchesAreBoundedInOffsets",
	"databricks/27": "server: TestStatementsOnStreamingTables, a start that is changed",

	"beam/E-11": "server: TestLagReachesZeroOverTransactions",
	"beam/E-12": "later: watermarks",
	"beam/E-19": "streaming/checkpoint: positions have topic, topic id and partition",
	"beam/E-23": "internal/kafka: TestManyPartitionsCostFewRequests; TestManyStatementsShareConnections",
	"beam/E-24": "positions are kept with the rows: test/crash",
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
	add("peers/S-%02d", 1, 18)
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
