package executor

import (
	"context"
	"fmt"
	"time"

	"millrace/internal/kafka"
	"millrace/internal/scan"
	"millrace/internal/sqlerr"
	"millrace/streaming/checkpoint"
	"millrace/streaming/store"
)

// Starts gives the positions that a new table begins at: those of its read on a snapshot.
func Starts(ctx context.Context, snap *kafka.Snapshot, read Read) ([]store.Move, error) {
	spec := read.Spec
	spec.FailOnDataLoss = false // what retention has taken before the table was there is no loss of the table
	src, err := snap.Tail(ctx, spec, scan.Request{Limit: -1}, kafka.TailOptions{})
	if err != nil {
		return nil, err
	}
	defer src.Close()
	found := map[store.Partition]store.Position{}
	for _, topic := range snap.Topics {
		for _, p := range topic.Partitions {
			found[store.Partition{Topic: topic.Name, Partition: p.Partition}] = store.Position{TopicID: topic.ID, LeaderEpoch: p.LeaderEpoch}
		}
	}
	var moves []store.Move
	for _, s := range src.Splits() {
		part := store.Partition{Topic: s.Topic, Partition: s.Partition}
		at := found[part]
		at.Offset = s.Range.From
		moves = append(moves, store.Move{Partition: part, To: &at})
	}
	return moves, nil
}

// sameCluster wants positions to be of the cluster that is read: in another one they mean other records.
func (t *Table) sameCluster(id string) error {
	switch {
	case t.record.Cluster == "":
		t.record.Cluster = id
	case id != "" && id != t.record.Cluster:
		return sqlerr.New(sqlerr.NeedsFull, "the brokers are of cluster '%s' now, and the %s was read from cluster '%s'", id, t.either("table", "topic of the flow"), t.record.Cluster).
			WithHint("%s", t.either("REFRESH STREAMING TABLE … FULL reads the topics of the new one from the start", "DROP FLOW and CREATE FLOW begin anew at the new one, where startingOffsets says"))
	}
	return nil
}

// epochs finds logs that were cut and have grown past the table's position since: only a new leader can do that, so others are not asked.
func epochs(ctx context.Context, snap *kafka.Snapshot, plan *checkpoint.Plan) error {
	asked := map[string]map[int32]int32{}
	for _, p := range plan.Led() {
		if asked[p.Topic] == nil {
			asked[p.Topic] = map[int32]int32{}
		}
		asked[p.Topic][p.Partition.Partition] = p.Had.LeaderEpoch
	}
	if len(asked) == 0 {
		return nil
	}
	ends, err := snap.EndsOfEpochs(ctx, asked)
	if err != nil {
		return err
	}
	plan.Cut(ends)
	return nil
}

func (t *Table) absent(parts []store.Partition) error {
	return sqlerr.New(sqlerr.KafkaTopicNotFound, "topic '%s' has no partition %d any more", parts[0].Topic, parts[0].Partition).
		WithDetail("Kafka removes no partitions: either the brokers do not all know of it yet, or the topic was deleted and created again, which brokers without topic ids do not tell").
		WithHint("%s", t.either("if the topic was created again, REFRESH STREAMING TABLE … FULL reads it from the start; else the table goes on by itself",
			"if the topic was created again, DROP FLOW and CREATE FLOW begin anew at it; else the flow goes on by itself"))
}

// settle deals with losses and partitions without positions: by an error, or by a commit without rows that moves positions to where reading goes on.
func (t *Table) settle(ctx context.Context, plan *checkpoint.Plan, read Read) error {
	var moves []store.Move
	events := ""
	for _, l := range plan.Losses {
		if l.Kind == checkpoint.Truncated {
			// A new leader may lag behind the old one for a moment, so this is believed only when it lasts.
			if t.truncated.IsZero() {
				t.truncated = time.Now()
			}
			if time.Since(t.truncated) < t.TruncatedAfter {
				return sqlerr.New(sqlerr.KafkaFetchFailed, "%v", l)
			}
		}
		if read.Spec.FailOnDataLoss {
			kind := sqlerr.KafkaDataLoss
			if l.Kind == checkpoint.Recreated {
				kind = sqlerr.KafkaTopicRecreated
			}
			return sqlerr.New(kind, "%v", l).WithHint("%s", t.either("REFRESH STREAMING TABLE … FULL reads the topics from the start; with failOnDataLoss => false the table goes on from what is left",
				"DROP FLOW and CREATE FLOW begin anew, where startingOffsets says; one made with failOnDataLoss => false goes on from what is left"))
		}
		events = fmt.Sprint(l)
		t.log.Warn(t.Noun+" has lost records", "table", t.name, "topic", l.Topic, "partition", l.Partition.Partition, "loss", string(l.Kind), "from", l.Gone.From, "to", l.Gone.To)
		t.event("data_loss", events)
	}
	t.truncated = time.Time{}
	lost := map[store.Partition]bool{}
	for _, l := range plan.Losses {
		lost[l.Partition] = true
	}
	for i := range plan.Ranges {
		if r := &plan.Ranges[i]; r.Had == nil || lost[r.Partition] {
			m := r.Move(r.From)
			moves = append(moves, m)
			r.Had = m.To
			delete(lost, r.Partition)
		}
	}
	for part := range lost { // which the topic does not have any more
		had := t.position()[part]
		moves = append(moves, store.Move{Partition: part, From: &had})
	}
	if len(moves) == 0 {
		return nil
	}
	return t.commit(ctx, only(moves))
}
