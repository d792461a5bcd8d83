package json

import "iter"

// Elements yields the text of each element of array, which must be valid JSON; what is not an array has no elements.
func Elements(array []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		p := skipBlanks(array, 0)
		if p == len(array) || array[p] != '[' {
			return
		}
		for p = skipBlanks(array, p+1); p < len(array) && array[p] != ']'; {
			end := elementEnd(array, p)
			if !yield(array[p:end:end]) {
				return
			}
			if p = skipBlanks(array, end); p < len(array) && array[p] == ',' {
				p = skipBlanks(array, p+1)
			}
		}
	}
}

// Members yields the members of object, which must be valid JSON, in order: the key as it is written between its quotes, and the text of the value. What is
// not an object has no members.
func Members(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		p := skipBlanks(object, 0)
		if p == len(object) || object[p] != '{' {
			return
		}
		for p = skipBlanks(object, p+1); p < len(object) && object[p] == '"'; {
			behind, _ := scanString(object, p+1)
			if behind < 0 {
				return
			}
			key := object[p+1 : behind-1 : behind-1]
			p = skipBlanks(object, skipBlanks(object, behind)+1) // behind the colon
			if p >= len(object) {
				return
			}
			end := elementEnd(object, p)
			if !yield(key, object[p:end:end]) {
				return
			}
			if p = skipBlanks(object, end); p < len(object) && object[p] == ',' {
				p = skipBlanks(object, p+1)
			}
		}
	}
}

// elementEnd finds the end of the value at p in valid JSON. It counts brackets; the text was checked before.
func elementEnd(b []byte, p int) int {
	for depth := 0; p < len(b); {
		switch b[p] {
		case '"':
			end, _ := scanString(b, p+1)
			if end < 0 {
				return len(b)
			}
			if p = end; depth == 0 {
				return p
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return p
			}
			if depth == 0 {
				return p + 1
			}
		case ',', ' ', '\n', '\r', '\t':
			if depth == 0 {
				return p
			}
		}
		p++
	}
	return p
}
