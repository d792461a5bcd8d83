package avro

import (
	"encoding/binary"
	"math"
	"math/bits"
	"unicode/utf8"

	"millrace/internal/convert"
	"millrace/internal/decode"
)

// decoder implements decode.Decoder.
type decoder struct {
	plan  *plan
	slots []decode.Slot
	depth int
	err   decode.Error
	// digits are those of the last decimal, without a point.
	digits []byte
}

// Locate implements decode.Decoder.
func (d *decoder) Locate(record []byte, slots []decode.Slot) error {
	if !d.plan.complete {
		copy(slots, d.plan.template)
	}
	if len(record) == 0 && d.plan.least > 0 {
		d.fail(decode.Empty, 0, "")
		return &d.err
	}
	p := 0
	if len(record) >= singleObjectHeader && record[0] == 0xc3 && record[1] == 0x01 && binary.LittleEndian.Uint64(record[2:]) == d.plan.fingerprint {
		p = singleObjectHeader
	}
	d.slots, d.depth = slots, 0
	p = d.run(record, p, d.plan.code)
	d.slots = nil // do not keep the caller's memory alive
	if p >= 0 && p != len(record) {
		p = d.fail(decode.TrailingBytes, p, "")
	}
	if p < 0 {
		return &d.err
	}
	return nil
}

// fail notes a record error and returns what functions of the walk return on errors.
func (d *decoder) fail(reason decode.Reason, at int, detail string) int {
	d.err = decode.Error{Reason: reason, Offset: at, Detail: detail}
	return -1
}

// maxEmptyItems is how many elements without a byte an array may have: what makes them is a count alone.
const maxEmptyItems = 4096

const (
	badVarint = "a number runs on beyond 64 bits"
	badInt    = "an int exceeds 32 bits"
	badEnum   = "an enum has no such symbol"
	badUnion  = "a union has no such branch"
	badCount  = "a block has more items than bytes"
	badEmpty  = "an array has too many items without bytes"
	badSize   = "a block does not end where it says"
	badLength = "a length is negative"
)

