// Package convert turns text into typed values and back, exactly.
//
// A value that travels through float64 on its way from text to a 64-bit integer or a decimal is a wrong answer waiting to happen, and
// a conversion that allocates is felt a million times in a scan. The functions here work on bytes, allocate nothing, and say how a conversion
// failed as a Fault: the caller knows whether that becomes an error that names the value, or NULL.
//
// Blanks (the bytes up to 0x20) around numbers, words, dates and timestamps are ignored, as SQL casts do.
package convert

// Fault says how a conversion failed.
type Fault uint8

const (
	// OK: it did not.
	OK Fault = iota
	// Syntax: the text is not one of the type.
	Syntax
	// Overflow: the text is one of the type, but the value does not fit.
	Overflow
)

func (f Fault) String() string {
	switch f {
	case OK:
		return "ok"
	case Syntax:
		return "invalid"
	default:
		return "out of range"
	}
}

// trim cuts blanks off both ends.
func trim(b []byte) []byte {
	for len(b) > 0 && b[0] <= ' ' {
		b = b[1:]
	}
	for len(b) > 0 && b[len(b)-1] <= ' ' {
		b = b[:len(b)-1]
	}
	return b
}
