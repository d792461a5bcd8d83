package dialect

import "strings"

// cast handles `operand :: type` and `operand ?:: type`; the current token starts the operator, typeAt is the token behind it.
func (r *rewriter) cast(typeAt int, call string) {
	o := r.top().operand
	operatorStart, operatorEnd := r.tokens[r.at].start, r.tokens[typeAt-1].end
	symbol := r.source[operatorStart:operatorEnd]
	if !o.ok {
		r.fail(r.errorAt(operatorStart, "'%s' has nothing to cast before it", symbol).WithHint("write expr%stype; put a longer expression into parentheses", symbol))
		return
	}
	name, next, err := r.castType(typeAt, "'"+symbol+"'")
	if err != nil {
		r.fail(err)
		return
	}
	if r.tokens[next].is('.') && r.tokens[next+1].identifier() {
		r.fail(r.errorAt(r.tokens[next].start, "a field is read with ':'").
			WithHint("write %s:%s", shorten(r.source[o.start:r.tokens[next-1].end]), shorten(r.text(r.tokens[next+1]))))
		return
	}
	r.insert(o.start, call)
	r.replace(r.gapStart(r.at), r.tokens[next-1].end, ", '"+name+"')")
	r.complete(o.start, next-1)
	r.top().operand.step = o.step
	r.at = next
}

// castAs handles AS in CAST(e AS type) and try_cast(e AS type).
func (r *rewriter) castAs(as token) {
	f := r.top()
	f.typed = true
	opener := r.tokens[f.opener]
	target := r.tokenAt(1)
	written := strings.ToUpper(r.text(target))
	try := opener.word == wordTryCast
	if !try && r.keepsCast(written) {
		r.noOperand()
		r.at += 2
		if target.kind == tokenEnd {
			r.at--
		}
		return
	}
	name, next, err := r.castType(r.at+1, "AS")
	if err != nil {
		r.fail(err)
		return
	}
	if !r.tokens[next].is(')') {
		r.fail(r.errorAt(r.tokens[next].start, "')' is missing after the type of %s", r.text(opener)))
		return
	}
	call := "millrace_cast"
	if try {
		call = "millrace_try_cast"
	}
	r.replace(opener.start, opener.end, call)
	r.replace(r.gapStart(r.at), r.tokens[next-1].end, ", '"+name+"'")
	r.noOperand()
	r.at = next
}

// keepsCast reports whether CAST to this type stays with the engine: it knows it, or the type is neither ours nor nearly.
func (r *rewriter) keepsCast(written string) bool {
	if mysqlCasts[written] {
		return true
	}
	if _, ok := typeNames[written]; ok {
		return false
	}
	_, other := mysqlTypes[written]
	return !other && nearest(written, knownTypes) == ""
}

// endCast checks a cast that ends at its parenthesis.
func (r *rewriter) endCast(f *frame, paren token) {
	if opener := r.tokens[f.opener]; !f.typed && opener.word == wordTryCast {
		r.fail(r.errorAt(paren.start, "a type is missing in try_cast").WithHint("write try_cast(expr AS type)"))
	}
}
