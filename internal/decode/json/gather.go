package json

import "fmt"

// AmbiguousError says that a path met a name in several spellings.
type AmbiguousError struct{ Path string }

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("path '%s' is ambiguous: the object has the name in several spellings", e.Path)
}

// gather marks the values of paths with [*]. Only an array has elements; anything else is missing.
func (x *Extractor) gather(out []Value) {
	for i, t := range x.tails {
		if t == nil || out[i].Flags&Ambiguous != 0 {
			continue
		}
		if out[i].Type == Array {
			out[i].Flags |= Gathered
		} else {
			out[i] = Value{}
		}
	}
}

// Text gives the value v of path i as SQL text: a string without quotes and escapes, anything else as JSON text, for a path with [*] the
// values found, as an array. null is true when there is no value, when it is a JSON null, and when [*] found nothing. The text aliases
// rec or memory of x and is valid until the next call of x. ambiguous is true when a name of the path occurs in several spellings.
func (x *Extractor) Text(rec []byte, i int, v Value) (text []byte, null, ambiguous bool) {
	switch {
	case v.Flags&Ambiguous != 0:
		return nil, true, true
	case v.Flags&Gathered != 0:
		return x.gatherText(rec, i, v)
	case v.IsNull():
		return nil, true, false
	}
	text, x.text = v.Text(rec, x.text)
	return text, false, false
}

// JSON is Text that leaves strings as written, in quotes, and tells a JSON null from no value: null is true only for the latter.
func (x *Extractor) JSON(rec []byte, i int, v Value) (text []byte, null, ambiguous bool) {
	switch {
	case v.Flags&Ambiguous != 0:
		return nil, true, true
	case v.Flags&Gathered != 0:
		return x.gatherText(rec, i, v)
	}
	return v.Raw(rec), v.Type == Missing, false
}

func (x *Extractor) gatherText(rec []byte, i int, v Value) (text []byte, null, ambiguous bool) {
	x.text = append(x.text[:0], '[')
	if x.text, ambiguous = x.tails[i].appendElements(x.text, v.Raw(rec)); ambiguous {
		return nil, true, true
	}
	if len(x.text) == 1 {
		return nil, true, false
	}
	x.text[len(x.text)-1] = ']' // in place of the last comma
	return x.text, false, false
}

// appendElements appends what x finds in each element of array, a valid JSON text, with a comma behind each.
func (x *Extractor) appendElements(dst, array []byte) (_ []byte, ambiguous bool) {
	for element := range Elements(array) {
		if dst, ambiguous = x.appendFound(dst, element); ambiguous {
			return dst, true
		}
	}
	return dst, false
}

// appendFound appends the value, or values, that the only path of x finds in element. A null found further down counts as nothing, as it
// does for a whole path; a null that is itself the element stays, so that a[*] keeps the positions of a.
func (x *Extractor) appendFound(dst, element []byte) (_ []byte, ambiguous bool) {
	if x.Extract(element, x.found[:]) != nil {
		return dst, false // cannot be: the element is part of a valid record
	}
	v := x.found[0]
	switch {
	case v.Flags&Ambiguous != 0:
		return dst, true
	case v.Flags&Gathered != 0:
		return x.tails[0].appendElements(dst, v.Raw(element))
	case v.Type == Missing, v.Type == Null && x.plan.root.slot < 0:
		return dst, false
	}
	return append(append(dst, v.Raw(element)...), ','), false
}