// run walks code from p on and returns the place behind, or a negative number after d.err was filled.
func (d *decoder) run(b []byte, p int, code []instruction) int {
	for i := range code {
		in := &code[i]
	again:
		switch in.op {
		case opSkip:
			if len(b)-p < in.n {
				return d.fail(decode.Truncated, len(b), "")
			}
			p += in.n
		case opSkipLongs:
			p = d.skipLongs(b, p, in.n)
		case opSkipInts:
			p = d.skipInts(b, p, in.n)
		case opSkipStrings:
			n := in.n
			for n > 0 && uint(p) < uint(len(b)) && b[p]&0x81 == 0 && int(b[p]>>1) < len(b)-p {
				p += 1 + int(b[p]>>1)
				n--
			}
			if n > 0 {
				p = d.skipStrings(b, p, n)
			}
		case opSkipEnum:
			var v int64
			if v, p = d.long(b, p); p >= 0 && uint64(v) >= uint64(in.n) {
				p = d.fail(decode.Malformed, p, badEnum)
			}
		case opUnion:
			var v int64
			if uint(p) < uint(len(b)) && b[p] < 0x80 {
				v, p = int64(b[p]>>1)^-int64(b[p]&1), p+1
			} else if v, p = d.long(b, p); p < 0 {
				return p
			}
			if uint64(v) >= uint64(len(in.alt)) {
				return d.fail(decode.Malformed, p, badUnion)
			}
			switch branch := in.alt[v]; len(branch) {
			case 0:
			case 1:
				in = &branch[0]
				goto again
			default:
				p = d.run(b, p, branch)
			}
		case opArray, opMap:
			p = d.blocks(b, p, in)
		case opCall:
			if d.depth++; d.depth > decode.MaxDepth {
				return d.fail(decode.TooDeep, p, "")
			}
			p = d.run(b, p, in.routine.code)
			d.depth--
		case opBool:
			if p >= len(b) {
				return d.fail(decode.Truncated, p, "")
			}
			s := &d.slots[in.slot]
			s.Kind, s.Int = decode.Int, 0
			if b[p] == 1 {
				s.Int = 1
			}
			p++
		case opInt:
			var v int64
			if uint(p) < uint(len(b)) && b[p] < 0x80 {
				v, p = int64(b[p]>>1)^-int64(b[p]&1), p+1
			} else if v, p = d.int(b, p); p < 0 {
				return p
			}
			s := &d.slots[in.slot]
			s.Kind, s.Int = decode.Int, v
		case opLong:
			var v int64
			if v, p = d.long(b, p); p >= 0 {
				s := &d.slots[in.slot]
				s.Kind, s.Int = decode.Int, v
			}
		case opIntAs, opLongAs:
			start := p
			var v int64
			if in.op == opIntAs {
				v, p = d.int(b, p)
			} else {
				v, p = d.long(b, p)
			}
			if p >= 0 {
				if s := &d.slots[in.slot]; !in.as.fill(s, v) {
					d.lazy(in, start, p)
				}
			}
		case opFloat:
			if len(b)-p < 4 {
				return d.fail(decode.Truncated, len(b), "")
			}
			d.float(in, p, p+4, float64(math.Float32frombits(binary.LittleEndian.Uint32(b[p:]))))
			p += 4
		case opDouble:
			if len(b)-p < 8 {
				return d.fail(decode.Truncated, len(b), "")
			}
			d.float(in, p, p+8, math.Float64frombits(binary.LittleEndian.Uint64(b[p:])))
			p += 8
		case opNarrow:
			if len(b)-p < 8 {
				return d.fail(decode.Truncated, len(b), "")
			}
			d.float(in, p, p+8, float64(float32(math.Float64frombits(binary.LittleEndian.Uint64(b[p:])))))
			p += 8
		case opText, opBytes:
			start := p
			var n int
			if uint(p) < uint(len(b)) && b[p]&0x81 == 0 && int(b[p]>>1) < len(b)-p {
				n, p = int(b[p]>>1), p+1
			} else {
				n, p = d.length(b, p)
			}
			if p >= 0 {
				if v := b[p : p+n]; in.n > 0 && n > in.n || in.op == opText && !isASCII(b, p, n) && !utf8.Valid(v) {
					d.lazy(in, start, p+n)
				} else {
					s := &d.slots[in.slot]
					s.Kind, s.Beg, s.End = decode.View, uint32(p), uint32(p+n)
				}
				p += n
			}
		case opFixed:
			if len(b)-p < in.n {
				return d.fail(decode.Truncated, len(b), "")
			}
			s := &d.slots[in.slot]
			s.Kind, s.Beg, s.End = decode.View, uint32(p), uint32(p+in.n)
			p += in.n
		case opBegin:
			d.slots[in.slot].Beg = uint32(p)
		case opEnd:
			d.lazy(in, int(d.slots[in.slot].Beg), p)
		}
		if p < 0 {
			return p
		}
		if in.then > len(b)-p {
			return d.fail(decode.Truncated, len(b), "")
		}
		p += in.then
	}
	return p
}

// word is the eight bytes of b from p on. Whoever has compared p with 0 and len(b)-8 reads them without another check.
func word(b []byte, p int) uint64 { return binary.LittleEndian.Uint64(b[p : p+8]) }

