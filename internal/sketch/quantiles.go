package sketch

import (
	"encoding/binary"
	"math"
	"slices"
)

// Limits of the accuracy of Quantiles.
const (
	DefaultAccuracy = 10_000
	MostAccuracy    = 1_000_000
)

// Quantiles tells which value has a given rank among those it was shown. The rank of the answer is off by at most n/accuracy of n values; with fewer
// values than the accuracy it is exact.
//
// It is the summary of Greenwald and Khanna (Space-efficient online computation of quantile summaries, 2001): an ascending list of some of the values, each with
// what is known of its rank. least(i) is the sum of the gaps up to i; the rank of value i lies between that and least(i)+slack. As long as gap+slack is at most
// 2n/accuracy for each, some value in the list is near enough to any rank. Values wait in a buffer and are merged in when it is full. To merge two summaries, each
// value's slack grows by what its neighbour in the other does not say (Power-conserving computation of order-statistics over sensor networks, 2004).
type Quantiles struct {
	accuracy int64
	n        int64 // values in list
	list     []ranked
	waiting  []int64
	// spare and fresh are memory that is used again.
	spare, fresh []ranked
}

type ranked struct{ value, gap, slack int64 }

// waitingValues is the size of the buffer.
const waitingValues = 512

// NewQuantiles makes an empty sketch.
func NewQuantiles(accuracy int64) *Quantiles { return &Quantiles{accuracy: accuracy} }

// Add adds a value.
func (q *Quantiles) Add(x int64) {
	if q.waiting = append(q.waiting, x); len(q.waiting) >= waitingValues {
		q.settle()
	}
}

// FloatKey is an integer in the order of the floats: NaN above all, 0 and -0 the same.
func FloatKey(f float64) int64 {
	if f != f {
		return math.MaxInt64
	}
	b := int64(math.Float64bits(f + 0))
	if b < 0 {
		b ^= math.MaxInt64
	}
	return b
}

// KeyFloat is the float of a FloatKey.
func KeyFloat(k int64) float64 {
	if k < 0 {
		k ^= math.MaxInt64
	}
	return math.Float64frombits(uint64(k))
}

// settle merges what waits into the list.
func (q *Quantiles) settle() {
	if len(q.waiting) == 0 {
		return
	}
	slices.Sort(q.waiting)
	q.fresh = q.fresh[:0]
	for _, x := range q.waiting {
		q.fresh = append(q.fresh, ranked{value: x, gap: 1})
	}
	q.n += int64(len(q.waiting))
	q.waiting = q.waiting[:0]
	q.join(q.fresh)
}

// join merges a list, whose values are counted in n already.
func (q *Quantiles) join(other []ranked) {
	a, b, out := q.list, other, q.spare[:0]
	for len(a) > 0 || len(b) > 0 {
		if len(a) == 0 || len(b) > 0 && b[0].value < a[0].value {
			a, b = b, a
		}
		next := a[0]
		if a = a[1:]; len(b) > 0 {
			next.slack += b[0].gap + b[0].slack - 1
		}
		out = append(out, next)
	}
	q.spare, q.list = q.list, out
	q.compress()
}

// compress drops values that are not needed: their gap goes to the next one. The least and the greatest stay.
func (q *Quantiles) compress() {
	most := 2 * q.n / q.accuracy
	if most < 2 || len(q.list) < 3 {
		return
	}
	// From the greatest down, so that the list shrinks at its beginning.
	last := len(q.list) - 1
	for i := len(q.list) - 2; i >= 1; i-- {
		if t := q.list[i]; t.gap+q.list[last].gap+q.list[last].slack <= most {
			q.list[last].gap += t.gap
		} else {
			last--
			q.list[last] = t
		}
	}
	last--
	q.list[last] = q.list[0]
	q.list = append(q.list[:0], q.list[last:]...)
}

// Merge adds what o has seen, which has the same accuracy.
func (q *Quantiles) Merge(o *Quantiles) {
	o.settle()
	q.settle()
	q.n += o.n
	q.join(o.list)
}

// Count is the number of values.
func (q *Quantiles) Count() int64 { return q.n + int64(len(q.waiting)) }

// Quantile is the least value that at least the fraction f of all values do not exceed, as far as the accuracy goes. There must be a value.
func (q *Quantiles) Quantile(f float64) int64 {
	q.settle()
	rank := max(1, min(int64(math.Ceil(f*float64(q.n))), q.n))
	var best, off int64 = 0, math.MaxInt64
	least := int64(0)
	for _, t := range q.list {
		least += t.gap
		if d := max(rank-least, least+t.slack-rank); d < off {
			best, off = t.value, d
		}
	}
	return best
}

// Bytes is the memory held.
func (q *Quantiles) Bytes() int {
	return 24*(cap(q.list)+cap(q.spare)+cap(q.fresh)) + 8*cap(q.waiting) + 128
}

// Append encodes the sketch.
func (q *Quantiles) Append(dst []byte) []byte {
	q.settle()
	dst = binary.AppendUvarint(dst, uint64(len(q.list)))
	for _, t := range q.list {
		dst = binary.AppendVarint(dst, t.value)
		dst = binary.AppendUvarint(dst, uint64(t.gap))
		dst = binary.AppendUvarint(dst, uint64(t.slack))
	}
	return dst
}

// MergeEncoded merges what Append of a sketch of the same accuracy has written at the start of b, and gives what follows.
func (q *Quantiles) MergeEncoded(b []byte) (rest []byte, err error) {
	n, w := binary.Uvarint(b)
	if w <= 0 || n > uint64(len(b)) {
		return nil, errDamaged
	}
	b = b[w:]
	list := make([]ranked, 0, n)
	total := int64(0)
	for range n {
		value, w1 := binary.Varint(b)
		if w1 <= 0 {
			return nil, errDamaged
		}
		gap, w2 := binary.Uvarint(b[w1:])
		if w2 <= 0 {
			return nil, errDamaged
		}
		slack, w3 := binary.Uvarint(b[w1+w2:])
		if w3 <= 0 || gap == 0 || gap > 1<<60 || slack > 1<<60 || len(list) > 0 && list[len(list)-1].value > value {
			return nil, errDamaged
		}
		b = b[w1+w2+w3:]
		if total += int64(gap); total > 1<<60 {
			return nil, errDamaged
		}
		list = append(list, ranked{value, int64(gap), int64(slack)})
	}
	q.settle()
	q.n += total
	q.join(list)
	return b, nil
}
