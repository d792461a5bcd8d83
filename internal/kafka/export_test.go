package kafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/internal/scan"
)

// Parser lets tests outside the package parse answers without a broker.
type Parser struct{ p *parser }

// NewParser makes a parser of records of partition 3 of topic "t" that pushes fields into sink.
func NewParser(fields []scan.Field, cfg Config, bounds scan.Bounds, sink scan.Sink) Parser {
	cfg = cfg.withDefaults()
	return Parser{newParser(fields, []byte("t"), &cfg, bounds, sink)}
}

// Parse parses in and pushes what it gathered. It gives the position after it.
func (p Parser) Parse(in []byte, from, to int64, aborted []kmsg.FetchResponseTopicPartitionAbortedTransaction) (int64, error) {
	ctx := context.Background()
	next, err := position(in, from)
	if err != nil {
		return next, err
	}
	if err := p.p.parse(ctx, place{0, 1, 3}, in, from, to, abortsOf(aborted)); err != nil {
		return next, err
	}
	if err := p.p.detach(ctx); err != nil {
		return next, err
	}
	return next, p.p.flush(ctx)
}

// Close ends the parser.
func (p Parser) Close() { p.p.close() }

// ScratchCap is the size of the buffer that batches are decompressed into.
func (p Parser) ScratchCap() int { return cap(p.p.scratch) }

// Decompress appends what src decompresses to.
func Decompress(dst, src []byte, codec, limit int) ([]byte, error) {
	c := codecs{limit: limit}
	defer c.close()
	return c.append(dst, src, codec)
}

// IsTooLarge reports whether err is about the limit of decompression.
func IsTooLarge(err error) bool { return isTooLarge(err) }

// Position is the offset after the last whole batch of in.
func Position(in []byte, from int64) (int64, error) { return position(in, from) }
