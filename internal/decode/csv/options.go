package csv

import (
	"strings"
	"unicode/utf8"

	"millrace/internal/sqlerr"
)

// Options are the dialect. The names in the comments are those of the options in SQL.
type Options struct {
	// Delimiter stands between fields: delimiter, also sep. It may be several characters.
	Delimiter string
	// Quote encloses fields, Escape takes the meaning from a quote or an escape in them, Comment begins lines that are none of the data. Each is one ASCII
	// character, or empty for none: quote, escape, comment.
	Quote, Escape, Comment string
	// Header: the first line of each record has the names of the fields: header.
	Header bool
	// Null is the text of a field that is NULL: nullValue.
	Null string
	// TrimLeading and TrimTrailing drop blanks around fields: ignoreLeadingWhiteSpace, ignoreTrailingWhiteSpace.
	TrimLeading, TrimTrailing bool
}

// Defaults are the options that nobody has set.
func Defaults() Options { return Options{Delimiter: ",", Quote: `"`, Escape: `\`} }

// dialect is Options as the splitter wants them; a character that is off is 0.
type dialect struct {
	delimiter              []byte
	quote, escape, comment byte
	header                 bool
	null                   []byte
	leading, trailing      bool
}

func (o Options) dialect() (d dialect, err error) {
	d = dialect{delimiter: []byte(o.Delimiter), header: o.Header, null: []byte(o.Null), leading: o.TrimLeading, trailing: o.TrimTrailing}
	if o.Delimiter == "" || !utf8.ValidString(o.Delimiter) || strings.ContainsAny(o.Delimiter, "\r\n\x00") {
		return d, sqlerr.New(sqlerr.OptionInvalid, "'delimiter' is %q: one or more characters are allowed, without line breaks", o.Delimiter)
	}
	for _, c := range []struct {
		option, value string
		to            *byte
	}{{"quote", o.Quote, &d.quote}, {"escape", o.Escape, &d.escape}, {"comment", o.Comment, &d.comment}} {
		switch {
		case c.value == "":
			continue
		case len(c.value) > 1 || c.value[0] >= utf8.RuneSelf || strings.Contains("\r\n\x00", c.value):
			return d, sqlerr.New(sqlerr.OptionInvalid, "'%s' is %q: one ASCII character is allowed, or '' for none", c.option, c.value)
		case c.option != "comment" && strings.Contains(o.Delimiter, c.value):
			return d, sqlerr.New(sqlerr.OptionConflict, "'%s' is %q, which is in 'delimiter' too", c.option, c.value)
		}
		*c.to = c.value[0]
	}
	return d, nil
}
