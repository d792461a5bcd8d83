package kafka

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/internal/sqlerr"
)

// TopicInfo is what a cluster says of a topic.
type TopicInfo struct {
	Name string
	// ID is zero where brokers are older than topic ids (2.8).
	ID [16]byte
	// Internal topics are the cluster's own.
	Internal bool
	// Partitions ascend by number.
	Partitions []PartitionInfo
	// Configs are the settings that were asked for, nil when they cannot be had.
	Configs map[string]string
}

// PartitionInfo is what a cluster says of a partition.
type PartitionInfo struct {
	Partition int32
	// Leader is -1 when there is none, LeaderEpoch where brokers know none.
	Leader, LeaderEpoch int32
	// Replicas, the in-sync ones and those whose broker is down, as broker ids.
	Replicas, InSync, Offline []int32
	// Start, End (the high watermark) and LastStable are offsets, -1 when they are unknown.
	Start, End, LastStable int64
	// Size is the bytes of the leader's log, -1 when it is unknown.
	Size int64
}

// Describe says what DescribeTopics is to look up besides metadata. Each costs a request or two to every broker.
type Describe struct {
	// Internal includes internal topics, which otherwise are given only when they are named.
	Internal bool
	Offsets  bool
	Sizes    bool
	// Configs names settings of topics.
	Configs []string
}

// DescribeTopics describes the topics that sel selects, all of them when it selects none, by name. A topic that is named must exist. What the user
// may not see but for the topics themselves is left unknown; warnings say so.
func (c *Cluster) DescribeTopics(ctx context.Context, sel Selection, want Describe) (_ []TopicInfo, warnings []string, _ error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.ConnectTimeout)
	defer cancel()
	cl, err := c.group.controlClient()
	if err != nil {
		return nil, nil, err
	}
	defer c.group.release(cl)
	if err := cl.connect(ctx, c.cfg, true); err != nil {
		return nil, nil, err
	}
	topics, err := c.listTopics(ctx, cl, sel, want.Internal)
	if err != nil || len(topics) == 0 {
		return nil, nil, err
	}
	if want.Offsets {
		if err := c.describeOffsets(ctx, cl, topics); err != nil {
			return nil, nil, err
		}
	}
	if want.Configs != nil {
		if err := c.describeConfigs(ctx, cl, topics, want.Configs); err != nil {
			if canceled(ctx) {
				return nil, nil, context.Cause(ctx)
			}
			warnings = append(warnings, fmt.Sprintf("settings of topics are unknown: %v", err))
		}
	}
	if want.Sizes {
		if err := c.describeSizes(ctx, cl, topics); err != nil {
			if canceled(ctx) {
				return nil, nil, context.Cause(ctx)
			}
			warnings = append(warnings, fmt.Sprintf("sizes of logs are unknown: %v", err))
		}
	}
	return topics, warnings, nil
}

// listTopics gives the metadata of topics. One that is named may take a moment to be known, as it may have been created just now.
func (c *Cluster) listTopics(ctx context.Context, cl *client, sel Selection, internal bool) ([]TopicInfo, error) {
	wait := newBackoff()
	giveUp := time.Now().Add(missingTopicWait)
	for {
		topics, missing, err := c.topicsNow(ctx, cl, sel, internal)
		if err != nil || missing == "" {
			return topics, err
		}
		if time.Now().After(giveUp) {
			return nil, topicNotFound(missing)
		}
		if wait.sleep(ctx) != nil {
			if canceled(ctx) {
				return nil, context.Cause(ctx)
			}
			return nil, topicNotFound(missing)
		}
	}
}

func (c *Cluster) topicsNow(ctx context.Context, cl *client, sel Selection, internal bool) (out []TopicInfo, missing string, _ error) {
	matches := func(string) bool { return true }
	if sel.Pattern != nil {
		var err error
		if matches, err = whole(sel.Pattern); err != nil {
			return nil, "", err
		}
	}
	req := kmsg.NewPtrMetadataRequest()
	for _, n := range sel.Topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(n)
		req.Topics = append(req.Topics, t)
	}
	kresp, err := cl.kgo.Request(ctx, req)
	if err != nil {
		return nil, "", c.cfg.requestError(ctx, err)
	}
	resp := kresp.(*kmsg.MetadataResponse)
	if err := kerr.TypedErrorForCode(resp.ErrorCode); err != nil {
		return nil, "", c.cfg.codeError(strings.Join(c.cfg.Brokers, ","), err)
	}
	for i := range resp.Topics {
		t := &resp.Topics[i]
		if t.Topic == nil {
			continue
		}
		own := t.IsInternal || strings.HasPrefix(*t.Topic, "__")
		if sel.Topics == nil && (own && !internal || !matches(*t.Topic)) {
			continue
		}
		switch classify(t.ErrorCode) {
		case codeMissing, codeIdentity:
			if sel.Topics != nil && sel.Missing != MissingSkipped {
				missing = *t.Topic
			}
			continue
		case codeDenied:
			if sel.Topics == nil {
				continue
			}
			return nil, "", topicNotAuthorized(*t.Topic, "DESCRIBE")
		}
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil && classify(t.ErrorCode) != codeTransient {
			return nil, "", sqlerr.New(sqlerr.KafkaTopicNotFound, "topic '%s' cannot be described: %w", *t.Topic, err)
		}
		out = append(out, topicInfo(t, own))
	}
	slices.SortFunc(out, func(a, b TopicInfo) int { return strings.Compare(a.Name, b.Name) })
	return out, missing, nil
}

