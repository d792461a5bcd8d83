//go:build integration

package integration

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// groupTool runs Kafka's own kafka-consumer-groups and gives the fields of the lines of a topic: CURRENT-OFFSET, LOG-END-OFFSET and LAG by partition.
func groupTool(t *testing.T, group, topic string) map[string]string {
	t.Helper()
	libs, err := exec.Command("../../scripts/kafka/libs").Output()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("java", "-XX:TieredStopAtLevel=1", "-cp", strings.TrimSpace(string(libs))+"/*", "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
		"--bootstrap-server", env(t, "KAFKA_PLAINTEXT"), "--describe", "--group", group).CombinedOutput()
	if err != nil {
		t.Fatalf("kafka-consumer-groups: %v\n%s", err, out)
	}
	lines := map[string]string{}
	for line := range strings.Lines(string(out)) {
		// GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG …
		if f := strings.Fields(line); len(f) > 5 && f[0] == group && f[1] == topic {
			lines[f[2]] = strings.Join(f[3:6], " ")
		}
	}
	return lines
}

// TestKafkaItselfShowsTheLagOfAStreamingTable has commitOffsets checked by the tool that comes with Kafka.
func TestKafkaItselfShowsTheLagOfAStreamingTable(t *testing.T) {
	cl, adm := client(t)
	name := topic(t, adm, 2, nil)
	send := func(n int) {
		var records []*kgo.Record
		for i := range n {
			records = append(records, &kgo.Record{Topic: name, Partition: int32(i % 2), Value: fmt.Appendf(nil, `{"id":%d}`, i)})
		}
		produce(t, cl, records...)
	}
	send(100)
	db := start(t, t.TempDir()).open(t, "")
	group := name + "-group"
	statements(t, db, "CREATE STREAMING TABLE t AS SELECT offset FROM STREAM "+readKafka(t, name, "startingOffsets => 'earliest'", "commitOffsets => true", "groupId => '"+group+"'"))
	shows := func(want string) {
		t.Helper()
		until(t, "lag by kafka-consumer-groups", func() (bool, error) {
			got := groupTool(t, group, name)
			return got["0"] == want && got["1"] == want, fmt.Errorf("it shows %v", got)
		})
	}
	shows("50 50 0")
	statements(t, db, "ALTER STREAMING TABLE t PAUSE")
	send(40)
	shows("50 70 20")
	statements(t, db, "ALTER STREAMING TABLE t RESUME")
	shows("70 70 0")
}
