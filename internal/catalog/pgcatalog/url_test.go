package pgcatalog

import (
	"strings"
	"testing"
)

// The rest of a password behind an '@' was logged as a host and asked of DNS, for a minute.
func TestPasswordsThatAreNotEncodedAreRefused(t *testing.T) {
	for url, want := range map[string]string{
		"postgres://u:pa@canary@h/db":             "more than one '@'",
		"postgres://u:pa@canary/x@h/db":           "an '@' behind a '/' or a '?'",
		"postgres://u:pa@canary?x@h/db":           "an '@' behind a '/' or a '?'",
		"postgres://u:canary/x@h/db":              "an '@' behind a '/' or a '?'",
		"postgres://u:12?canary@h/db":             "an '@' behind a '/' or a '?'",
		"postgres://u:canary#x@h/db":              "a '#'",
		"postgres://u:pa@canary#x@h/db":           "more than one '@'",
		"postgres://u:pa@h/db#canary":             "a '#'",
		"postgres://u:canary%x@h/db":              "a '%' that no two hexadecimal digits follow",
		"postgres://u@h/db?password=canary%":      "a '%' that no two hexadecimal digits follow",
		"postgres://u:can ary@h/db":               "a space",
		"postgres://u:canary\n@h/db":              "a space",
		"postgres://u:can[ary@h/db":               "a character that no URL has there",
		"postgres:u:canary@h/db":                  "no '://'",
		"postgres://u:p%40%2F%23%3F%25%20@h/db":   "",
		"postgres://u:p:q@h:1/db?sslmode=disable": "",
		"postgres://u@a,b/db":                     "",
		"postgres:///db?host=/run/postgresql":     "",
	} {
		err := CheckURL(url)
		if (err == nil) != (want == "") || err != nil && (!strings.HasPrefix(err.Error(), "'--store' cannot be read: its URL has "+want+"\nhint: ") || strings.Contains(err.Error(), "canary")) {
			t.Errorf("%q: %v, want %q", url, err, want)
		}
	}
}
