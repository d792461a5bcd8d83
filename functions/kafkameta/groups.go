package kafkameta

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/kafka"
	"millrace/internal/option"
)

var groups = withOptions(&Function{
	Name: "kafka_consumer_groups",
	Doc: "The consumer groups of a cluster: a row for each partition that a group has read or is reading, with its lag; one row for a group without partitions. " +
		"The name of a group is the column `group_id`, as GROUP is a word of SQL.",
	Example: "SELECT group_id, topic, sum(lag) FROM kafka_consumer_groups(bootstrapServers => 'localhost:9092') GROUP BY group_id, topic",
	Own: []option.Option{{Name: "groupId", Aliases: []string{"group", "groups"}, Type: option.List, DefaultNote: "all groups",
		Doc: "The groups to describe; a warning names those that do not exist.", Example: "'billing,reports'"}},
	Columns: []Column{
		{"group_id", nameType, false, "The name of the group."},
		{"state", wordType, false, "Stable, Empty, PreparingRebalance and so on, as Kafka calls it."},
		{"type", wordType, false, "classic, or consumer for the protocol of KIP-848."},
		{"protocol", nameType, true, "How partitions are assigned to members; NULL without members."},
		{"members", types.Int32, false, "The number of members."},
		{"topic", topicType, true, "A topic that the group reads."},
		{"partition", types.Int32, true, "A partition of it."},
		{"committed_offset", types.Int64, true, "The next offset that the group will read, as it has last said; NULL when it has not."},
		{"end_offset", types.Int64, true, "The end of the partition: its high watermark."},
		{"lag", types.Int64, true, "How many offsets the group is behind; from the start of the log when records that it has not read are gone, or when it has committed nothing. NULL of the groups `millrace-flow-…`, in which exactly-once flows number their batches."},
		{"member_id", nameType, true, "The member that reads the partition."},
		{"client_id", nameType, true, "The client.id of the member."},
		{"host", nameType, true, "Where the member runs, as the broker sees it."},
	},
	rows: groupRows,
})

func groupRows(ctx *sql.Context, c *kafka.Cluster, v *option.Values) ([]sql.Row, []string, error) {
	var names []string
	if v.Has("groupId") {
		names = v.List("groupId")
	}
	all, warnings, err := c.Groups(ctx, names)
	if err != nil {
		return nil, nil, err
	}
	ends, more, err := ends(ctx, c, all)
	if err != nil {
		return nil, nil, err
	}
	var rows []sql.Row
	for _, g := range all {
		rows = append(rows, rowsOf(g, ends)...)
	}
	return rows, append(warnings, more...), nil
}

// place is a partition of a topic.
type place struct {
	topic     string
	partition int32
}

// ends looks up the bounds of every partition that groups have to do with. Topics may be gone: a group remembers what it read.
func ends(ctx *sql.Context, c *kafka.Cluster, all []kafka.GroupInfo) (map[place]kafka.PartitionInfo, []string, error) {
	named := map[string]bool{}
	for _, g := range all {
		for t := range g.Committed {
			named[t] = true
		}
		for _, m := range g.Members {
			for t := range m.Assigned {
				named[t] = true
			}
		}
	}
	if len(named) == 0 {
		return nil, nil, nil
	}
	sel := kafka.Selection{Topics: slices.Sorted(maps.Keys(named)), Missing: kafka.MissingSkipped}
	topics, warnings, err := c.DescribeTopics(ctx, sel, kafka.Describe{Offsets: true})
	if err != nil {
		return nil, nil, err
	}
	out := map[place]kafka.PartitionInfo{}
	for _, t := range topics {
		for _, p := range t.Partitions {
			out[place{t.Name, p.Partition}] = p
		}
	}
	return out, warnings, nil
}

// rowsOf gives the rows of one group, by topic and partition.
func rowsOf(g kafka.GroupInfo, ends map[place]kafka.PartitionInfo) []sql.Row {
	readers := map[place]*kafka.GroupMember{}
	committed := map[place]int64{}
	for i := range g.Members {
		for t, numbers := range g.Members[i].Assigned {
			for _, n := range numbers {
				readers[place{t, n}] = &g.Members[i]
			}
		}
	}
	for t, offsets := range g.Committed {
		for n, o := range offsets {
			committed[place{t, n}] = o
		}
	}
	places := slices.Collect(maps.Keys(readers))
	for p := range committed {
		if readers[p] == nil {
			places = append(places, p)
		}
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.topic, b.topic), cmp.Compare(a.partition, b.partition))
	})
	var protocol any
	if g.Protocol != "" {
		protocol = g.Protocol
	}
	head := sql.Row{g.Name, g.State, g.Type, protocol, int32(len(g.Members))}
	if len(places) == 0 {
		return []sql.Row{append(head, nil, nil, nil, nil, nil, nil, nil, nil)}
	}
	rows, marks := make([]sql.Row, len(places)), strings.HasPrefix(g.Name, kafka.MarkGroups)
	for i, p := range places {
		row := append(slices.Clip(head), p.topic, p.partition)
		offset, hasOffset := committed[p]
		at, known := ends[p]
		known = known && at.End >= 0
		row = append(row, optional(offset, hasOffset), optional(at.End, known), optional(lag(offset, at), known && !marks))
		if m := readers[p]; m != nil {
			row = append(row, m.ID, m.ClientID, m.Host)
		} else {
			row = append(row, nil, nil, nil)
		}
		rows[i] = row
	}
	return rows
}

// lag is how far offset is behind the end of at. A group that is behind the start of the log cannot read what lies between; one that has committed
// nothing is behind all of it.
func lag(offset int64, at kafka.PartitionInfo) int64 { return max(at.End-max(offset, at.Start), 0) }

func optional(n int64, known bool) any {
	if !known {
		return nil
	}
	return n
}
