package convert

// Bool reads the words that SQL casts to BOOLEAN: true, t, yes, y, 1 and false, f, no, n, 0, in any case.
func Bool(b []byte) (bool, Fault) {
	b = trim(b)
	if len(b) == 0 || len(b) > 5 {
		return false, Syntax
	}
	var word [5]byte
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		word[i] = c
	}
	switch string(word[:len(b)]) {
	case "true", "t", "yes", "y", "1":
		return true, OK
	case "false", "f", "no", "n", "0":
		return false, OK
	}
	return false, Syntax
}
