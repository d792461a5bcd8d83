package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/internal/sqlerr"
)

// GroupInfo is what a cluster says of a consumer group.
type GroupInfo struct {
	Name string
	// State is Kafka's word: Stable, Empty, PreparingRebalance, …
	State string
	// Type is "classic", or "consumer" for a group of the newer protocol (KIP-848). Protocol is the partition assignor in use, empty without members.
	Type, Protocol string
	Members        []GroupMember
	// Committed are the offsets that the group has committed, by topic and partition: the next to read.
	Committed map[string]map[int32]int64
}

// GroupMember is a member of a consumer group.
type GroupMember struct {
	ID, ClientID, Host string
	// Assigned are the partitions that it reads, by topic.
	Assigned map[string][]int32
}

// The types of consumer groups.
const (
	classicGroup  = "classic"
	consumerGroup = "consumer"
)

// Groups describes consumer groups by name, all that the user may see when names is nil. One that is named and does not exist is left out, with a
// warning.
func (c *Cluster) Groups(ctx context.Context, names []string) (_ []GroupInfo, warnings []string, _ error) {
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
	g := &groupLookup{cluster: c, client: cl, found: map[string]*GroupInfo{}}
	// A group that is named may be of either protocol, and is looked for under both.
	classic, newer := []string(nil), slices.Compact(slices.Sorted(slices.Values(names)))
	if names == nil {
		if classic, newer, err = g.list(ctx); err != nil {
			return nil, nil, err
		}
	}
	missing, err := g.describeNewer(ctx, newer)
	if err == nil {
		missing, err = g.describeClassic(ctx, append(classic, missing...))
	}
	if err == nil {
		err = g.commits(ctx)
	}
	if err != nil {
		return nil, nil, err
	}
	if len(missing) > 0 && names != nil {
		g.warnings = append(g.warnings, fmt.Sprintf("%s: no such consumer group", some(missing)))
	}
	return g.sorted(), g.warnings, nil
}

// groupLookup gathers what several requests say of groups.
type groupLookup struct {
	cluster  *Cluster
	client   *client
	found    map[string]*GroupInfo
	warnings []string
}

