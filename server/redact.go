package server

import (
	"regexp"
	"strings"

	"millrace/internal/sqlerr"
)

// mask stands where a secret was.
const mask = "'***'"

// redacted is the text of a statement without its secrets, and the secrets, so that they can be struck from messages too.
type redacted struct {
	text    string
	secrets []string
}

// redact finds the secrets in the text of a statement: passwords of users (IDENTIFIED BY, SET PASSWORD), values of arguments whose name
// says secret (sasl.jaas.config => '…', also as 'name', 'value' and inside JSON or property text), variables named like one, and passwords in URLs. It looks
// at tokens, not at grammar: the text may be one that no parser accepts, which is when it ends up in a log. What is given to an argument that nobody
// knows is not shown either: its name may be that of a secret with a slip.
func redact(text string) redacted {
	if !mayHoldSecret(text) {
		return redacted{text: text}
	}
	r := redactor{text: text}
	r.run()
	result := redacted{r.out.String(), r.secrets}
	if strings.Contains(text, `\`) {
		// Whether a backslash escapes depends on the sql_mode, and where one literal ends decides what the next one is: what is secret in either
		// reading is struck.
		other := redactor{text: text, noEscapes: true}
		other.run()
		result.secrets = append(result.secrets, other.secrets...)
		result.text = result.scrub(result.text)
	}
	if len(result.secrets) == 0 && !r.hidden {
		return redacted{text: text}
	}
	return result
}

// scrub strikes the secrets of the statement from a message.
func (r redacted) scrub(message string) string {
	for _, s := range r.secrets {
		if len(s) > 2 {
			message = strings.ReplaceAll(message, s, "***")
		}
	}
	return message
}

// scrubError does so for an error that goes to a client or a log.
func (r redacted) scrubError(err error) error {
	if err == nil || len(r.secrets) == 0 {
		return err
	}
	e, ok := sqlerr.As(err)
	if !ok {
		e = sqlerr.New(sqlerr.Engine, "%s", err.Error())
	}
	return e.Map(r.scrub)
}

// secretWords mark a name as that of a secret.
var secretWords = []string{"password", "passwd", "secret", "jaas", "token", "credential", "apikey", "api_key", "keystore.key", "user.info", "private"}

// namesCredential takes out the argument whose value is the name of a credential, not what it holds.
var namesCredential = strings.NewReplacer("servicecredential", "", "service_credential", "")

// mayHoldSecret is the quick check that lets nearly all statements pass.
func mayHoldSecret(text string) bool {
	lower := strings.ToLower(text)
	if strings.Contains(lower, "identified") || strings.Contains(lower, "pass") || strings.Contains(lower, "connection") && strings.Contains(lower, "options") {
		return true
	}
	return secretName(lower) || strings.Contains(text, "=>") || strings.Contains(lower, "registry") || strings.Contains(lower, "from_") || strings.Contains(text, "://") && strings.Contains(text, "@")
}

func secretName(name string) bool {
	name = namesCredential.Replace(strings.ToLower(name))
	for _, w := range secretWords {
		if strings.Contains(name, w) {
			return true
		}
	}
	return false
}

// redactor copies tokens to out and replaces the literals that are secrets.
type redactor struct {
	text string
	pos  int
	out  strings.Builder
	// noEscapes: a backslash is a character like others.
	noEscapes bool

	secrets []string
	// armed: the literals that follow are secrets, until the expression ends at depth.
	armed bool
	depth int
	at    int // depth at which armed was set
	// last and before are the last two tokens that are not space, lower case; for literals their content.
	last, before string
	lastLiteral  bool
	// stores is set in CREATE CONNECTION and CREATE CREDENTIAL: no literal is shown, for a name with a slip says nothing about its value.
	stores bool
	// given is the argument whose value is read, or the call of a function with options, nil for none.
	given *given
	// hidden: something was masked that is no secret by its name.
	hidden bool
}

// secretCall is what names a secret, which is no secret.
var secretCall = regexp.MustCompile(`(?i)^secret\s*\(\s*'[a-z0-9]{1,64}'\s*,\s*'[a-z0-9_][a-z0-9_.-]{0,127}'\s*\)`)

// inURL is a user and a password in a URL.
var inURL = regexp.MustCompile(`://[^\s/:@]*:([^\s/@]+)@`)

func (r *redactor) run() {
	for r.pos < len(r.text) {
		c := r.text[r.pos]
		switch {
		case c == '\'' || c == '"':
			r.literal(c)
		case c == '`':
			r.name(r.quoted('`'))
		case c == '-' && strings.HasPrefix(r.text[r.pos:], "--"), c == '#':
			r.copyTo(r.until("\n"))
		case strings.HasPrefix(r.text[r.pos:], "/*"):
			r.comment()
		case wordByte(c):
			start := r.pos
			if call := secretCall.FindString(r.text[start:]); call != "" {
				r.copyTo(start + len(call))
				r.push(")", false)
				continue
			}
			for r.pos < len(r.text) && wordByte(r.text[r.pos]) {
				r.pos++
			}
			r.out.WriteString(r.text[start:r.pos])
			r.name(r.text[start:r.pos])
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			r.copyTo(r.pos + 1)
		default:
			r.punctuation(c)
		}
	}
}

func wordByte(c byte) bool {
	return c == '_' || c == '$' || c == '@' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func (r *redactor) copyTo(end int) {
	r.out.WriteString(r.text[r.pos:end])
	r.pos = end
}

// until is the position after the next end, or the end of the text.
func (r *redactor) until(end string) int {
	if i := strings.Index(r.text[r.pos:], end); i >= 0 {
		return r.pos + i + len(end)
	}
	return len(r.text)
}

// comment copies a comment. One that MySQL executes (/*!) is read as text of the statement.
func (r *redactor) comment() {
	if strings.HasPrefix(r.text[r.pos:], "/*!") {
		r.copyTo(r.pos + 3)
		return
	}
	end := r.until("*/")
	if secretName(r.text[r.pos:end]) {
		r.secrets = append(r.secrets, r.text[r.pos:end])
		r.out.WriteString("/* *** */")
		r.pos = end
		return
	}
	r.copyTo(end)
}

func (r *redactor) push(token string, literal bool) {
	r.before, r.last, r.lastLiteral = r.last, token, literal
}

func (r *redactor) name(word string) {
	word = strings.ToLower(word)
	switch word {
	case "by", "as", "password":
		// IDENTIFIED BY '…', IDENTIFIED WITH p AS '…', IDENTIFIED BY PASSWORD '…', PASSWORD('…'), SET PASSWORD = '…'
		if word == "password" || r.before == "identified" || r.last == "identified" || r.before == "with" {
			r.arm()
		}
	case "connection", "credential":
		r.stores = r.stores || r.last == "create" || r.last == "replace" && r.before == "or"
	}
	switch word {
	case "replace", "retain", "require", "account", "comment", "attribute", "with", "to", "from", "where", "select", "and", "or":
		r.armed = r.armed && r.depth > r.at
	}
	r.push(word, false)
}

func (r *redactor) arm() { r.armed, r.at = true, r.depth }

func (r *redactor) punctuation(c byte) {
	switch c {
	case '(', '[', '{':
		r.depth++
		switch {
		case c == '(' && r.given != nil:
			r.given.opens(r.last, r.depth)
		case c == '(' && takesOptions(r.last):
			r.given = &given{depth: r.depth, call: true}
		}
	case ')', ']', '}':
		r.depth--
		if r.depth < r.at {
			r.armed = false
		}
		if r.given != nil && r.given.closes(r.depth) {
			r.given = nil
		}
	case ',':
		if r.given != nil && r.given.comma(r.depth) {
			r.given = nil
		}
		if r.lastLiteral && secretName(r.last) && len(r.last) < 128 {
			// 'name', 'value': the rewritten form of an argument, or an entry of map(…).
			r.arm()
		} else if r.depth <= r.at {
			r.armed = false
		}
	case ';':
		r.armed, r.stores, r.given, r.depth, r.at = false, false, nil, 0, 0
	case '=', ':':
		// name => value, SET @password = value, OPTIONS (name = value)
		if secretName(r.last) {
			r.arm()
		}
		if strings.HasPrefix(r.text[r.pos:], "=>") {
			r.given = givenTo(r.last, r.depth)
		}
	}
	if c != '>' && c != '=' && c != ':' {
		r.push(string(c), false)
	}
	r.copyTo(r.pos + 1)
}

// quoted copies a token quoted with q and gives its content.
func (r *redactor) quoted(q byte) string {
	end, content := r.span(q)
	r.copyTo(end)
	return content
}

// span finds the end of the quoted token at pos.
func (r *redactor) span(q byte) (end int, content string) {
	i := r.pos + 1
	for i < len(r.text) {
		switch {
		case r.text[i] == '\\' && q != '`' && !r.noEscapes:
			i++
		case r.text[i] == q && i+1 < len(r.text) && r.text[i+1] == q:
			i++
		case r.text[i] == q:
			return i + 1, r.text[r.pos+1 : i]
		}
		i++
	}
	return len(r.text), r.text[min(r.pos+1, len(r.text)):]
}

func (r *redactor) literal(q byte) {
	end, content := r.span(q)
	// A name that is secret may itself be quoted ("…" in ANSI_QUOTES, or 'name' before its value): names are short and hold no space.
	isName := secretName(content) && len(content) < 128 && !strings.ContainsAny(content, " =:{\n")
	switch {
	case r.armed || secretName(content) && !isName || secretName(r.last) && r.last != "":
		// The last: name 'value' in OPTIONS, without a sign between.
		r.secrets = append(r.secrets, content)
		r.out.WriteString(mask)
		r.pos = end
		r.push("", false)
	case r.stores, r.given != nil && r.given.hides(content):
		r.out.WriteString(mask)
		r.pos = end
		r.push(strings.ToLower(content), true)
		r.hidden = true
	default:
		for m := inURL.FindStringSubmatchIndex(r.text[r.pos:end]); m != nil; m = inURL.FindStringSubmatchIndex(r.text[r.pos:end]) {
			r.secrets = append(r.secrets, r.text[r.pos+m[2]:r.pos+m[3]])
			r.out.WriteString(r.text[r.pos:r.pos+m[2]] + "***")
			r.pos += m[3]
		}
		r.copyTo(end)
		r.push(strings.ToLower(content), true)
	}
}
