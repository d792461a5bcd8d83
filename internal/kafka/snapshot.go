package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/internal/option"
	"millrace/internal/sqlerr"
)

// Cluster is one Kafka cluster as one identity sees it. Its methods may be called from several goroutines.
type Cluster struct {
	cfg   Config
	group *group
}

// Snapshot is what a statement sees of a selection, fixed at one moment. It is read-only; several plans may be made from one.
type Snapshot struct {
	cluster *Cluster
	// ClusterID is the id that the cluster gives itself, empty where brokers have none.
	ClusterID string
	// Topics ascend by name.
	Topics []TopicState
	// Missing names topics and partitions that were selected and do not exist, when the selection says that this is no error.
	Missing []string
}

// TopicState is a topic of a Snapshot.
type TopicState struct {
	Name string
	// ID is zero where brokers are older than topic ids (2.8).
	ID [16]byte
	// Partitions ascend by number.
	Partitions []PartitionState
}

// PartitionState is a partition of a Snapshot.
type PartitionState struct {
	Partition int32
	// Leader is the broker that leads the partition, LeaderEpoch its epoch, -1 where brokers are older than epochs.
	Leader, LeaderEpoch int32
	// LogStart is the first offset that the log may hold. HighWatermark is the offset after the last replicated record, LastStable the offset below
	// which no transaction is open.
	LogStart, HighWatermark, LastStable int64
}

// End is the offset at which a bounded read ends under iso.
func (p *PartitionState) End(iso Isolation) int64 {
	if iso == ReadCommitted {
		return p.LastStable
	}
	return p.HighWatermark
}

// missingTopicWait is for how long a named topic may be missing: one that was just created takes a moment to be known everywhere.
const missingTopicWait = 2 * time.Second

// Snapshot reaches the cluster, resolves sel and fixes the bounds of every partition, in a few requests whatever the number of topics. Its errors
// are those that a user can act on: a broker that cannot be reached, credentials that are refused, a topic that does not exist.
func (c *Cluster) Snapshot(ctx context.Context, sel Selection) (*Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.ConnectTimeout)
	defer cancel()
	cl, err := c.group.controlClient()
	if err != nil {
		return nil, err
	}
	defer c.group.release(cl)
	if err := cl.connect(ctx, c.cfg, true); err != nil {
		return nil, err
	}
	s := &Snapshot{cluster: c}
	wait := newBackoff()
	giveUp := time.Now().Add(missingTopicWait)
	for {
		var pending error // why the metadata is not complete yet
		if s.Topics, pending, err = c.topics(ctx, cl, sel); err != nil {
			return nil, err
		}
		if pending == nil {
			break
		}
		if sqlerr.HasKind(pending, sqlerr.KafkaTopicNotFound) && time.Now().After(giveUp) {
			return nil, c.withNearest(ctx, cl, sel, pending)
		}
		if err := wait.sleep(ctx); err != nil {
			if canceled(ctx) {
				return nil, context.Cause(ctx)
			}
			return nil, pending
		}
	}
	s.ClusterID = c.group.clusterID()
	s.Missing = sel.absent(s.Topics)
	if err := s.offsets(ctx, cl); err != nil {
		return nil, err
	}
	return s, nil
}

