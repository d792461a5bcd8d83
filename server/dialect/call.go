package dialect

import "strings"

// The engine's table functions have positional arguments only. Named ones travel as pairs behind a mark:
//
//	f(a => 1, `b.c` => 2)    f('#named', 'a', 1, 'b.c', 2)
//	STREAM f(a => 1)         f('#named', '#stream', 1, 'a', 1)
const (
	markNamed  = "'#named', "
	markStream = "'#named', '#stream', 1, "
)

// maxNamed is far above what any function takes. It bounds the search for a name given twice.
const maxNamed = 256

// openCall pushes the frame of a call: first is the first token of the name, paren the parenthesis.
func (r *rewriter) openCall(first, paren int) {
	f := frame{kind: frameCall, start: r.tokens[first].start}
	if n := len(r.frames); n > 0 && r.streaming == first && first > 0 {
		f.stream = true
	}
	r.at = paren
	r.open(f)
}

// argument looks at the start of an argument of a call. It consumes `name =>` and returns true, or returns false for a positional one.
func (r *rewriter) argument() bool {
	f := r.top()
	t := r.tokens[r.at]
	c := r.chainAt(r.at)
	switch {
	case c.parts == 1 && r.tokens[c.next].is(opArrow):
	case c.parts > 1 && r.tokens[c.next].is(opArrow):
		name := shorten(r.source[t.start:r.tokens[c.next-1].end])
		r.fail(r.errorAt(t.start, "the argument name %s has dots and needs back-ticks", name).WithHint("write `%s` => …", strings.ReplaceAll(name, "`", "")))
		return true
	case t.kind == tokenString && r.tokenAt(1).is(opArrow):
		r.fail(r.errorAt(t.start, "an argument name is not a string").WithHint("write it without quotes, or in back-ticks if it has dots"))
		return true
	case f.table && c.parts == 1 && r.tokens[c.next].is('='):
		r.fail(r.errorAt(r.tokens[c.next].start, "an argument is given by '=>', not by '='").WithHint("write %s => value", shorten(r.name(t))))
		return true
	case len(f.named) > 0:
		r.fail(r.errorAt(t.start, "a positional argument after named ones").WithHint("name all arguments: f(name => value, …)"))
		return true
	case f.stream && t.word != wordSelect:
		r.fail(r.errorAt(t.start, "a streaming read takes named arguments").WithHint("write STREAM f(name => value, …)"))
		return true
	default:
		f.positional = true
		return false
	}
	arrow := r.tokens[c.next]
	name := r.name(t)
	if f.positional {
		r.fail(r.errorAt(t.start, "a named argument after positional ones").WithHint("name all arguments: f(name => value, …)"))
		return true
	}
	if len(f.named) == maxNamed {
		r.fail(r.errorAt(t.start, "a call has at most %d named arguments", maxNamed))
		return true
	}
	for _, n := range f.named {
		if strings.EqualFold(n, name) {
			r.fail(r.errorAt(t.start, "argument '%s' is given twice", shorten(name)).WithHint("names do not depend on case; leave one of the two out"))
			return true
		}
	}
	if value := r.tokens[c.next+1]; value.is(',') || value.is(')') || value.kind == tokenEnd {
		r.fail(r.errorAt(arrow.end, "argument '%s' has no value", shorten(name)).WithHint("write %s => value; for no value use NULL or leave the argument out", shorten(name)))
		return true
	}
	mark := ""
	if len(f.named) == 0 {
		mark = markNamed
		if f.stream {
			mark = markStream
		}
	}
	f.named = append(f.named, name)
	f.elementStart = false
	r.replace(t.start, arrow.end, mark+literal(name)+",")
	r.noOperand()
	r.at = c.next + 1
	return true
}

// endCall marks a streaming call without arguments.
func (r *rewriter) endCall(f *frame, paren token) {
	if f.stream && len(f.named) == 0 && !f.positional {
		r.insert(paren.start, strings.TrimSuffix(markStream, ", "))
	}
}

// literal makes a string literal that the engine's lexer reads as s.
func literal(s string) string {
	return "'" + literalEscapes.Replace(s) + "'"
}

var literalEscapes = strings.NewReplacer(`\`, `\\`, `'`, `''`)

// over attaches OVER (…) or OVER w to the call before it.
func (r *rewriter) over() {
	f := r.top()
	start := f.operand.start
	if next := r.tokenAt(1); next.identifier() {
		r.complete(start, r.at+1)
		r.at += 2
		return
	}
	r.at++
	if r.tokens[r.at].is('(') {
		r.open(frame{kind: frameGroup, start: start})
		return
	}
	r.noOperand()
}

// endCase closes a CASE at its END.
func (r *rewriter) endCase() {
	start := r.top().start
	r.frames = r.frames[:len(r.frames)-1]
	r.complete(start, r.at)
	r.at++
	if r.tokens[r.at].word == wordCase { // END CASE of a stored program
		r.noOperand()
		r.at++
	}
}
