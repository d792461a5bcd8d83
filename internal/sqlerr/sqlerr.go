// Package sqlerr holds the errors that a user of Millrace may see.
//
// An Error knows four things a bare error does not: which kind it is (a symbol with its MySQL number and SQLSTATE), what the
// user can do about it (the hint), whose fault it is, and whether trying again makes sense. Packages below the server build
// Errors; one function in the server turns them into packets. Nothing else in the repository names MySQL numbers.
//
// The main line is lower case, names the option or column in single quotes, says what was found and what is allowed. Secrets
// must never be put into a message: redact before you build one.
package sqlerr

import (
	"errors"
	"fmt"
	"strings"
)

// Fault says who can mend an error.
type Fault uint8

const (
	// User errors are mended by changing the statement, the options or the grants.
	User Fault = iota
	// External errors come from a system we talk to: a broker, a registry, a database.
	External
	// Internal errors are ours; they are logged with the statement.
	Internal
)

func (f Fault) String() string {
	switch f {
	case User:
		return "user"
	case External:
		return "external"
	default:
		return "internal"
	}
}

// Kind is a class of errors that somebody may branch on or look up in the docs. Kinds are compared by identity.
type Kind struct {
	// Symbol is the name in docs and logs, such as KAFKA_TOPIC_NOT_FOUND.
	Symbol string
	// Errno is the MySQL error number; numbers from 31001 are Millrace's own.
	Errno uint16
	// State is the five-character SQLSTATE.
	State string
	// Fault and Retry are the usual answer for the kind.
	Fault Fault
	// Retry is true when the same statement may succeed later without a change.
	Retry bool
	// Doc is one sentence for docs/errors.md.
	Doc string
}

// Error is an error of a Kind with the text for the user.
type Error struct {
	Kind *Kind
	// Msg is the main line; Detail and Hint may be empty.
	Msg, Detail, Hint string
	// Err is the cause, for errors.Is and the log. It is not shown to the user, except by callers that put it into Msg or Detail.
	Err error

	// What the texts were made of, for Map.
	msg, detail, hint template
}

// New builds an Error; the format verbs are those of fmt.Sprintf. %w is allowed and sets the cause.
func New(k *Kind, format string, args ...any) *Error {
	e := fmt.Errorf(format, args...)
	return &Error{Kind: k, Msg: e.Error(), Err: errors.Unwrap(e), msg: template{format, args}}
}

// WithHint returns e with a hint: what the user can do.
func (e *Error) WithHint(format string, args ...any) *Error {
	c := *e
	c.Hint, c.hint = fmt.Sprintf(format, args...), template{format, args}
	return &c
}

// WithFixedHint is WithHint for a text that is no format: it comes from a table of hints.
func (e *Error) WithFixedHint(text string) *Error {
	c := *e
	c.Hint, c.hint = text, template{format: strings.ReplaceAll(text, "%", "%%")}
	return &c
}

// WithDetail returns e with a second sentence of facts.
func (e *Error) WithDetail(format string, args ...any) *Error {
	c := *e
	c.Detail, c.detail = fmt.Sprintf(format, args...), template{format, args}
	return &c
}

// WithCause returns e with the error that caused it.
func (e *Error) WithCause(err error) *Error {
	c := *e
	c.Err = err
	return &c
}

// Error gives the whole text a client is sent: main line, detail and hint, each on a line of its own.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Msg)
	if e.Detail != "" {
		b.WriteString("\ndetail: ")
		b.WriteString(e.Detail)
	}
	if e.Hint != "" {
		b.WriteString("\nhint: ")
		b.WriteString(e.Hint)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// Is makes errors.Is(err, kindError) work for Kind values wrapped by Of.
func (e *Error) Is(target error) bool {
	k, ok := target.(kindTarget)
	return ok && k.k == e.Kind
}

type kindTarget struct{ k *Kind }

func (t kindTarget) Error() string { return t.k.Symbol }

// HasKind reports whether err or a cause of it is an Error of kind k.
func HasKind(err error, k *Kind) bool { return errors.Is(err, kindTarget{k}) }

// As returns the first Error in err's chain.
func As(err error) (*Error, bool) {
	var e *Error
	ok := errors.As(err, &e)
	return e, ok
}
