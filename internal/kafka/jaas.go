package kafka

import (
	"fmt"
	"strings"
)

// jaasLogin is one line of a JAAS configuration, which is how Java clients are given SASL credentials:
//
//	org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p";
type jaasLogin struct {
	// module is the class without package, such as PlainLoginModule, one of jaasModules.
	module  string
	options map[string]string
}

// jaasModules are the login modules of Kafka and its relatives → the mechanisms they log in for. Platforms that shade their client put kafkashaded. or
// shadedmskiam. before the package; only the class matters here.
var jaasModules = map[string][]string{
	"org.apache.kafka.common.security.plain.PlainLoginModule":             {"PLAIN"},
	"org.apache.kafka.common.security.scram.ScramLoginModule":             {"SCRAM-SHA-256", "SCRAM-SHA-512"},
	"org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule": {"OAUTHBEARER"},
	"software.amazon.msk.auth.iam.IAMLoginModule":                         {"AWS_MSK_IAM"},
	"com.sun.security.auth.module.Krb5LoginModule":                        {"GSSAPI"},
	"com.ibm.security.auth.module.Krb5LoginModule":                        {"GSSAPI"},
}

// shades are what platforms put before the package of a class.
var shades = []string{"kafkashaded.", "shadedmskiam."}

// parseJAAS reads the line of one login module. Errors give places, never text: a slip in quoting may put the password anywhere.
func parseJAAS(text string) (jaasLogin, error) {
	p := &jaasParser{text: text}
	class, err := p.word()
	if err != nil {
		return jaasLogin{}, fmt.Errorf("it does not begin with the class of a login module: %w", err)
	}
	class = unshaded(class)
	if _, known := jaasModules[class]; !known {
		return jaasLogin{}, fmt.Errorf("it does not begin with the class of a login module that Millrace knows, such as org.apache.kafka.common.security.plain.PlainLoginModule")
	}
	flag, err := p.word()
	if err != nil {
		return jaasLogin{}, err
	}
	switch strings.ToLower(flag) {
	case "required", "requisite", "sufficient", "optional":
	default:
		return jaasLogin{}, fmt.Errorf("the class is not followed by the word required")
	}
	login := jaasLogin{module: class[strings.LastIndexByte(class, '.')+1:], options: map[string]string{}}
	for {
		p.space()
		if p.at == len(p.text) {
			return login, nil // Java wants the semicolon; nothing is gained by insisting
		}
		if p.text[p.at] == ';' {
			p.at++
			if p.space(); p.at < len(p.text) {
				return jaasLogin{}, fmt.Errorf("something follows the semicolon at character %d; one login module is allowed", p.at+1)
			}
			return login, nil
		}
		start := p.at
		key, err := p.word()
		if err != nil {
			return jaasLogin{}, err
		}
		if p.space(); p.at == len(p.text) || p.text[p.at] != '=' {
			return jaasLogin{}, fmt.Errorf("'=' is expected at character %d", p.at+1)
		}
		p.at++
		p.space()
		value, err := p.value()
		if err != nil {
			return jaasLogin{}, err
		}
		if _, twice := login.options[key]; twice {
			return jaasLogin{}, fmt.Errorf("the option at character %d is given twice", start+1)
		}
		login.options[key] = value
	}
}

// jaasParser reads tokens as Java's StreamTokenizer is set up for them.
type jaasParser struct {
	text string
	at   int
}

// space skips white space and the two kinds of Java comment.
func (p *jaasParser) space() {
	for p.at < len(p.text) {
		rest := p.text[p.at:]
		switch {
		case strings.IndexByte(" \t\r\n\f", rest[0]) >= 0:
			p.at++
		case strings.HasPrefix(rest, "//"):
			p.skip(rest, "\n")
		case strings.HasPrefix(rest, "/*"):
			p.skip(rest[2:], "*/")
		default:
			return
		}
	}
}

// skip goes behind the first end in rest, which reaches to the end of the text, or to the end of the text when there is none.
func (p *jaasParser) skip(rest, end string) {
	if _, after, found := strings.Cut(rest, end); found {
		p.at = len(p.text) - len(after)
		return
	}
	p.at = len(p.text)
}

func (p *jaasParser) word() (string, error) {
	p.space()
	start := p.at
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n\f=;\"'", p.text[p.at]) < 0 {
		p.at++
	}
	if p.at == start {
		return "", fmt.Errorf("a word is expected at character %d", start+1)
	}
	return p.text[start:p.at], nil
}

func (p *jaasParser) value() (string, error) {
	if p.at == len(p.text) || p.text[p.at] != '"' && p.text[p.at] != '\'' {
		return p.word()
	}
	quote, start := p.text[p.at], p.at
	var b strings.Builder
	for p.at++; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; c {
		case quote:
			p.at++
			return b.String(), nil
		case '\\':
			p.at++
			if p.at < len(p.text) {
				p.escape(&b)
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", fmt.Errorf("the quote at character %d is not closed", start+1)
}

// escape reads what follows a backslash and leaves the parser on its last byte: C escapes, up to three octal digits, else the character itself.
func (p *jaasParser) escape(b *strings.Builder) {
	c := p.text[p.at]
	if i := strings.IndexByte("abfnrtv", c); i >= 0 {
		b.WriteByte("\a\b\f\n\r\t\v"[i])
		return
	}
	if c < '0' || c > '7' {
		b.WriteByte(c)
		return
	}
	limit := 3
	if c > '3' {
		limit = 2
	}
	code := rune(0)
	for n := 0; n < limit && p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '7'; n++ {
		code = code*8 + rune(p.text[p.at]-'0')
		p.at++
	}
	p.at--
	b.WriteRune(code)
}
