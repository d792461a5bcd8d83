// Package option makes options data: one table says for each option its name, aliases, type, default, a sentence and an example, and
// everything else follows from it: binding what a user wrote to typed values, errors that say what to do, EXPLAIN, and docs/options.md.
//
// A table is built once, with New, at program start. Bind takes the pairs of one statement in their order and gives Values or one
// *sqlerr.Error that names the option as the user spelled it, what was found, what is allowed, and an example. Names match without
// regard to case; every camelCase name may also be written in snake_case.
//
// Rules between options belong to the owner of the table. Values of secret options never enter a message: see Show and Redacted.
package option

import "strings"

// Type says which values an option takes and what Bind makes of them.
type Type uint8

// The types, each with the Go type that Values holds for it.
const (
	// String is text: string.
	String Type = iota
	// Scalar is text, a number or a truth value, all kept as text: string. It is for properties that are handed on.
	Scalar
	// Bool is true or false, also as text or 0 and 1: bool.
	Bool
	// Int is a whole number of 32 bits: int64.
	Int
	// Long is a whole number of 64 bits: int64.
	Long
	// Duration is text such as '10m' or '1 hour 30 minutes': time.Duration.
	Duration
	// Timestamp is milliseconds since 1970 or a date and time in UTC: int64, milliseconds rounded up.
	Timestamp
	// List is text with commas; entries are trimmed and empty ones dropped, one must remain: []string.
	List
	// JSON is the text of a JSON object, whose shape the owner checks: string.
	JSON
	// Map is a map or the text of a flat JSON object: map[string]string.
	Map
	// Enum is one of the Words, in any case: string, spelled as in Words.
	Enum
)

func (t Type) String() string {
	return [...]string{"string", "scalar", "boolean", "int", "long", "duration", "timestamp", "list", "JSON", "map", "enum"}[t]
}

// Support says what becomes of an option in one kind of query.
type Support uint8

const (
	// Supported options have their effect.
	Supported Support = iota
	// Ignored options are accepted and change nothing; a warning gives the Reason.
	Ignored
	// Later options are known but not built yet: an error says so, unless the value is the default.
	Later
	// Refused options are an error that gives the Reason.
	Refused
)

// Option is one row of a table.
type Option struct {
	// Name is the primary name. A name that ends in * stands for every name with that beginning (the longest match wins, an exact name first).
	Name string
	// Aliases are other names for the same option.
	Aliases []string
	Type    Type
	// Words are the allowed values of an Enum.
	Words []string
	// Min and Max bound an Int or Long; Max 0 means the largest of its type.
	Min, Max int64
	// Default is the value when the option is not given, written as a user would; DefaultNote replaces it in the docs where words are needed.
	Default, DefaultNote string
	// AllowEmpty lets a String be empty.
	AllowEmpty bool
	// Required is shown in the docs; the owner checks it with Values.Require.
	Required bool
	// Doc is one sentence; Example is a value as SQL text.
	Doc, Example string
	// Batch and Stream say how far the option works in a bounded read and in an unbounded one. Tables without that distinction use Batch.
	Batch, Stream Support
	// Reason completes "… is refused: " or "… is ignored: ".
	Reason string
	// Secret keeps the value out of every message. SecretName decides by the name as written, for options that end in *.
	Secret     bool
	SecretName func(name string) bool
}

func (o *Option) secret(as string) bool {
	return o.Secret || o.SecretName != nil && o.SecretName(as)
}

func (o *Option) support(streaming bool) Support {
	if streaming {
		return o.Stream
	}
	return o.Batch
}

// Pair is an option as the user gave it: nil for NULL, else text (string, []byte), bool, any Go integer or float, time.Time, a map, or a
// fmt.Stringer, which counts as text.
type Pair struct {
	Name  string
	Value any
}

// snake gives the snake_case form of a camelCase name; names without capitals have none.
func snake(name string) string {
	if strings.ToLower(name) == name {
		return ""
	}
	var b strings.Builder
	for i, r := range name {
		switch {
		case r == '.':
			b.WriteByte('_')
		case r >= 'A' && r <= 'Z':
			if i > 0 && name[i-1] != '.' {
				b.WriteByte('_')
			}
			b.WriteRune(r + 'a' - 'A')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// SecretValue is a Pair's value that came from secret(): it may be given only to an option that is a secret by its name, for the values of others
// appear in messages.
type SecretValue string

// String keeps it out of messages.
func (SecretValue) String() string { return Redacted }

// GoString does so for %#v.
func (SecretValue) GoString() string { return Redacted }
