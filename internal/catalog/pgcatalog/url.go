package pgcatalog

import (
	"errors"
	"net/url"
	"strings"
	"unicode"
)

// encodingHint says how a password gets into a URL, or stays out of it.
const encodingHint = "characters such as '@', '/', '?', '#', '%' and spaces are percent-encoded in user and password: '%40', '%2F', '%3F', '%23', '%25', '%20'; or the password is in MILLRACE_STORE_PASSWORD, as it is"

// CheckURL refuses the URL of a database that does not mean what its author meant, because the user or the password has a character that ends it: what comes behind would be taken for the host,
// and a part of the password be logged as one and asked of DNS. So each '@' must be the one before the hosts, where URLs in general may have more of them. Errors quote nothing of it.
func CheckURL(text string) error {
	if what := misplaced(text); what != "" {
		return errors.New("'--store' cannot be read: its URL has " + what + "\nhint: " + encodingHint)
	}
	return nil
}

// misplaced is what a URL has that must not be there.
func misplaced(text string) string {
	_, rest, found := strings.Cut(text, "://")
	if !found {
		return "no '://'"
	}
	before, parameters, _ := strings.Cut(rest, "?")
	authority, database, _ := strings.Cut(before, "/")
	switch {
	case strings.Count(authority, "@") > 1:
		return "more than one '@'"
	case strings.Contains(database, "@"), strings.Contains(parameters, "@"):
		return "an '@' behind a '/' or a '?'"
	case strings.Contains(rest, "#"):
		return "a '#'"
	case strings.ContainsFunc(rest, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return "a space"
	}
	if _, err := url.PathUnescape(rest); err != nil {
		return "a '%' that no two hexadecimal digits follow"
	}
	if _, err := url.Parse(text); err != nil { // whose error would quote it
		return "a character that no URL has there"
	}
	return ""
}
