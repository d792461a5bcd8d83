package kafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// EndsOfEpochs asks the leaders where epochs end in their logs: of each partition that is named, the offset behind the last record of that epoch or an earlier one; -1 when
// they do not know. Partitions that cannot answer now are left out. A reader that has read further than the end of the epoch that it read in has read records that were cut off.
func (s *Snapshot) EndsOfEpochs(ctx context.Context, epochs map[string]map[int32]int32) (map[string]map[int32]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cluster.cfg.ConnectTimeout)
	defer cancel()
	cl, err := s.cluster.group.controlClient()
	if err != nil {
		return nil, err
	}
	defer s.cluster.group.release(cl)
	if err := cl.connect(ctx, s.cluster.cfg, true); err != nil {
		return nil, err
	}
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.ReplicaID = -1 // a consumer
	for _, t := range s.Topics {
		rt := kmsg.NewOffsetForLeaderEpochRequestTopic()
		rt.Topic = t.Name
		for _, p := range t.Partitions {
			epoch, ok := epochs[t.Name][p.Partition]
			if !ok {
				continue
			}
			rp := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
			rp.Partition, rp.CurrentLeaderEpoch, rp.LeaderEpoch = p.Partition, p.LeaderEpoch, epoch
			rt.Partitions = append(rt.Partitions, rp)
		}
		if len(rt.Partitions) > 0 {
			req.Topics = append(req.Topics, rt)
		}
	}
	kresp, err := cl.kgo.Request(ctx, req)
	if err != nil {
		return nil, s.cluster.cfg.requestError(ctx, err)
	}
	ends := map[string]map[int32]int64{}
	for _, t := range kresp.(*kmsg.OffsetForLeaderEpochResponse).Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode != 0 {
				continue
			}
			if ends[t.Topic] == nil {
				ends[t.Topic] = map[int32]int64{}
			}
			ends[t.Topic][p.Partition] = p.EndOffset
		}
	}
	return ends, nil
}
