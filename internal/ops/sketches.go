package ops

import (
	"math"

	"millrace/internal/column"
	"millrace/internal/sketch"
)

// approxDistinct is APPROX_COUNT_DISTINCT: a sketch for each group that has a value.
type approxDistinct struct {
	precision uint8
	sketches  []*sketch.Distinct
	held      int
}

func (d *approxDistinct) grow(groups int) { d.sketches = grown(d.sketches, groups) }

func (d *approxDistinct) of(g int) *sketch.Distinct {
	if d.sketches[g] == nil {
		d.sketches[g] = sketch.NewDistinct(d.precision)
		d.held += d.sketches[g].Bytes()
	}
	return d.sketches[g]
}

func (d *approxDistinct) add(v, _ *column.Vector, n int, sel []int32, groups []int32) {
	eachValid(v, n, sel, groups, func(i, g int) {
		s := d.of(g)
		d.held -= s.Bytes()
		switch {
		case v.Type.Kind.IsView():
			s.AddBytes(v.Data[v.Beg[i]:v.End[i]])
		case v.Type.Kind == column.Float64:
			s.AddFloat(v.Float[i])
		default:
			s.AddInt(v.Int[i])
		}
		d.held += s.Bytes()
	})
}

func (d *approxDistinct) merge(from accumulator, to []int32) {
	for g, s := range from.(*approxDistinct).sketches {
		if s != nil {
			into := d.of(int(to[g]))
			d.held -= into.Bytes()
			into.Merge(s)
			d.held += into.Bytes()
		}
	}
}

func (d *approxDistinct) encode(dst []byte, g int) []byte {
	if dst = appendBool(dst, d.sketches[g] != nil); d.sketches[g] != nil {
		dst = d.sketches[g].Append(dst)
	}
	return dst
}

func (d *approxDistinct) decode(g int, state []byte) ([]byte, error) {
	r := stateReader{rest: state}
	if r.bool() {
		into := d.of(g)
		d.held -= into.Bytes()
		rest, err := into.MergeEncoded(r.rest)
		d.held += into.Bytes()
		if r.rest = rest; err != nil {
			r.fail()
		}
	}
	return r.end()
}

func (d *approxDistinct) emit(g int, out *column.Vector) {
	if d.sketches[g] == nil {
		out.AppendInt(0)
		return
	}
	out.AppendInt(d.sketches[g].Estimate())
}

func (d *approxDistinct) bytes() int { return 8*cap(d.sketches) + d.held }

// percentile is PERCENTILE_APPROX: a sketch for each group that has a value. Values are integers in their order.
type percentile struct {
	kind     column.Kind
	fraction float64
	accuracy int64
	sketches []*sketch.Quantiles
	held     int
}

func (p *percentile) grow(groups int) { p.sketches = grown(p.sketches, groups) }

func (p *percentile) of(g int) *sketch.Quantiles {
	if p.sketches[g] == nil {
		p.sketches[g] = sketch.NewQuantiles(p.accuracy)
		p.held += p.sketches[g].Bytes()
	}
	return p.sketches[g]
}

func (p *percentile) add(v, _ *column.Vector, n int, sel []int32, groups []int32) {
	eachValid(v, n, sel, groups, func(i, g int) {
		var key int64
		switch p.kind {
		case column.Float64:
			key = sketch.FloatKey(v.Float[i])
		case column.Uint64:
			key = v.Int[i] ^ math.MinInt64
		default:
			key = v.Int[i]
		}
		s := p.of(g)
		p.held -= s.Bytes()
		s.Add(key)
		p.held += s.Bytes()
	})
}

func (p *percentile) merge(from accumulator, to []int32) {
	for g, s := range from.(*percentile).sketches {
		if s != nil {
			into := p.of(int(to[g]))
			p.held -= into.Bytes()
			into.Merge(s)
			p.held += into.Bytes()
		}
	}
}

func (p *percentile) encode(dst []byte, g int) []byte {
	if dst = appendBool(dst, p.sketches[g] != nil); p.sketches[g] != nil {
		dst = p.sketches[g].Append(dst)
	}
	return dst
}

func (p *percentile) decode(g int, state []byte) ([]byte, error) {
	r := stateReader{rest: state}
	if r.bool() {
		into := p.of(g)
		p.held -= into.Bytes()
		rest, err := into.MergeEncoded(r.rest)
		p.held += into.Bytes()
		if r.rest = rest; err != nil {
			r.fail()
		}
	}
	return r.end()
}

func (p *percentile) emit(g int, out *column.Vector) {
	s := p.sketches[g]
	if s == nil || s.Count() == 0 {
		out.AppendNull()
		return
	}
	switch key := s.Quantile(p.fraction); p.kind {
	case column.Float64:
		out.AppendFloat(sketch.KeyFloat(key))
	case column.Uint64:
		out.AppendInt(key ^ math.MinInt64)
	default:
		out.AppendInt(key)
	}
}

func (p *percentile) bytes() int { return 8*cap(p.sketches) + p.held }
