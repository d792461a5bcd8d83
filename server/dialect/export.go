package dialect

import "millrace/internal/sqlerr"

// Export is EXPORT (query) TO 'file' FORMAT format [OPTIONS (name value, …)] [OVERWRITE].
type Export struct {
	// Query is the original text between the parentheses; it begins at Pos.
	Query string
	Pos   int
	// File is what the literal stands for.
	File string
	// Format as it was written.
	Format    string
	Options   []ConnectionOption
	Overwrite bool
}

// Backup is BACKUP TO 'folder'.
type Backup struct{ Folder string }

func (Export) Title() string { return "EXPORT" }
func (Backup) Title() string { return "BACKUP" }

// fileStatement recognises EXPORT and BACKUP; nil when it is none of them.
func (r *rewriter) fileStatement() (Statement, *sqlerr.Error) {
	switch {
	case r.words(0, "export") && r.tokens[1].is('('):
		return r.export()
	case r.words(0, "backup", "to"):
		folder, err := r.pathName(2, "folder")
		if err != nil {
			return nil, err
		}
		return Backup{folder}, r.endAt(3)
	}
	return nil, nil
}

// pathName reads the name of a file or folder.
func (r *rewriter) pathName(i int, what string) (string, *sqlerr.Error) {
	if r.tokens[i].kind != tokenString {
		return "", r.errorAt(r.tokens[i].start, "the name of a %s in quotes is expected", what)
	}
	return r.stringValue(r.tokens[i]), nil
}

func (r *rewriter) export() (Statement, *sqlerr.Error) {
	last := r.closing(1)
	if last < 0 {
		return nil, r.errorAt(r.tokens[1].start, "the closing parenthesis of the query is missing")
	}
	if last == 2 {
		return nil, r.errorAt(r.tokens[2].start, "a query is expected")
	}
	e := Export{Pos: r.tokens[2].start}
	e.Query = r.source[e.Pos:r.tokens[last-1].end]
	i := last + 1
	if !r.isWord(i, "to") {
		return nil, r.errorAt(r.tokens[i].start, "TO and the name of a file are expected").WithHint("EXPORT (SELECT …) TO 'orders.parquet' FORMAT parquet")
	}
	var err *sqlerr.Error
	if e.File, err = r.pathName(i+1, "file"); err != nil {
		return nil, err
	}
	i += 2
	if !r.isWord(i, "format") {
		return nil, r.errorAt(r.tokens[i].start, "FORMAT and the name of a format are expected").WithHint("formats are parquet, csv, jsonl and text")
	}
	switch t := r.tokens[i+1]; {
	case t.kind == tokenString:
		e.Format = r.stringValue(t)
	case t.identifier():
		e.Format = r.name(t)
	default:
		return nil, r.errorAt(t.start, "the name of a format is expected").WithHint("formats are parquet, csv, jsonl and text")
	}
	i += 2
	for options := false; ; {
		switch {
		case r.words(i, "options") && r.tokens[i+1].is('(') && !options:
			options = true
			if e.Options, i, err = r.exportOptions(i + 2); err != nil {
				return nil, err
			}
		case r.words(i, "overwrite") && !e.Overwrite:
			e.Overwrite = true
			i++
		default:
			return e, r.endAt(i)
		}
	}
}

// exportOptions reads a list of options behind its opening parenthesis.
func (r *rewriter) exportOptions(i int) (list []ConnectionOption, next int, err *sqlerr.Error) {
	for {
		o, next, err := r.connectionOption(i)
		if err != nil {
			return nil, i, err
		}
		if o.Scope != "" {
			return nil, i, r.errorAt(o.Pos, "option '%s' takes no secret", shorten(o.Name))
		}
		list = append(list, o)
		switch t := r.tokens[next]; {
		case t.is(','):
			i = next + 1
		case t.is(')'):
			return list, next + 1, nil
		default:
			return nil, i, r.errorAt(t.start, "a comma or the closing parenthesis is expected after option '%s'", shorten(o.Name))
		}
	}
}

// closing finds the parenthesis that closes the one at token i, -1 for none.
func (r *rewriter) closing(i int) int {
	depth := 0
	for ; r.tokens[i].kind != tokenEnd; i++ {
		switch t := r.tokens[i]; {
		case t.is('('):
			depth++
		case t.is(')'):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}
