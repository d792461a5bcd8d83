package kafka_test

import (
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/internal/kafka"
	"millrace/internal/sqlerr"
	"millrace/internal/testkit"
)

var describeAll = kafka.Describe{Offsets: true, Sizes: true, Configs: []string{"cleanup.policy", "retention.ms"}}

func topicNames(topics []kafka.TopicInfo) string {
	var names []string
	for _, t := range topics {
		names = append(names, t.Name)
	}
	return strings.Join(names, " ")
}

func TestDescribeTopicsOfSeveralBrokers(t *testing.T) {
	b := testkit.StartBroker(t, kfake.NumBrokers(3), kfake.SeedTopics(6, "a"), kfake.SeedTopics(1, "b", "__state"))
	for p := range int32(6) { // kfake gives leaders by chance
		if err := b.MoveTopicPartition("a", p, p%3); err != nil {
			t.Fatal(err)
		}
	}
	c := cluster(t, b)
	all, warnings, err := c.DescribeTopics(t.Context(), kafka.Selection{}, describeAll)
	if err != nil || len(warnings) != 0 || topicNames(all) != "a b" {
		t.Fatalf("topics %q, warnings %q, %v", topicNames(all), warnings, err)
	}
	leaders := map[int32]bool{}
	for i, p := range all[0].Partitions {
		leaders[p.Leader] = true
		if p.Partition != int32(i) || p.Start != 0 || p.End != 0 || p.LastStable != 0 || p.Size < 0 || !slices.Contains(p.Replicas, p.Leader) {
			t.Errorf("partition %d: %+v", i, p)
		}
	}
	if len(leaders) != 3 {
		t.Errorf("%d brokers lead, want 3", len(leaders))
	}
	if got := all[1].Configs; got["cleanup.policy"] != "delete" || got["retention.ms"] == "" || len(got) != 2 {
		t.Errorf("settings %v", got)
	}
	for _, test := range []struct {
		sel  kafka.Selection
		want kafka.Describe
		list string
	}{
		{kafka.Selection{}, kafka.Describe{Internal: true}, "__state a b"},
		{kafka.Selection{Pattern: regexp.MustCompile("b|_.*")}, kafka.Describe{}, "b"},
		{kafka.Selection{Pattern: regexp.MustCompile("b|_.*")}, kafka.Describe{Internal: true}, "__state b"},
		{kafka.Selection{Topics: []string{"__state", "b"}}, kafka.Describe{}, "__state b"},
		{kafka.Selection{Topics: []string{"b", "none"}, Missing: kafka.MissingSkipped}, kafka.Describe{}, "b"},
	} {
		if got, _, err := c.DescribeTopics(t.Context(), test.sel, test.want); err != nil || topicNames(got) != test.list {
			t.Errorf("%+v: %q, %v, want %q", test.sel, topicNames(got), err, test.list)
		}
	}
	if _, _, err := c.DescribeTopics(t.Context(), kafka.Selection{Topics: []string{"b", "none"}}, kafka.Describe{}); !sqlerr.HasKind(err, sqlerr.KafkaTopicNotFound) {
		t.Errorf("a topic that is missing: %v", err)
	}
}

