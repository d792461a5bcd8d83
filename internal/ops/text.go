package ops

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"millrace/internal/column"
)

// Fold is function(x), which replaces each character of a text. fold says by what; equal functions have equal folds.
func Fold(function string, x Expr, fold func(rune) rune) (Expr, error) {
	// Almost all text of logs is ASCII, and its folds are known before the first record.
	var ascii [utf8.RuneSelf]byte
	narrow := true
	for c := range ascii {
		r := fold(rune(c))
		narrow = narrow && r >= 0 && r < utf8.RuneSelf
		ascii[c] = byte(r)
	}
	if !narrow {
		return nil, unsupported("'%s' is not computed on batches: it makes other characters of ASCII", function)
	}
	return newTextMap(x, fmt.Sprintf("%s(%v)", function, x), func(dst, s []byte) []byte {
		for i := 0; i < len(s); {
			if c := s[i]; c < utf8.RuneSelf {
				dst = append(dst, ascii[c])
				i++
				continue
			}
			r, n := utf8.DecodeRune(s[i:])
			dst = utf8.AppendRune(dst, fold(r))
			i += n
		}
		return dst
	})
}

// Substring is the n characters of a text from position start on, which counts from 1, or when negative back from the end. Where start
// lies outside of the text, the result is empty.
func Substring(x Expr, start, n int64) (Expr, error) {
	return newTextMap(x, fmt.Sprintf("substring(%v, %d, %d)", x, start, n), func(dst, s []byte) []byte {
		switch {
		case start == 0 || n <= 0:
			return dst
		case start > 0:
			s = s[skipCharacters(s, start-1):]
		default:
			from, left := lastCharacters(s, start)
			if left > 0 {
				return dst
			}
			s = s[from:]
		}
		return append(dst, s[:skipCharacters(s, n)]...)
	})
}

// Right is the last n characters of a text.
func Right(x Expr, n int64) (Expr, error) {
	return newTextMap(x, fmt.Sprintf("right(%v, %d)", x, n), func(dst, s []byte) []byte {
		if n <= 0 {
			return dst
		}
		from, _ := lastCharacters(s, -n)
		return append(dst, s[from:]...)
	})
}

// Trim takes pattern off the ends of a text, as often as it stands there.
func Trim(x Expr, pattern string, leading, trailing bool) (Expr, error) {
	side := [...]string{"", "leading ", "trailing ", "both "}[bit(leading)+2*bit(trailing)]
	p := []byte(pattern)
	return newTextMap(x, fmt.Sprintf("trim(%s%s from %v)", side, quoted(p), x), func(dst, s []byte) []byte {
		for leading && len(p) > 0 && bytes.HasPrefix(s, p) {
			s = s[len(p):]
		}
		for trailing && len(p) > 0 && bytes.HasSuffix(s, p) {
			s = s[:len(s)-len(p)]
		}
		return append(dst, s...)
	})
}

// skipCharacters is the number of bytes of the first n characters of s, of all when there are fewer.
func skipCharacters(s []byte, n int64) int {
	if n >= int64(len(s)) {
		return len(s)
	}
	i := 0
	for ; n > 0 && i < len(s); n-- {
		if s[i] < utf8.RuneSelf {
			i++
			continue
		}
		_, size := utf8.DecodeRune(s[i:])
		i += size
	}
	return i
}

// lastCharacters gives where the last -n characters of s begin, and how many of them s does not have. n is negative: its range is the larger.
func lastCharacters(s []byte, n int64) (from int, missing uint64) {
	from = len(s)
	for ; n < 0 && from > 0; n++ {
		_, size := utf8.DecodeLastRune(s[:from])
		from -= size
	}
	return from, -uint64(n)
}

// textMap makes one text of another.
type textMap struct {
	x     Expr
	text  string
	apply func(dst, s []byte) []byte
}

func newTextMap(x Expr, text string, apply func(dst, s []byte) []byte) (Expr, error) {
	if x.Type().Kind != column.Text {
		return nil, unsupported("'%s' of %v is not computed on batches", text, x.Type())
	}
	return &textMap{x, text, apply}, nil
}

func (e *textMap) Type() column.Type { return column.Type{Kind: column.Text} }
func (e *textMap) Nullable() bool    { return e.x.Nullable() }
func (e *textMap) String() string    { return e.text }

func (e *textMap) operands() []Expr { return []Expr{e.x} }

func (e *textMap) bind(l *lane) evaluator {
	return &textMapEval{textMap: e, in: l.bind(e.x), lane: l}
}

type textMapEval struct {
	*textMap
	in   evaluator
	lane *lane
	out  column.Vector
}

func (e *textMapEval) eval(in *column.Batch, sel []int32) (*column.Vector, error) {
	v, err := e.in.eval(in, sel)
	if err != nil {
		return nil, err
	}
	out := &e.out
	startText(out, in.N)
	out.Valid = v.Valid
	for _, i := range dropNullsInto(v, e.lane.rows(in.N, sel), &e.lane.scratch) {
		out.Beg[i] = uint32(len(out.Data))
		out.Data = e.apply(out.Data, v.Data[v.Beg[i]:v.End[i]])
		out.End[i] = uint32(len(out.Data))
	}
	return out, nil
}

// startText makes out n empty texts.
func startText(out *column.Vector, n int) {
	out.Type.Kind = column.Text
	out.Beg, out.End, out.Data = room(out.Beg, n), room(out.End, n), out.Data[:0]
	// Views of NULL rows lie in Data too.
	clear(out.Beg)
	clear(out.End)
}