func (g *groupLookup) sorted() []GroupInfo {
	out := make([]GroupInfo, 0, len(g.found))
	for _, info := range g.found {
		out = append(out, *info)
	}
	slices.SortFunc(out, func(a, b GroupInfo) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// each sends a request that is split by broker and gives every answer to take. A broker that does not answer is a warning, unless none does.
func (g *groupLookup) each(ctx context.Context, req kmsg.Request, take func(kmsg.Response) error) error {
	answered, failed := false, error(nil)
	for _, shard := range g.client.kgo.RequestSharded(ctx, req) {
		if shard.Err != nil {
			failed = shard.Err
			continue
		}
		answered = true
		if err := take(shard.Resp); err != nil {
			return err
		}
	}
	switch {
	case failed == nil:
		return nil
	case canceled(ctx):
		return context.Cause(ctx)
	case !answered:
		return g.cluster.cfg.requestError(ctx, failed)
	}
	g.warnings = append(g.warnings, fmt.Sprintf("some consumer groups may be left out: %v", failed))
	return nil
}

// list gives the names of all groups that consume topics.
func (g *groupLookup) list(ctx context.Context) (classic, newer []string, _ error) {
	err := g.each(ctx, kmsg.NewPtrListGroupsRequest(), func(resp kmsg.Response) error {
		r := resp.(*kmsg.ListGroupsResponse)
		if err := kerr.TypedErrorForCode(r.ErrorCode); err != nil {
			return g.cluster.cfg.codeError(strings.Join(g.cluster.cfg.Brokers, ","), err)
		}
		for _, listed := range r.Groups {
			switch {
			case strings.EqualFold(listed.GroupType, consumerGroup):
				newer = append(newer, listed.Group)
			case listed.GroupType == "" || strings.EqualFold(listed.GroupType, classicGroup):
				classic = append(classic, listed.Group)
			}
		}
		return nil
	})
	return classic, newer, err
}

// denied is the error for a group that the user may not describe, nil for another code.
func (g *groupLookup) denied(name string, code int16) error {
	if err := kerr.ErrorForCode(code); errors.Is(err, kerr.GroupAuthorizationFailed) {
		return sqlerr.New(sqlerr.KafkaNotAuthorized, "consumer group '%s' may not be described: the Kafka user lacks DESCRIBE on it", name).
			WithCause(err).WithHint("Grant DESCRIBE on the group to the Kafka principal.")
	}
	return nil
}

// describeClassic describes groups of the classic protocol and gives the names of those that are none.
func (g *groupLookup) describeClassic(ctx context.Context, names []string) (missing []string, _ error) {
	if len(names) == 0 {
		return nil, nil
	}
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = names
	return missing, g.each(ctx, req, func(resp kmsg.Response) error {
		for _, r := range resp.(*kmsg.DescribeGroupsResponse).Groups {
			if err := g.denied(r.Group, r.ErrorCode); err != nil {
				return err
			}
			err := kerr.ErrorForCode(r.ErrorCode)
			if errors.Is(err, kerr.GroupIDNotFound) || err == nil && r.State == "Dead" { // brokers before 3.8 call a group dead that they do not know
				missing = append(missing, r.Group)
				continue
			}
			if err != nil {
				return sqlerr.New(sqlerr.KafkaFetchFailed, "consumer group '%s' cannot be described: %w", r.Group, err)
			}
			info := &GroupInfo{Name: r.Group, State: r.State, Type: classicGroup, Protocol: r.Protocol}
			for _, m := range r.Members {
				info.Members = append(info.Members, GroupMember{ID: m.MemberID, ClientID: m.ClientID, Host: m.ClientHost, Assigned: assigned(r.ProtocolType, m.MemberAssignment)})
			}
			g.found[r.Group] = info
		}
		return nil
	})
}

// assigned reads the partitions of a member. What other programs than consumers put there, or a client in its own format, is nobody's business here.
func assigned(protocol string, data []byte) map[string][]int32 {
	var a kmsg.ConsumerMemberAssignment
	if protocol != "consumer" || a.ReadFrom(data) != nil {
		return nil
	}
	out := map[string][]int32{}
	for _, t := range a.Topics {
		out[t.Topic] = append(out[t.Topic], t.Partitions...)
	}
	return out
}

// describeNewer describes groups of the newer protocol and gives the names of those that are none. Brokers that do not know the protocol have none.
func (g *groupLookup) describeNewer(ctx context.Context, names []string) (missing []string, _ error) {
	if len(names) == 0 {
		return nil, nil
	}
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups = names
	unnamed := map[[16]byte][]unnamedTopic{}
	for _, shard := range g.client.kgo.RequestSharded(ctx, req) {
		if canceled(ctx) {
			return nil, context.Cause(ctx)
		}
		if shard.Err != nil {
			missing = append(missing, shard.Req.(*kmsg.ConsumerGroupDescribeRequest).Groups...)
			continue
		}
		for _, r := range shard.Resp.(*kmsg.ConsumerGroupDescribeResponse).Groups {
			if err := g.denied(r.Group, r.ErrorCode); err != nil {
				return nil, err
			}
			if r.ErrorCode != 0 {
				missing = append(missing, r.Group)
				continue
			}
			info := &GroupInfo{Name: r.Group, State: r.State, Type: consumerGroup, Protocol: r.AssignorName}
			for _, m := range r.Members {
				member := GroupMember{ID: m.MemberID, ClientID: m.ClientID, Host: m.ClientHost, Assigned: map[string][]int32{}}
				for _, t := range m.Assignment.TopicPartitions {
					if t.Topic == "" {
						unnamed[t.TopicID] = append(unnamed[t.TopicID], unnamedTopic{member, t.Partitions})
						continue
					}
					member.Assigned[t.Topic] = append(member.Assigned[t.Topic], t.Partitions...)
				}
				info.Members = append(info.Members, member)
			}
			g.found[r.Group] = info
		}
	}
	return missing, g.name(ctx, unnamed)
}

// unnamedTopic is what a member reads of a topic that is known by its id only.
type unnamedTopic struct {
	member     GroupMember
	partitions []int32
}

// name looks up the names of topics. One that was deleted meanwhile has none, and nobody reads it.
func (g *groupLookup) name(ctx context.Context, unnamed map[[16]byte][]unnamedTopic) error {
	if len(unnamed) == 0 {
		return nil
	}
	req := kmsg.NewPtrMetadataRequest()
	for id := range unnamed {
		t := kmsg.NewMetadataRequestTopic()
		t.TopicID = id
		req.Topics = append(req.Topics, t)
	}
	kresp, err := g.client.kgo.Request(ctx, req)
	if err != nil {
		return g.cluster.cfg.requestError(ctx, err)
	}
	for _, t := range kresp.(*kmsg.MetadataResponse).Topics {
		if t.Topic == nil {
			continue
		}
		for _, u := range unnamed[t.TopicID] {
			u.member.Assigned[*t.Topic] = append(u.member.Assigned[*t.Topic], u.partitions...)
		}
	}
	return nil
}

// commits looks up what the groups have committed.
func (g *groupLookup) commits(ctx context.Context) error {
	if len(g.found) == 0 {
		return nil
	}
	req := kmsg.NewPtrOffsetFetchRequest()
	for _, info := range g.sorted() {
		r := kmsg.NewOffsetFetchRequestGroup()
		r.Group = info.Name
		req.Groups = append(req.Groups, r)
	}
	return g.each(ctx, req, func(resp kmsg.Response) error {
		for _, r := range resp.(*kmsg.OffsetFetchResponse).Groups {
			if err := g.denied(r.Group, r.ErrorCode); err != nil {
				return err
			}
			info := g.found[r.Group]
			if info == nil || r.ErrorCode != 0 {
				continue // it was deleted meanwhile
			}
			info.Committed = map[string]map[int32]int64{}
			for _, t := range r.Topics {
				for _, p := range t.Partitions {
					if p.ErrorCode != 0 || p.Offset < 0 {
						continue
					}
					if info.Committed[t.Topic] == nil {
						info.Committed[t.Topic] = map[int32]int64{}
					}
					info.Committed[t.Topic][p.Partition] = p.Offset
				}
			}
		}
		return nil
	})
}