// TestDescribeTopicsLeavesUnknownWhatItMayNotSee refuses the requests for settings and sizes, and takes a leader away.
func TestDescribeTopicsLeavesUnknownWhatItMayNotSee(t *testing.T) {
	b := testkit.StartBroker(t, kfake.SeedTopics(2, "t"))
	spread(t, b, 2, 10)
	b.ControlKey(int16(kmsg.DescribeConfigs), func(req kmsg.Request) (kmsg.Response, error, bool) {
		b.KeepControl()
		resp := req.ResponseKind().(*kmsg.DescribeConfigsResponse)
		for _, r := range req.(*kmsg.DescribeConfigsRequest).Resources {
			answer := kmsg.NewDescribeConfigsResponseResource()
			answer.ResourceType, answer.ResourceName, answer.ErrorCode = r.ResourceType, r.ResourceName, kerr.TopicAuthorizationFailed.Code
			resp.Resources = append(resp.Resources, answer)
		}
		return resp, nil, true
	})
	b.ControlKey(int16(kmsg.DescribeLogDirs), func(req kmsg.Request) (kmsg.Response, error, bool) {
		b.KeepControl()
		resp := req.ResponseKind().(*kmsg.DescribeLogDirsResponse)
		resp.ErrorCode = kerr.ClusterAuthorizationFailed.Code
		return resp, nil, true
	})
	c := cluster(t, b)
	all, warnings, err := c.DescribeTopics(t.Context(), kafka.Selection{}, describeAll)
	if err != nil || len(all) != 1 || all[0].Configs != nil || all[0].Partitions[0].Size != -1 || all[0].Partitions[0].End != 5 {
		t.Fatalf("%+v, %v", all, err)
	}
	text := strings.Join(warnings, "\n")
	if !strings.Contains(text, "settings of topics are unknown: topic 't': TOPIC_AUTHORIZATION_FAILED") || !strings.Contains(text, "sizes of logs are unknown: CLUSTER_AUTHORIZATION_FAILED") {
		t.Errorf("warnings %q", text)
	}

	b.ControlKey(int16(kmsg.Metadata), func(req kmsg.Request) (kmsg.Response, error, bool) {
		b.KeepControl()
		r := req.(*kmsg.MetadataRequest)
		if r.Topics != nil && len(r.Topics) == 0 {
			return nil, nil, false // of brokers only
		}
		resp := req.ResponseKind().(*kmsg.MetadataResponse)
		broker := kmsg.NewMetadataResponseBroker()
		host, port := split(t, b.Addrs[0])
		broker.NodeID, broker.Host, broker.Port = 0, host, port
		resp.Brokers = append(resp.Brokers, broker)
		topic := kmsg.NewMetadataResponseTopic()
		topic.Topic = kmsg.StringPtr("t")
		for n := range int32(2) {
			p := kmsg.NewMetadataResponseTopicPartition()
			p.Partition, p.Leader, p.Replicas, p.ISR = n, n-1, []int32{0, 1}, []int32{0}
			if p.Leader < 0 {
				p.ErrorCode, p.OfflineReplicas = kerr.LeaderNotAvailable.Code, []int32{1}
			}
			topic.Partitions = append(topic.Partitions, p)
		}
		resp.Topics = append(resp.Topics, topic)
		return resp, nil, true
	})
	all, _, err = c.DescribeTopics(t.Context(), kafka.Selection{}, kafka.Describe{Offsets: true})
	if err != nil || len(all) != 1 || len(all[0].Partitions) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	down, up := all[0].Partitions[0], all[0].Partitions[1]
	if down.Leader != -1 || down.End != -1 || !slices.Equal(down.Offline, []int32{1}) || up.Leader != 0 || up.End != 5 {
		t.Errorf("without a leader: %+v, with one: %+v", down, up)
	}
}

func TestGroupsThatMayNotBeSeenAreAnErrorWhenTheyAreNamed(t *testing.T) {
	b := testkit.StartBroker(t, kfake.SeedTopics(1, "t"))
	var o kadm.Offsets
	o.AddOffset("t", 0, 0, -1)
	if err := kadm.NewClient(b.Client(t)).CommitAllOffsets(t.Context(), "g", o); err != nil {
		t.Fatal(err)
	}
	c := cluster(t, b)
	groups, _, err := c.Groups(t.Context(), nil)
	if err != nil || len(groups) != 1 || groups[0].Name != "g" || groups[0].Committed["t"][0] != 0 {
		t.Fatalf("%+v, %v", groups, err)
	}
	b.ControlKey(int16(kmsg.ConsumerGroupDescribe), func(req kmsg.Request) (kmsg.Response, error, bool) {
		b.KeepControl()
		resp := req.ResponseKind().(*kmsg.ConsumerGroupDescribeResponse)
		for _, name := range req.(*kmsg.ConsumerGroupDescribeRequest).Groups {
			g := kmsg.NewConsumerGroupDescribeResponseGroup()
			g.Group, g.ErrorCode = name, kerr.GroupAuthorizationFailed.Code
			resp.Groups = append(resp.Groups, g)
		}
		return resp, nil, true
	})
	if _, _, err := c.Groups(t.Context(), []string{"g"}); !sqlerr.HasKind(err, sqlerr.KafkaNotAuthorized) || !strings.Contains(err.Error(), "'g'") {
		t.Errorf("a group that may not be seen: %v", err)
	}
}

func split(t *testing.T, addr string) (string, int32) {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return host, int32(n)
}
