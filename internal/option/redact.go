package option

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Redacted stands where a secret was.
const Redacted = "[redacted]"

// userInfo is user:password@ in an address, with or without a scheme.
var userInfo = regexp.MustCompile(`[^\s,/@"']+@`)

// Show gives a value that is no secret by its name as it may appear in a message: on one line, cut to a readable length, and without the
// user and password that an address may carry.
func Show(value string) string {
	return Shorten(userInfo.ReplaceAllString(value, Redacted+"@"), 120)
}

// Shorten cuts s to about n bytes at a character and replaces control characters, so that a message stays one line.
func Shorten(s string, n int) string {
	cut := len(s) > n
	if cut {
		for s = s[:n]; len(s) > 0; s = s[:len(s)-1] {
			if r, size := utf8.DecodeLastRuneInString(s); r != utf8.RuneError || size > 1 {
				break
			}
		}
	}
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if cut {
		s += "…"
	}
	return s
}

// LooksSecret reports whether a name that no table knows is likely to hold a secret.
func LooksSecret(name string) bool {
	n := strings.ToLower(name)
	for _, part := range []string{"password", "passwd", "pwd", "secret", "jaas", "token", "credential", "private", "keystore.key", "apikey", "api_key", "api.key", "user.info"} {
		if strings.Contains(n, part) {
			return true
		}
	}
	return false
}