func topicInfo(t *kmsg.MetadataResponseTopic, internal bool) TopicInfo {
	info := TopicInfo{Name: *t.Topic, ID: t.TopicID, Internal: internal}
	for _, p := range t.Partitions {
		info.Partitions = append(info.Partitions, PartitionInfo{
			Partition: p.Partition, Leader: p.Leader, LeaderEpoch: p.LeaderEpoch, Replicas: p.Replicas, InSync: p.ISR, Offline: p.OfflineReplicas,
			Start: -1, End: -1, LastStable: -1, Size: -1,
		})
	}
	slices.SortFunc(info.Partitions, func(a, b PartitionInfo) int { return cmp.Compare(a.Partition, b.Partition) })
	return info
}

// describeOffsets looks up the bounds of every partition that has a leader.
func (c *Cluster) describeOffsets(ctx context.Context, cl *client, topics []TopicInfo) error {
	s := Snapshot{cluster: c}
	for _, t := range topics {
		state := TopicState{Name: t.Name, ID: t.ID}
		for _, p := range t.Partitions {
			if p.Leader >= 0 {
				state.Partitions = append(state.Partitions, PartitionState{Partition: p.Partition, Leader: p.Leader, LeaderEpoch: p.LeaderEpoch})
			}
		}
		s.Topics = append(s.Topics, state)
	}
	if err := s.offsets(ctx, cl); err != nil {
		return err
	}
	for i, state := range s.Topics {
		led := state.Partitions
		for j := range topics[i].Partitions {
			p := &topics[i].Partitions[j]
			if p.Leader < 0 {
				continue
			}
			p.Start, p.End, p.LastStable = led[0].LogStart, led[0].HighWatermark, led[0].LastStable
			led = led[1:]
		}
	}
	return nil
}

// configsAtOnce bounds the topics of one request for settings.
const configsAtOnce = 1000

// describeConfigs looks up settings. Its error says why some are unknown.
func (c *Cluster) describeConfigs(ctx context.Context, cl *client, topics []TopicInfo, names []string) error {
	byName := make(map[string]*TopicInfo, len(topics))
	for i := range topics {
		byName[topics[i].Name] = &topics[i]
	}
	var failed error
	for some := range slices.Chunk(topics, configsAtOnce) {
		req := kmsg.NewPtrDescribeConfigsRequest()
		for _, t := range some {
			r := kmsg.NewDescribeConfigsRequestResource()
			r.ResourceType, r.ResourceName, r.ConfigNames = kmsg.ConfigResourceTypeTopic, t.Name, names
			req.Resources = append(req.Resources, r)
		}
		kresp, err := cl.kgo.Request(ctx, req)
		if err != nil {
			return err
		}
		for _, r := range kresp.(*kmsg.DescribeConfigsResponse).Resources {
			t := byName[r.ResourceName]
			if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
				failed = fmt.Errorf("topic '%s': %w", r.ResourceName, err)
				continue
			}
			if t == nil {
				continue
			}
			t.Configs = make(map[string]string, len(r.Configs))
			for _, cfg := range r.Configs {
				if cfg.Value != nil {
					t.Configs[cfg.Name] = *cfg.Value
				}
			}
		}
	}
	return failed
}

// describeSizes asks every broker for the sizes of its logs. Its error says why some are unknown.
func (c *Cluster) describeSizes(ctx context.Context, cl *client, topics []TopicInfo) error {
	req := kmsg.NewPtrDescribeLogDirsRequest()
	type key struct {
		topic            string
		partition, owner int32
	}
	wanted := map[key]*PartitionInfo{}
	for i := range topics {
		rt := kmsg.NewDescribeLogDirsRequestTopic()
		rt.Topic = topics[i].Name
		for j := range topics[i].Partitions {
			p := &topics[i].Partitions[j]
			rt.Partitions = append(rt.Partitions, p.Partition)
			wanted[key{rt.Topic, p.Partition, p.Leader}] = p
		}
		req.Topics = append(req.Topics, rt)
	}
	var failed error
	for _, shard := range cl.kgo.RequestSharded(ctx, req) {
		if shard.Err != nil {
			failed = fmt.Errorf("broker %d: %w", shard.Meta.NodeID, shard.Err)
			continue
		}
		resp := shard.Resp.(*kmsg.DescribeLogDirsResponse)
		if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
			failed = err
			continue
		}
		for _, dir := range resp.Dirs {
			if err := kerr.ErrorForCode(dir.ErrorCode); err != nil {
				failed = fmt.Errorf("broker %d: %w", shard.Meta.NodeID, err)
				continue
			}
			for _, t := range dir.Topics {
				for _, p := range t.Partitions {
					if info := wanted[key{t.Topic, p.Partition, shard.Meta.NodeID}]; info != nil && !p.IsFuture {
						info.Size = max(info.Size, 0) + p.Size
					}
				}
			}
		}
	}
	return failed
}
