package kafka

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/internal/sqlerr"
)

// GroupOffset is up to where a consumer group has read a partition.
type GroupOffset struct {
	Topic   string
	TopicID [16]byte
	// Partition and Next: the offset after the last that was read.
	Partition int32
	Next      int64
	// LeaderEpoch of the last record before Next, -1 when it is not known.
	LeaderEpoch int32
}

// CommitGroup notes offsets for a consumer group without joining it, for tools that watch the lag of groups. The group must have no members.
func (c *Cluster) CommitGroup(ctx context.Context, group string, offsets []GroupOffset) error {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.ConnectTimeout)
	defer cancel()
	cl, err := c.group.controlClient()
	if err != nil {
		return err
	}
	defer c.group.release(cl)
	if err := cl.connect(ctx, c.cfg, true); err != nil {
		return err
	}
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group = group
	at := map[string]int{}
	for _, o := range offsets {
		i, ok := at[o.Topic]
		if !ok {
			i = len(req.Topics)
			at[o.Topic] = i
			t := kmsg.NewOffsetCommitRequestTopic()
			t.Topic, t.TopicID = o.Topic, o.TopicID
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset, p.LeaderEpoch = o.Partition, o.Next, o.LeaderEpoch
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, p)
	}
	kresp, err := cl.kgo.Request(ctx, req)
	if err != nil {
		return c.cfg.requestError(ctx, err)
	}
	for _, t := range kresp.(*kmsg.OffsetCommitResponse).Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return notCommitted(group, err)
			}
		}
	}
	return nil
}

func notCommitted(group string, err error) error {
	switch {
	case errors.Is(err, kerr.GroupAuthorizationFailed), errors.Is(err, kerr.TopicAuthorizationFailed):
		return sqlerr.New(sqlerr.KafkaNotAuthorized, "offsets of consumer group '%s' may not be committed: the Kafka user lacks READ on it", group).WithCause(err).
			WithHint("Grant READ on the group and on the topics to the Kafka principal.")
	case errors.Is(err, kerr.UnknownMemberID), errors.Is(err, kerr.RebalanceInProgress), errors.Is(err, kerr.IllegalGeneration):
		return sqlerr.New(sqlerr.KafkaFetchFailed, "offsets of consumer group '%s' cannot be committed: it has members", group).WithCause(err).WithHint("Name a group that nobody joins.")
	}
	return sqlerr.New(sqlerr.KafkaFetchFailed, "offsets of consumer group '%s' cannot be committed: %w", group, err)
}
