package dialect

import "strings"

// masked stands for a secret in the line that an error shows.
const masked = "'***'"

// mask hides the string literals of text that hold secrets, and moves pos with the text. Line breaks inside a secret go with it.
//
// A literal is a secret when it is the value of a named argument or assignment that sounds like one, or follows IDENTIFIED BY.
// Errors end up in logs and in front of people who look over a shoulder.
func mask(text string, pos int) (string, int) {
	all := storesSecrets(text)
	if !all && !soundsSecret(text) {
		return text, pos
	}
	var b strings.Builder
	copied, moved := 0, pos
	var before [2]token // the two tokens before the current one
	l := newLexer(text, Mode{})
	account := isAccountStatement(text, l)
	for t := l.next(); t.kind != tokenEnd; t = l.next() {
		if t.kind == tokenString && (all || isSecret(text, before, account)) {
			b.WriteString(text[copied:t.start])
			switch {
			case pos >= t.end:
				moved += len(masked) - (t.end - t.start)
			case pos > t.start:
				moved -= pos - t.start
			}
			b.WriteString(masked)
			copied = t.end
		}
		before[0], before[1] = before[1], t
	}
	b.WriteString(text[copied:])
	return b.String(), moved
}

func isSecret(text string, before [2]token, account bool) bool {
	switch name, t := text[before[0].start:before[0].end], before[1]; {
	case t.is(opArrow), t.is('='), t.is('('):
		return account || soundsSecret(name)
	case t.kind == tokenWord:
		w := text[t.start:t.end]
		return soundsSecret(w) || account && (t.word == wordBy || t.word == wordAs || t.word == wordReplace)
	}
	return false
}

// isAccountStatement reports whether a statement sets passwords: CREATE USER, ALTER USER, GRANT, SET PASSWORD. l is at its start.
func isAccountStatement(text string, l lexer) bool {
	first, second := l.next(), l.next()
	switch w := text[second.start:second.end]; first.word {
	case wordCreate, wordAlter:
		return strings.EqualFold(w, "user")
	case wordSet:
		return strings.EqualFold(w, "password")
	}
	return first.word == wordGrant
}

// storesSecrets reports whether a statement is CREATE CONNECTION or CREATE CREDENTIAL, whose literals are all kept from view: an option with a slip in
// its name holds a secret all the same.
func storesSecrets(text string) bool {
	l := newLexer(text, Mode{})
	if first := l.next(); first.word != wordCreate {
		return false
	}
	t := l.next()
	for isOneOf(text[t.start:t.end], "or", "replace") {
		t = l.next()
	}
	return isOneOf(text[t.start:t.end], "connection", "credential")
}

// secretWords are parts of the names of options and clauses whose values nobody but their owner should see.
var secretWords = []string{"password", "passwd", "secret", "jaas", "token", "credential", "identified", "keystore.key", "key.password", "user.info", "apikey", "api.key"}

// namesCredential takes out the argument whose value is the name of a credential, not what it holds.
var namesCredential = strings.NewReplacer("servicecredential", "", "service_credential", "")

func soundsSecret(name string) bool {
	name = namesCredential.Replace(strings.ToLower(name))
	for _, w := range secretWords {
		if strings.Contains(name, w) {
			return true
		}
	}
	return false
}