// isASCII reports whether b[p:p+n] is ASCII, as most texts are. It looks at whole words, beyond the text where the record goes on.
func isASCII(b []byte, p, n int) bool {
	for ; n >= 8 && p >= 0 && p <= len(b)-8; n, p = n-8, p+8 {
		if word(b, p)&more != 0 {
			return false
		}
	}
	if n < 8 && p >= 0 && p <= len(b)-8 {
		return word(b, p)&more&(1<<(8*n)-1) == 0
	}
	for _, c := range b[p : p+n] {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// lazy leaves a slot to Settle: its value is encoded in the record from beg to end.
func (d *decoder) lazy(in *instruction, beg, end int) {
	d.slots[in.slot] = decode.Slot{Kind: decode.Lazy, Beg: uint32(beg), End: uint32(end), Aux: in.settler}
}

func (d *decoder) float(in *instruction, beg, end int, v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		d.lazy(in, beg, end)
		return
	}
	d.slots[in.slot] = floatSlot(v)
}

func floatSlot(v float64) decode.Slot {
	return decode.Slot{Kind: decode.Float, Int: int64(math.Float64bits(v))}
}

// fill makes the final slot of an integer; false means that the value has none.
func (as conversion) fill(s *decode.Slot, v int64) bool {
	const second, day = 1_000_000, 86_400
	ok := true
	switch as {
	case asInt32:
		ok = v == int64(int32(v))
	case asFloat:
		*s = floatSlot(float64(v))
		return true
	case asFloat32:
		*s = floatSlot(float64(float32(v)))
		return true
	case asDate:
		ok = convert.InDateRange(v)
	case asDateOfDays:
		ok = convert.InDateRange(v)
		v *= day * second
	case asTime1000:
		ok = inTime(v / 1000)
		v *= 1000
	case asTime1:
		ok = inTime(v / second)
	case asTimePer1000:
		v = floorDiv(v, 1000)
		ok = inTime(v / second)
	case asTimestamp1000:
		ok = v > math.MinInt64/1000 && v < math.MaxInt64/1000 && convert.InTimestampRange(v*1000)
		v *= 1000
	case asTimestamp1:
		ok = convert.InTimestampRange(v)
	case asTimestampPer1000:
		v = floorDiv(v, 1000)
		ok = convert.InTimestampRange(v)
	}
	if ok {
		s.Kind, s.Int = decode.Int, v
	}
	return ok
}

// inTime reports whether so many seconds are a TIME, which goes to 838:59:59 on both sides.
func inTime(seconds int64) bool { return seconds > -839*3600 && seconds < 839*3600 }

func floorDiv(v, by int64) int64 {
	q := v / by
	if v%by < 0 {
		q--
	}
	return q
}

// blocks walks an array or a map.
func (d *decoder) blocks(b []byte, p int, in *instruction) int {
	if d.depth++; d.depth > decode.MaxDepth {
		return d.fail(decode.TooDeep, p, "")
	}
	empty := int64(0)
	for {
		var count, size int64
		if count, p = d.long(b, p); p < 0 {
			return p
		}
		if count == 0 {
			d.depth--
			return p
		}
		end := -1
		if count < 0 { // a size follows
			if count = -count; count < 0 {
				return d.fail(decode.Malformed, p, badCount)
			}
			if size, p = d.long(b, p); p < 0 {
				return p
			}
			if size < 0 || size > int64(len(b)-p) {
				return d.fail(decode.Malformed, p, badSize)
			}
			end = p + int(size)
		}
		switch {
		case in.width == 0:
			if empty += count; empty > maxEmptyItems || count > maxEmptyItems {
				return d.fail(decode.Malformed, p, badEmpty)
			}
		case count > int64(len(b)-p)/int64(in.least):
			return d.fail(decode.Malformed, p, badCount)
		case in.width > 0:
			p += int(count) * in.width
		default:
			if p = d.items(b, p, in, int(count)); p < 0 {
				return p
			}
		}
		if end >= 0 && p != end {
			return d.fail(decode.Malformed, p, badSize)
		}
	}
}

// items walks the items of one block. count is plausible for the bytes that are left.
func (d *decoder) items(b []byte, p int, in *instruction, count int) int {
	if in.op == opArray && len(in.code) == 1 && in.code[0].then == 0 {
		switch only := &in.code[0]; only.op {
		case opSkipStrings:
			return d.skipStrings(b, p, count*only.n)
		case opSkipLongs:
			return d.skipLongs(b, p, count*only.n)
		case opSkipInts:
			return d.skipInts(b, p, count*only.n)
		}
	}
	for ; count > 0 && p >= 0; count-- {
		if in.op == opMap {
			if p = d.skipStrings(b, p, 1); p < 0 {
				return p
			}
		}
		p = d.run(b, p, in.code)
	}
	return p
}

// long reads a varint of up to 64 bits.
func (d *decoder) long(b []byte, p int) (int64, int) {
	if uint(p) < uint(len(b)) && b[p] < 0x80 {
		return int64(b[p]>>1) ^ -int64(b[p]&1), p + 1
	}
	return d.wideLong(b, p)
}

// The bytes of eight that say that another follows, and the bits of a number in each.
const (
	more  = 0x8080808080808080
	seven = 0x7f7f7f7f7f7f7f7f
)

func (d *decoder) wideLong(b []byte, p int) (int64, int) {
	if p >= 0 && p <= len(b)-8 {
		w := word(b, p)
		if ends := ^w & more; ends != 0 {
			// All of it is within the word: what is behind its last byte goes, and groups of 7 bits close up, by twos, fours and eights.
			last := bits.TrailingZeros64(ends)
			u := w & seven & (1<<last | (1<<last - 1))
			u = u&0x007f007f007f007f | u&0x7f007f007f007f00>>1
			u = u&0x00003fff00003fff | u&0x3fff00003fff0000>>2
			u = u&0x000000000fffffff | u&0x0fffffff00000000>>4
			return int64(u>>1) ^ -int64(u&1), p + last>>3 + 1
		}
	}
	u, n := binary.Uvarint(b[p:])
	switch {
	case n > 0:
		return int64(u>>1) ^ -int64(u&1), p + n
	case n == 0:
		return 0, d.fail(decode.Truncated, len(b), "")
	default:
		return 0, d.fail(decode.Malformed, p, badVarint)
	}
}

// int reads a varint of up to 32 bits.
func (d *decoder) int(b []byte, p int) (int64, int) {
	if uint(p) < uint(len(b)) && b[p] < 0x80 {
		return int64(b[p]>>1) ^ -int64(b[p]&1), p + 1
	}
	v, q := d.wideLong(b, p)
	if q >= 0 && (q-p > 5 || v != int64(int32(v))) {
		return 0, d.fail(decode.Malformed, p, badInt)
	}
	return v, q
}

// length reads the length of a string that lies in b.
func (d *decoder) length(b []byte, p int) (n, next int) {
	v, p := d.long(b, p)
	switch {
	case p < 0:
		return 0, p
	case v < 0:
		return 0, d.fail(decode.Malformed, p, badLength)
	case v > int64(len(b)-p):
		return 0, d.fail(decode.Truncated, len(b), "")
	}
	return int(v), p
}

func (d *decoder) skipLongs(b []byte, p, n int) int {
	for ; n > 0; n-- {
		if uint(p) < uint(len(b)) && b[p] < 0x80 {
			p++
			continue
		}
		if p >= 0 && p <= len(b)-8 {
			if ends := ^word(b, p) & more; ends != 0 {
				p += bits.TrailingZeros64(ends)>>3 + 1
				continue
			}
		}
		if _, p = d.wideLong(b, p); p < 0 {
			return p
		}
	}
	return p
}

func (d *decoder) skipInts(b []byte, p, n int) int {
	for ; n > 0; n-- {
		if uint(p) < uint(len(b)) && b[p] < 0x80 {
			p++
			continue
		}
		if p >= 0 && p <= len(b)-8 {
			// Up to four bytes have 28 bits, which fit.
			if size := bits.TrailingZeros64(^word(b, p)&more)>>3 + 1; size <= 4 {
				p += size
				continue
			}
		}
		if _, p = d.int(b, p); p < 0 {
			return p
		}
	}
	return p
}

func (d *decoder) skipStrings(b []byte, p, n int) int {
	for ; n > 0; n-- {
		// A length below 64, which is an even byte.
		if uint(p) < uint(len(b)) && b[p]&0x81 == 0 {
			if q := p + 1 + int(b[p]>>1); q <= len(b) {
				p = q
				continue
			}
		}
		var size int
		if size, p = d.length(b, p); p < 0 {
			return p
		}
		p += size
	}
	return p
}
