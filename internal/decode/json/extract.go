package json

import (
	"fmt"
	"math"
	"sync"
	"unicode/utf8"

	"millrace/internal/convert"
)

// MaxDepth is the number of containers that may lie in each other.
const MaxDepth = 1000

// Reason says why a record is not JSON.
type Reason uint8

const (
	Syntax Reason = iota
	InvalidUTF8
	TooDeep
	TooLong
)

// Error says why and where a record is not JSON. It belongs to the Extractor and is valid until its next call.
type Error struct {
	Reason Reason
	Offset int
}

func (e *Error) Error() string {
	switch e.Reason {
	case InvalidUTF8:
		return fmt.Sprintf("not valid UTF-8 at byte %d", e.Offset)
	case TooDeep:
		return fmt.Sprintf("nested deeper than %d at byte %d", MaxDepth, e.Offset)
	case TooLong:
		return "longer than 4 GiB"
	default:
		return fmt.Sprintf("not valid JSON at byte %d", e.Offset)
	}
}

// Extractor runs a Plan over records. It belongs to one goroutine.
type Extractor struct {
	plan *Plan
	rec  []byte
	// values by slot: those of the caller, or own where paths and slots are not the same.
	values, own []Value
	// seen has the spelling of the key that a folded name matched last in the current object.
	seen []spelling
	// orders are the keys of earlier objects, by node.
	orders  []keyOrder
	depth   int
	tooDeep bool
	err     Error
	// key and other hold unescaped keys, clean a record freed of invalid UTF-8, text what Text returns.
	key, other, clean, text []byte
	// tails are the extractors behind [*], by path; nil where there is none.
	tails []*Extractor
	found [1]Value
}

// spelling is a key in the record, without its quotes; end is 0 when there is none.
type spelling struct {
	off, end  uint32
	escaped   bool
	ambiguous bool
}

// NewExtractor returns an Extractor for p.
func (p *Plan) NewExtractor() *Extractor {
	x := &Extractor{plan: p, own: make([]Value, p.slots), seen: make([]spelling, p.spellings), orders: make([]keyOrder, p.objects)}
	if p.anyTail {
		x.tails = make([]*Extractor, len(p.tails))
		for i, t := range p.tails {
			if t != nil {
				x.tails[i] = t.NewExtractor()
			}
		}
	}
	return x
}

// Extract checks rec and fills out, one Value per path. When rec is not JSON it returns an *Error and out is unspecified.
func (x *Extractor) Extract(rec []byte, out []Value) error {
	if uint64(len(rec)) > math.MaxUint32 {
		x.err = Error{Reason: TooLong}
		return &x.err
	}
	if x.values = x.own; x.plan.straight {
		x.values = out[:x.plan.slots]
	}
	clear(x.values)
	x.rec, x.depth, x.tooDeep = rec, 0, false
	p := x.value(skipBlanks(rec, 0), x.plan.root)
	if p >= 0 {
		if p = skipBlanks(rec, p); p != len(rec) {
			p = ^p
		}
	}
	values := x.values
	x.rec, x.values = nil, nil // do not keep the caller's memory alive
	if p < 0 {
		x.err = Error{Offset: ^p}
		switch {
		case x.tooDeep:
			x.err.Reason = TooDeep
		case ^p < len(rec) && rec[^p] >= utf8.RuneSelf && badSequence(rec, ^p) == ^p:
			x.err.Reason = InvalidUTF8
		}
		return &x.err
	}
	if !x.plan.straight {
		for i, s := range x.plan.slot {
			out[i] = values[s]
		}
	}
	if x.plan.anyTail {
		x.gather(out)
	}
	return nil
}

// ExtractText is Extract for records that are text: each sequence of bytes that is not UTF-8 counts as U+FFFD. The values refer to the
// text returned, which is rec, or memory of x that is valid until the next call.
func (x *Extractor) ExtractText(rec []byte, out []Value) (text []byte, err error) {
	if err = x.Extract(rec, out); err == nil || x.err.Reason != InvalidUTF8 {
		return rec, err
	}
	x.clean = convert.AppendUTF8(x.clean[:0], rec)
	return x.clean, x.Extract(x.clean, out)
}

// value scans the value at p, which node n wants something of.
func (x *Extractor) value(p int, n *node) int {
	b := x.rec
	if p >= len(b) {
		return ^p
	}
	start := p
	var t Type
	var flags Flags
	switch b[p] {
	case '"':
		t = String
		p, flags = scanString(b, p+1)
	case '{':
		t = Object
		if len(n.fields) > 0 {
			p = x.object(p, n)
		} else {
			p = x.skipContainer(b, p, x.depth)
		}
	case '[':
		t = Array
		if len(n.elements) > 0 {
			p = x.array(p, n)
		} else {
			p = x.skipContainer(b, p, x.depth)
		}
	case 't':
		t = True
		p = scanLiteral(b, p, "true")
	case 'f':
		t = False
		p = scanLiteral(b, p, "false")
	case 'n':
		t = Null
		p = scanLiteral(b, p, "null")
	default:
		t = Number
		p, flags = scanNumber(b, p)
	}
	if p >= 0 && n.slot >= 0 {
		x.values[n.slot] = Value{uint32(start), uint32(p), t, flags}
	}
	return p
}

// skip scans the value at p, which nothing is wanted of.
func (x *Extractor) skip(p int) int {
	b := x.rec
	switch b[p] {
	case '"':
		p = skipString(b, p+1)
	case '{', '[':
		p = x.skipContainer(b, p, x.depth)
	case 't':
		p = scanLiteral(b, p, "true")
	case 'f':
		p = scanLiteral(b, p, "false")
	case 'n':
		p = scanLiteral(b, p, "null")
	default:
		p, _ = scanNumber(b, p)
	}
	return p
}

func (x *Extractor) array(p int, n *node) int {
	b := x.rec
	if x.depth++; x.depth > MaxDepth {
		x.tooDeep = true
		return ^p
	}
	if p = skipBlanks(b, p+1); p >= len(b) {
		return ^p
	}
	if b[p] == ']' {
		x.depth--
		return p + 1
	}
	for i := 0; ; i++ {
		var wanted *node
		if i < n.limit {
			for _, e := range n.elements {
				if e.index == i {
					wanted = e.node
					break
				}
			}
		}
		if p >= len(b) {
			return ^p
		}
		if wanted == nil {
			p = x.skip(p)
		} else {
			p = x.value(p, wanted)
		}
		if p < 0 {
			return p
		}
		if p < len(b) && b[p] <= ' ' {
			p = skipBlanks(b, p)
		}
		if p >= len(b) {
			return ^p
		}
		switch b[p] {
		case ',':
			p++
			if p < len(b) && b[p] <= ' ' {
				p = skipBlanks(b, p)
			}
		case ']':
			x.depth--
			return p + 1
		default:
			return ^p
		}
	}
}

// validators are extractors without paths.
var validators = sync.Pool{New: func() any { return Compile(nil).NewExtractor() }}

// Valid reports whether rec is one JSON value, as strictly as Extract does.
func Valid(rec []byte) bool {
	x := validators.Get().(*Extractor)
	defer validators.Put(x)
	return x.Extract(rec, nil) == nil
}
