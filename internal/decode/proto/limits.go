package proto

import "millrace/internal/sqlerr"

// What a schema may be before it is compiled: the compiler and what follows it call themselves for each nested message and each type of a field.
const (
	// MaxSchema bounds a schema with its references, in bytes.
	MaxSchema = 8 << 20
	// maxNesting bounds the brackets that lie in each other.
	maxNesting = 200
)

// checkText refuses texts that only an attacker writes.
func checkText(text string, references map[string]string) error {
	size := len(text)
	for _, r := range references {
		size += len(r)
	}
	if size > MaxSchema {
		return sqlerr.New(sqlerr.OptionInvalid, "the Protobuf schema has %d bytes with its references: %d are allowed", size, MaxSchema)
	}
	for _, t := range references {
		if nesting(t) > maxNesting {
			return errNesting()
		}
	}
	if nesting(text) > maxNesting {
		return errNesting()
	}
	return nil
}

func errNesting() error {
	return sqlerr.New(sqlerr.OptionInvalid, "the Protobuf schema is nested deeper than %d", maxNesting)
}

// nesting is how deep brackets lie in each other outside of texts and comments.
func nesting(text string) (deepest int) {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '{', '[', '(', '<':
			depth++
			deepest = max(deepest, depth)
		case '}', ']', ')', '>':
			depth--
		case '"', '\'':
			for i++; i < len(text) && text[i] != c && text[i] != '\n'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '/':
			i = comment(text, i)
		}
	}
	return deepest
}

// comment is the last byte of the comment at i, i itself when there is none.
func comment(text string, i int) int {
	switch {
	case i+1 == len(text):
	case text[i+1] == '/':
		for i++; i+1 < len(text) && text[i+1] != '\n'; i++ {
		}
	case text[i+1] == '*':
		for i += 2; i < len(text) && (text[i] != '/' || text[i-1] != '*'); i++ {
		}
	}
	return i
}
