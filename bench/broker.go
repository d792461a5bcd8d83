package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"runtime/debug"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// runBroker is the `bench broker` process: an in-memory-protocol broker with its data on disk, or one that serves a canned batch for ever and
// says that its partitions end where -synthetic tells. It prints its address and runs until it is told to stop.
func runBroker(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("broker", flag.ExitOnError)
	dir := fs.String("dir", "", "data directory")
	synthetic := fs.Bool("synthetic", false, "serve a canned batch; the name of a topic after its last '-' is its number of records")
	partitions := fs.Int("partitions", 8, "partitions of synthetic topics")
	rate := fs.Int("rate", 0, "bytes a second that a connection may carry to the client, 0 for any number")
	if err := fs.Parse(args); err != nil {
		return err
	}
	// The broker builds every answer anew and keeps nothing, so at the usual pace it spends half its time collecting garbage, and what is measured is
	// that. Both sides of a pair talk to the same broker.
	debug.SetGCPercent(800)
	opts := []kfake.Opt{kfake.NumBrokers(1), kfake.DefaultNumPartitions(*partitions)}
	switch {
	case *synthetic:
		opts = append(opts, kfake.SyntheticFetch(kfake.SyntheticBatch{RecordBytes: 200, RandomFrac: 0.3, Records: 1000, Compression: kgo.Lz4Compression()}))
	case *dir != "":
		opts = append(opts, kfake.DataDir(*dir))
	default:
		return errors.New("broker: -dir or -synthetic")
	}
	if *rate > 0 {
		opts = append(opts, kfake.ListenFn(func(network, address string) (net.Listener, error) {
			l, err := net.Listen(network, address)
			return cappedListener{l, *rate}, err
		}))
	}
	c, err := kfake.NewCluster(opts...)
	if err != nil {
		return err
	}
	defer c.Close()
	if *synthetic {
		for _, n := range syntheticSizes {
			if err := c.CreateTopic(syntheticTopic(n), int32(*partitions), nil); err != nil {
				return err
			}
		}
		c.ControlKey(int16(kmsg.ListOffsets), func(req kmsg.Request) (kmsg.Response, error, bool) {
			c.KeepControl()
			return syntheticOffsets(req.(*kmsg.ListOffsetsRequest), *partitions), nil, true
		})
	}
	fmt.Println(c.ListenAddrs()[0])
	<-ctx.Done()
	return nil
}

// syntheticSizes are the numbers of records that synthetic topics claim to hold.
var syntheticSizes = []int64{1_000_000, 100_000_000}

func syntheticTopic(records int64) string { return fmt.Sprintf("synthetic-%d", records) }

// syntheticOffsets answers where a synthetic topic starts and ends.
func syntheticOffsets(req *kmsg.ListOffsetsRequest, partitions int) *kmsg.ListOffsetsResponse {
	resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
	for _, t := range req.Topics {
		rt := kmsg.NewListOffsetsResponseTopic()
		rt.Topic = t.Topic
		var records int64
		_, err := fmt.Sscanf(t.Topic, "synthetic-%d", &records)
		for _, p := range t.Partitions {
			rp := kmsg.NewListOffsetsResponseTopicPartition()
			rp.Partition = p.Partition
			rp.Timestamp = -1
			if err != nil { // no topic of ours
				rp.ErrorCode = kerr.UnknownTopicOrPartition.Code
			}
			if p.Timestamp != -2 {
				rp.Offset = records / int64(partitions)
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}
