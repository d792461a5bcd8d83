package dialect

import "strings"

// plain looks for bytes that could belong to a construct of the dialect. If there are none it returns true and the number of
// placeholders, in one pass without memory of its own. It errs on the side of false: then the rewriter finds out.
func plain(text string) (params int, ok bool) {
	start := 0
	for start < len(text) && isBlank(text[start]) {
		start++
	}
	if start == len(text) {
		return 0, true
	}
	if w := text[start]; !isIdentifier(w) || startsOwnStatement(text[start:]) {
		return 0, false
	}
	for i := start; i < len(text); {
		c := text[i]
		switch class[c] {
		case classNone:
			i++
		case classWord:
			j := i + 1
			for j < len(text) && class[text[j]] == classWord {
				j++
			}
			if isConstructWord(text[i:j]) {
				return 0, false
			}
			i = j
		case classParam:
			params++
			i++
		case classQuote:
			if i = closing(text, i); i < 0 {
				return 0, false
			}
		case classDot:
			// One dot in a name is MySQL, two may be a catalog. Spaces, quotes and comments around dots are for the rewriter.
			j := i + 1
			for j < len(text) && class[text[j]] == classWord {
				j++
			}
			if i == 0 || class[text[i-1]] != classWord || j < len(text) && text[j] == '.' || j == i+1 && (j == len(text) || text[j] != '*') {
				return 0, false
			}
			i = j
		case classPair:
			if c == '=' && maybeArgument(text[:i]) {
				return 0, false
			}
			if i++; i < len(text) {
				switch n := text[i]; {
				case n == '>' && c != '/', n == '-' && c == '-', n == '*' && c == '/':
					return 0, false
				}
			}
		case classStop:
			return 0, false
		}
	}
	return params, true
}

// maybeArgument reports whether text may end with the name of a call's argument, which = must not follow: of f(a = 1) the rewriter tells more than the engine.
func maybeArgument(text string) bool {
	text = strings.TrimRight(text, " \t\r\n")
	if n := len(text); n > 0 && text[n-1] == '`' {
		text = text[:strings.LastIndexByte(text[:n-1], '`')+1]
		text = strings.TrimSuffix(text, "`")
	} else {
		for n > 0 && isIdentifier(text[n-1]) {
			n--
		}
		text = text[:n]
	}
	text = strings.TrimRight(text, " \t\r\n")
	return text == "" || text[len(text)-1] == '(' || text[len(text)-1] == ',' || text[len(text)-1] == '`'
}

const (
	classNone = iota
	classWord
	classParam
	classQuote
	classDot
	classPair
	classStop
)

// class tells plain what a byte may be part of.
var class = func() (t [256]uint8) {
	for c := range t {
		if isIdentifier(byte(c)) {
			t[c] = classWord
		}
	}
	t['?'], t['.'] = classParam, classDot
	t['\''], t['"'], t['`'] = classQuote, classQuote, classQuote
	t['='], t['-'], t['/'] = classPair, classPair, classPair
	t[':'], t['#'] = classStop, classStop
	return t
}()

// suspicious has a bit for each first letter of a construct word, by length: most words are told from them without being looked up.
var suspicious = func() (t [longestWord + 1]uint32) {
	for _, w := range constructWords {
		t[len(w)] |= letter(w[0])
	}
	return t
}()

// letter is a bit for a letter, whatever its case.
func letter(c byte) uint32 { return 1 << (c & 0x1f) }

// constructWords may be part of a construct, or are names that have to be quoted.
var constructWords = append([]string{"key", "lag", "partition", "stream", "try_cast", "cast", "interval", "window", "event_log", "view", "format"},
	strings.Fields(functionWords+" "+refusedWords+" "+aliasWords)...)

var isConstruct = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range constructWords {
		m[w] = true
	}
	return m
}()

func isConstructWord(w string) bool {
	if len(w) > longestWord || suspicious[len(w)]&letter(w[0]) == 0 {
		return false
	}
	var lower [longestWord]byte
	for i := range len(w) {
		c := w[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		lower[i] = c
	}
	return isConstruct[string(lower[:len(w)])]
}

// closing returns the position behind the quoted text that starts at i, or -1 if the rewriter has to look at it.
func closing(text string, i int) int {
	n := strings.IndexByte(text[i+1:], text[i])
	if n < 0 {
		return -1
	}
	end := i + 1 + n + 1
	if text[i] != '`' && strings.IndexByte(text[i:end], '\\') >= 0 {
		return -1
	}
	if end < len(text) && text[end] == '.' { // `a`.`b`.`c`
		return -1
	}
	return end // a doubled quote begins the next run
}