// topics resolves sel by one metadata request. pending is an error that may pass: a topic that is not known yet, a partition between two leaders.
func (c *Cluster) topics(ctx context.Context, cl *client, sel Selection) (_ []TopicState, pending, _ error) {
	names, wanted := slices.Clone(sel.Topics), map[string][]int32(nil)
	if sel.Assign != nil {
		wanted = sel.Assign
		for t := range sel.Assign {
			names = append(names, t)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	matches := func(string) bool { return true }
	if sel.Pattern != nil {
		var err error
		if matches, err = whole(sel.Pattern); err != nil {
			return nil, nil, err
		}
	}
	req := kmsg.NewPtrMetadataRequest()
	for _, n := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(n)
		req.Topics = append(req.Topics, t)
	}
	if sel.Pattern != nil {
		req.Topics = nil // all of them
	} else if len(names) == 0 {
		return nil, nil, nil
	}
	kresp, err := cl.kgo.Request(ctx, req)
	if err != nil {
		return nil, nil, c.cfg.requestError(ctx, err)
	}
	resp := kresp.(*kmsg.MetadataResponse)
	c.group.learn(resp)
	if err := kerr.TypedErrorForCode(resp.ErrorCode); err != nil {
		return nil, nil, c.cfg.codeError(strings.Join(c.cfg.Brokers, ","), err)
	}
	var out []TopicState
	for i := range resp.Topics {
		t := &resp.Topics[i]
		if t.Topic == nil {
			continue
		}
		name := *t.Topic
		if sel.Pattern != nil && (t.IsInternal || strings.HasPrefix(name, "__") || !matches(name)) {
			continue
		}
		switch classify(t.ErrorCode) {
		case codeDenied:
			return nil, nil, topicNotAuthorized(name, "DESCRIBE")
		case codeMissing, codeIdentity:
			if sel.Pattern != nil || sel.Missing == MissingSkipped {
				continue // a pattern: deleted while we asked
			}
			return nil, topicNotFound(name), nil
		case codeTransient:
			return nil, noLeader(name, -1, kerr.ErrorForCode(t.ErrorCode)), nil
		default:
			if err := kerr.ErrorForCode(t.ErrorCode); errors.Is(err, kerr.InvalidTopicException) {
				return nil, nil, sqlerr.New(sqlerr.KafkaTopicNotFound, "'%s' is not a topic name that Kafka allows", name).WithCause(err)
			} else if err != nil {
				return nil, nil, sqlerr.New(sqlerr.KafkaFetchFailed, "metadata of topic '%s' cannot be had: %w", name, err)
			}
		}
		ts := TopicState{Name: name, ID: t.TopicID}
		for _, p := range t.Partitions {
			if wanted != nil && !slices.Contains(wanted[name], p.Partition) {
				continue
			}
			// A replica that is down makes an error code of a partition that can be read.
			if p.Leader < 0 {
				return nil, noLeader(name, p.Partition, kerr.ErrorForCode(p.ErrorCode)), nil
			}
			ts.Partitions = append(ts.Partitions, PartitionState{Partition: p.Partition, Leader: p.Leader, LeaderEpoch: p.LeaderEpoch})
		}
		slices.SortFunc(ts.Partitions, func(a, b PartitionState) int { return cmp.Compare(a.Partition, b.Partition) })
		for _, p := range wanted[name] {
			if sel.Missing != MissingSkipped && !slices.ContainsFunc(ts.Partitions, func(s PartitionState) bool { return s.Partition == p }) {
				return nil, sqlerr.New(sqlerr.KafkaTopicNotFound, "topic '%s' has no partition %d; it has %d partitions", name, p, len(t.Partitions)), nil
			}
		}
		out = append(out, ts)
	}
	slices.SortFunc(out, func(a, b TopicState) int { return strings.Compare(a.Name, b.Name) })
	for _, n := range names {
		if sel.Missing != MissingSkipped && !slices.ContainsFunc(out, func(t TopicState) bool { return t.Name == n }) {
			return nil, topicNotFound(n), nil
		}
	}
	return out, nil, nil
}

// absent lists what s names and topics lack, in order.
func (s Selection) absent(topics []TopicState) []string {
	if s.Missing != MissingSkipped {
		return nil
	}
	found := map[string]map[int32]bool{}
	for _, t := range topics {
		found[t.Name] = map[int32]bool{}
		for _, p := range t.Partitions {
			found[t.Name][p.Partition] = true
		}
	}
	var absent []string
	for _, t := range s.Topics {
		if found[t] == nil {
			absent = append(absent, t)
		}
	}
	for t, partitions := range s.Assign {
		if found[t] == nil {
			absent = append(absent, t)
			continue
		}
		for _, p := range partitions {
			if !found[t][p] {
				absent = append(absent, fmt.Sprintf("%s/%d", t, p))
			}
		}
	}
	slices.Sort(absent)
	return absent
}

// whole gives a matcher that wants all of a name. Leftmost-longest matching finds a match of the whole text wherever there is one; the expression is
// compiled anew because Longest changes it for every user.
func whole(pattern *regexp.Regexp) (func(string) bool, error) {
	re, err := regexp.Compile(pattern.String())
	if err != nil {
		return nil, sqlerr.New(sqlerr.OptionInvalid, "'subscribePattern' is not a regular expression: %w", err)
	}
	re.Longest()
	return func(name string) bool {
		m := re.FindStringIndex(name)
		return m != nil && m[0] == 0 && m[1] == len(name)
	}, nil
}

func topicNotFound(name string) *sqlerr.Error {
	return sqlerr.New(sqlerr.KafkaTopicNotFound, "topic '%s' does not exist", name).
		WithHint("Names are case-sensitive. A topic that the Kafka user may not describe looks the same.")
}

// withNearest adds to a topic's absence the topic that has nearly its name. Where the topics cannot be had the error says what it said: the statement
// has failed already.
func (c *Cluster) withNearest(ctx context.Context, cl *client, sel Selection, missing error) error {
	e, ok := sqlerr.As(missing)
	if !ok {
		return missing
	}
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = nil // all of them
	kresp, err := cl.kgo.Request(ctx, req)
	if err != nil {
		return missing
	}
	var there []string
	for _, t := range kresp.(*kmsg.MetadataResponse).Topics {
		if t.Topic != nil && t.ErrorCode == 0 && !t.IsInternal {
			there = append(there, *t.Topic)
		}
	}
	slices.Sort(there)
	for _, name := range slices.Concat(sel.Topics, slices.Collect(maps.Keys(sel.Assign))) {
		if near := option.Nearest(name, there); near != "" && e.Msg == topicNotFound(name).Msg {
			return e.WithHint("did you mean '%s'? %s", near, e.Hint)
		}
	}
	return missing
}

func noLeader(topic string, partition int32, err error) *sqlerr.Error {
	if err == nil {
		err = kerr.LeaderNotAvailable
	}
	if partition < 0 {
		return sqlerr.New(sqlerr.KafkaUnreachable, "topic '%s' is not available: %w", topic, err)
	}
	return sqlerr.New(sqlerr.KafkaUnreachable, "partition %d of topic '%s' has no leader: %w", partition, topic, err).
		WithHint("The brokers that hold the partition are down, or a new leader is being elected.")
}

// topicNow is a topic as metadata shows it during a scan.
type topicNow struct {
	id         [16]byte
	code       int16
	partitions int32
	leaders    map[int32]leader // of the partitions that have one
}

// leader is the broker that leads a partition and the epoch of its leadership, -1 where brokers know none.
type leader struct {
	id, epoch int32
}

// look asks for the present state of topics, by name.
func (c *Cluster) look(ctx context.Context, cl *client, topics ...string) (map[string]topicNow, error) {
	req := kmsg.NewPtrMetadataRequest()
	for _, n := range topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(n)
		req.Topics = append(req.Topics, t)
	}
	kresp, err := cl.kgo.Request(ctx, req)
	if err != nil {
		return nil, err
	}
	out := map[string]topicNow{}
	for _, t := range kresp.(*kmsg.MetadataResponse).Topics {
		if t.Topic == nil {
			continue
		}
		now := topicNow{id: t.TopicID, code: t.ErrorCode, partitions: int32(len(t.Partitions)), leaders: map[int32]leader{}}
		for _, p := range t.Partitions {
			if p.Leader >= 0 {
				now.leaders[p.Partition] = leader{p.Leader, p.LeaderEpoch}
			}
		}
		out[*t.Topic] = now
	}
	return out, nil
}
