package export

import (
	"strings"
	"unicode/utf8"

	"millrace/internal/export/parquet"
	"millrace/internal/option"
)

// page lists the options for users.
const page = "docs/export.md"

var compression = option.Option{Name: "compression", Aliases: []string{"codec"}, Type: option.Enum, Words: []string{"none", "gzip", "zstd"}, Default: "none", Doc: "How the file is compressed. Its name stays as it is.", Example: "'gzip'"}

// Options are the options of each format. Names and meanings are those of Spark's writers.
var Options = map[string]*option.Table{
	"parquet": option.New("FORMAT parquet", "option", "", " ",
		option.Option{Name: "compression", Aliases: []string{"codec"}, Type: option.Enum, Words: parquet.Codecs, Default: "zstd", Doc: "How pages are compressed.", Example: "'snappy'"},
	).On(page),
	"csv": option.New("FORMAT csv", "option", "", " ",
		option.Option{Name: "header", Type: option.Bool, Default: "false", Doc: "Whether the first line has the names of the columns.", Example: "true"},
		option.Option{Name: "sep", Aliases: []string{"delimiter"}, Type: option.Scalar, Default: ",", Doc: "What stands between two values; \\t is a tab.", Example: "';'"},
		option.Option{Name: "quote", Type: option.Scalar, Default: "\"", Doc: "What stands around a value that has the separator, a quote, a line end, or nothing in it.", Example: "'\"'"},
		option.Option{Name: "escape", Type: option.Scalar, Default: "\"", Doc: "What stands before a quote within quotes: the quote itself, as RFC 4180 has it, or as Spark has it by default, a backslash.", Example: "'\\\\'"},
		option.Option{Name: "nullValue", Type: option.String, AllowEmpty: true, DefaultNote: "empty", Doc: "What stands for NULL, without quotes.", Example: "'NULL'"},
		option.Option{Name: "quoteAll", Type: option.Bool, Default: "false", Doc: "Whether every value has quotes.", Example: "true"},
		option.Option{Name: "lineSep", Type: option.Scalar, DefaultNote: "\\n", Doc: "What ends a line.", Example: "'\\r\\n'"},
		compression,
	).On(page),
	"jsonl": option.New("FORMAT jsonl", "option", "", " ",
		option.Option{Name: "ignoreNullFields", Type: option.Bool, Default: "false", Doc: "Whether NULLs are left out.", Example: "true"},
		compression,
	).On(page),
	"text": option.New("FORMAT text", "option", "", " ",
		option.Option{Name: "lineSep", Type: option.Scalar, DefaultNote: "\\n", Doc: "What ends a line.", Example: "'\\r\\n'"},
		compression,
	).On(page),
}

// check finds options that do not fit together.
func (p Plan) check() error {
	if p.values.Has("lineSep") && p.values.String("lineSep") == "" {
		return p.values.Invalid("lineSep", "is empty, expected text")
	}
	if p.format != "csv" {
		return nil
	}
	sep, quote, escape := p.separator(), p.values.String("quote"), p.values.String("escape")
	switch {
	case sep == "" || strings.ContainsAny(sep, "\r\n"):
		return p.values.Invalid("sep", "is '%s', expected text without line ends", option.Show(sep))
	case len(quote) != 1 || quote[0] >= utf8.RuneSelf:
		return p.values.Invalid("quote", "is '%s', expected one ASCII character", option.Show(quote))
	case len(escape) != 1 || escape[0] >= utf8.RuneSelf:
		return p.values.Invalid("escape", "is '%s', expected one ASCII character", option.Show(escape))
	case strings.Contains(sep, quote):
		return p.values.Invalid("sep", "is '%s', expected text without the quote", option.Show(sep))
	}
	return nil
}

func (p Plan) separator() string {
	if s := p.values.String("sep"); s != `\t` {
		return s
	}
	return "\t"
}

func (p Plan) lineEnd() string {
	if p.values.Has("lineSep") {
		return p.values.String("lineSep")
	}
	return "\n"
}
