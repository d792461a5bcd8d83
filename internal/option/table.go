package option

import (
	"fmt"
	"slices"
	"strings"

	"millrace/internal/sqlerr"
)

// Table is an immutable set of options; it is safe for concurrent use.
type Table struct {
	// Owner and Noun appear in messages: "read_kafka has no argument 'x'".
	Owner, Noun string
	// Prefix may stand before every name, as kafka. before the names of client properties.
	Prefix string
	// Separator stands between name and value in examples: " => " or "=".
	Separator string
	// Page is where the options are listed, docs/options.md by default.
	Page string

	options  []*Option
	exact    map[string]*Option // by lower-case name
	stars    []star             // names that end in *, longest first
	names    []string           // every full name, for near misses
	defaults map[*Option]any
}

// star is a name that ends in *: its beginning in lower case.
type star struct {
	beginning string
	option    *Option
}

// New builds a table. It panics when two options share a name or a default does not fit its type: the table is source code.
func New(owner, noun, prefix, separator string, options ...Option) *Table {
	t := &Table{Owner: owner, Noun: noun, Prefix: prefix, Separator: separator, Page: "docs/options.md", exact: map[string]*Option{}, defaults: map[*Option]any{}}
	for i := range options {
		o := &options[i]
		t.options = append(t.options, o)
		for _, name := range o.Names() {
			key := strings.ToLower(name)
			if beginning, ok := strings.CutSuffix(key, "*"); ok {
				t.stars = append(t.stars, star{beginning, o})
				continue
			}
			if t.exact[key] != nil {
				panic(fmt.Sprintf("option %q is declared twice in %s", name, owner))
			}
			t.exact[key] = o
			t.names = append(t.names, name)
		}
		if o.Default != "" {
			v, err := t.convert(o, o.Name, o.Default)
			if err != nil {
				panic(fmt.Sprintf("default of option %q in %s: %v", o.Name, owner, err))
			}
			t.defaults[o] = v
		}
	}
	slices.SortStableFunc(t.stars, func(a, b star) int { return len(b.beginning) - len(a.beginning) })
	return t
}

// On says which page of the documentation lists the options.
func (t *Table) On(page string) *Table {
	t.Page = page
	return t
}

// Names gives every spelling of an option: the name, its aliases, and the snake_case form of each.
func (o *Option) Names() []string {
	var names []string
	for _, n := range append([]string{o.Name}, o.Aliases...) {
		for _, form := range []string{n, snake(n)} {
			if form != "" && !slices.Contains(names, form) {
				names = append(names, form)
			}
		}
	}
	return names
}

// Options lists the table in the order of declaration.
func (t *Table) Options() []*Option { return t.options }

// Lookup finds the option that a user means by name, nil when there is none.
func (t *Table) Lookup(name string) *Option {
	key := strings.ToLower(strings.TrimSpace(name))
	bare := strings.TrimPrefix(key, t.Prefix)
	if o := t.exact[key]; o != nil {
		return o
	}
	if o := t.exact[bare]; o != nil {
		return o
	}
	for _, p := range t.stars {
		if len(bare) > len(p.beginning) && strings.HasPrefix(bare, p.beginning) {
			return p.option
		}
	}
	return nil
}

// IsSecret reports whether the value of the named option must not be shown. A name the table does not know counts as secret when it looks
// like one.
func (t *Table) IsSecret(name string) bool {
	if o := t.Lookup(name); o != nil {
		return o.secret(name)
	}
	return LooksSecret(name)
}

// Unknown is the error for a name that the table does not have. The value is left out: who misspells 'password' has written one.
func (t *Table) Unknown(name string) *sqlerr.Error {
	e := sqlerr.New(sqlerr.OptionUnknown, "%s has no %s '%s'", t.Owner, t.Noun, Shorten(name, 80))
	bare, prefix := name, ""
	if t.Prefix != "" && len(name) > len(t.Prefix) && strings.EqualFold(name[:len(t.Prefix)], t.Prefix) {
		prefix, bare = name[:len(t.Prefix)], name[len(t.Prefix):]
	}
	if near := Nearest(bare, t.names); near != "" {
		return e.WithHint("did you mean '%s%s'?", prefix, near)
	}
	return e.WithHint("%s lists every %s", t.Page, t.Noun)
}
