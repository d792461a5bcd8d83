package ddl

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"millrace/internal/convert"
)

// Parse reads a list of columns, at least one. An error is an *Error.
func Parse(text string) ([]Column, error) {
	p := &parser{text: text}
	p.next()
	columns, err := p.columns(1, "", true)
	if err != nil {
		return nil, err
	}
	if len(columns) == 0 {
		return nil, p.fail(p.at, "a column is expected, such as id BIGINT")
	}
	if p.kind != end {
		return nil, p.fail(p.at, "%s is not expected here; columns are separated by commas", p.shown())
	}
	return columns, nil
}

// ParseType reads one type, such as STRUCT<a: INT>. An error is an *Error.
func ParseType(text string) (Type, error) {
	p := &parser{text: text}
	p.next()
	t, err := p.typ(1)
	if err != nil {
		return Type{}, err
	}
	if p.kind != end {
		return Type{}, p.fail(p.at, "%s is not expected behind a type", p.shown())
	}
	return t, nil
}

// token kinds
type kind uint8

const (
	end    kind = iota
	word        // a bare or quoted name, or a number
	quoted      // a name in backticks
	text        // a string in quotes
	symbol      // one of < > ( ) , :
	broken      // what cannot be read; value is the complaint
)

// parser reads by recursive descent with one token of look-ahead: value, of a kind, which begins at byte at.
type parser struct {
	text  string
	pos   int
	kind  kind
	value string
	at    int
	seen  int // columns so far
}

func (p *parser) fail(at int, format string, args ...any) *Error {
	return &Error{Pos: utf8.RuneCountInString(p.text[:at]), Message: fmt.Sprintf(format, args...)}
}

// shown is the token at hand for a message.
func (p *parser) shown() string {
	switch p.kind {
	case end:
		return "the end"
	case broken:
		return p.value
	}
	v := p.text[p.at:p.pos]
	if len(v) > 40 {
		cut := 40
		for !utf8.RuneStart(v[cut]) {
			cut--
		}
		v = v[:cut] + "…"
	}
	return "'" + v + "'"
}

func nameRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// next reads a token.
func (p *parser) next() {
	for p.pos < len(p.text) {
		r, n := utf8.DecodeRuneInString(p.text[p.pos:])
		if !unicode.IsSpace(r) {
			break
		}
		p.pos += n
	}
	p.at, p.value = p.pos, ""
	if p.pos == len(p.text) {
		p.kind = end
		return
	}
	switch c := p.text[p.pos]; c {
	case '<', '>', '(', ')', ',', ':':
		p.kind, p.value = symbol, string(c)
		p.pos++
	case '`':
		p.inQuotes(quoted, '`')
	case '\'', '"':
		p.inQuotes(text, c)
	default:
		for p.pos < len(p.text) {
			r, n := utf8.DecodeRuneInString(p.text[p.pos:])
			if !nameRune(r) || r == utf8.RuneError && n == 1 {
				break
			}
			p.pos += n
		}
		p.kind, p.value = word, p.text[p.at:p.pos]
		if p.pos == p.at {
			r, n := utf8.DecodeRuneInString(p.text[p.pos:])
			p.pos += n
			p.kind, p.value = broken, fmt.Sprintf("character %q (a name with it stands in backticks)", r)
		}
	}
}

// inQuotes reads a quoted token; its quote is doubled inside. Strings have backslash escapes too.
func (p *parser) inQuotes(k kind, quote byte) {
	var b strings.Builder
	for p.pos++; p.pos < len(p.text); p.pos++ {
		switch c := p.text[p.pos]; {
		case c == quote && p.pos+1 < len(p.text) && p.text[p.pos+1] == quote:
			b.WriteByte(c)
			p.pos++
		case c == quote:
			p.pos++
			p.kind, p.value = k, b.String()
			return
		case c == '\\' && k == text && p.pos+1 < len(p.text):
			p.pos++
			b.WriteByte(p.text[p.pos])
		default:
			b.WriteByte(c)
		}
	}
	p.kind, p.value = broken, fmt.Sprintf("a %c that is not closed", quote)
}

func (p *parser) isSymbol(s string) bool { return p.kind == symbol && p.value == s }

// isWord reports whether the token is a keyword.
func (p *parser) isWord(w string) bool { return p.kind == word && strings.EqualFold(p.value, w) }

// columns reads columns up to a closing symbol, which stays, or the end. Top-level columns may be written with and without a colon, as in structs.
func (p *parser) columns(depth int, closing string, top bool) ([]Column, error) {
	var columns []Column
	names := map[string]bool{}
	for {
		if len(columns) == 0 && (p.kind == end || closing != "" && p.isSymbol(closing)) {
			return columns, nil
		}
		if p.kind != word && p.kind != quoted {
			return nil, p.fail(p.at, "the name of a column is expected, found %s", p.shown())
		}
		at := p.at
		c := Column{Name: p.value}
		if !utf8.ValidString(c.Name) {
			return nil, p.fail(at, "the name of a column is not valid UTF-8")
		}
		if strings.TrimSpace(c.Name) == "" {
			return nil, p.fail(at, "the name of a column is empty")
		}
		if key := strings.ToLower(c.Name); names[key] {
			return nil, p.fail(at, "column '%s' stands twice; names do not differ by case", c.Name)
		} else {
			names[key] = true
		}
		if p.seen++; p.seen > MaxColumns {
			return nil, p.fail(at, "a schema has at most %d columns", MaxColumns)
		}
		p.next()
		if p.isSymbol(":") {
			p.next()
		} else if top && p.kind == end && len(columns) == 0 {
			return nil, p.fail(p.at, "column '%s' has no type; a schema is a list such as id BIGINT, name STRING", c.Name)
		}
		var err error
		if c.Type, err = p.typ(depth); err != nil {
			return nil, err
		}
		if err := p.attributes(&c); err != nil {
			return nil, err
		}
		columns = append(columns, c)
		if !p.isSymbol(",") {
			return columns, nil
		}
		p.next()
	}
}

// attributes reads what may follow a type: NULL, NOT NULL and COMMENT 'text'.
func (p *parser) attributes(c *Column) error {
	for {
		switch {
		case p.isWord("NULL"):
			p.next()
		case p.isWord("NOT"):
			p.next()
			if !p.isWord("NULL") {
				return p.fail(p.at, "NULL is expected behind NOT, found %s", p.shown())
			}
			c.NotNull = true
			p.next()
		case p.isWord("COMMENT"):
			p.next()
			if p.kind != text {
				return p.fail(p.at, "a text in quotes is expected behind COMMENT, found %s", p.shown())
			}
			c.Comment = p.value
			p.next()
		default:
			return nil
		}
	}
}

var simple = map[string]Name{
	"BOOLEAN": Boolean, "BOOL": Boolean,
	"TINYINT": TinyInt, "BYTE": TinyInt,
	"SMALLINT": SmallInt, "SHORT": SmallInt,
	"INT": Int, "INTEGER": Int,
	"BIGINT": BigInt, "LONG": BigInt,
	"FLOAT": Float, "REAL": Float,
	"DOUBLE": Double,
	"STRING": String, "TEXT": String,
	"BINARY": Binary, "BYTES": Binary,
	"DATE":      Date,
	"TIMESTAMP": Timestamp, "TIMESTAMP_LTZ": Timestamp,
	"TIMESTAMP_NTZ": TimestampNTZ, "DATETIME": TimestampNTZ,
	"VARIANT": Variant, "JSON": Variant,
	// A column that is always NULL: there is nothing to say of it but that.
	"VOID": String,
}

// typ reads a type.
func (p *parser) typ(depth int) (Type, error) {
	if depth > MaxDepth {
		return Type{}, p.fail(p.at, "types lie in each other deeper than %d", MaxDepth)
	}
	if p.kind != word {
		return Type{}, p.fail(p.at, "a type is expected, found %s", p.shown())
	}
	name, at := strings.ToUpper(p.value), p.at
	p.next()
	if n, ok := simple[name]; ok {
		return Type{Name: n}, nil
	}
	switch name {
	case "DECIMAL", "DEC", "NUMERIC":
		return p.decimal(at)
	case "VARCHAR", "CHAR", "CHARACTER":
		t := Type{Name: Varchar}
		if name != "VARCHAR" {
			t.Name, t.Length = Char, 1
		}
		return p.length(t, at)
	case "ARRAY":
		return p.array(depth)
	case "MAP":
		return p.mapOf(depth)
	case "STRUCT":
		return p.structOf(depth)
	case "INTERVAL":
		return Type{}, p.fail(at, "INTERVAL columns are not supported; read them as STRING")
	}
	return Type{}, p.fail(at, "'%s' is not a type; the types are BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL(p,s), STRING, VARCHAR(n), CHAR(n), BINARY, DATE, "+
		"TIMESTAMP, TIMESTAMP_NTZ, ARRAY<…>, MAP<…,…>, STRUCT<…> and VARIANT", p.text[at:at+len(name)])
}

// expect consumes a symbol.
func (p *parser) expect(s, where string) error {
	if !p.isSymbol(s) {
		return p.fail(p.at, "'%s' is expected %s, found %s", s, where, p.shown())
	}
	p.next()
	return nil
}

// number consumes a whole number within bounds.
func (p *parser) number(what string, least, most int) (int, error) {
	n, err := strconv.Atoi(p.value)
	if p.kind != word || err != nil || n < least || n > most {
		return 0, p.fail(p.at, "%s is a number from %d to %d, found %s", what, least, most, p.shown())
	}
	p.next()
	return n, nil
}

func (p *parser) decimal(at int) (Type, error) {
	t := Type{Name: Decimal, Precision: 10}
	if !p.isSymbol("(") {
		return t, nil
	}
	p.next()
	var err error
	if t.Precision, err = p.number("the precision of a DECIMAL", 1, convert.MaxPrecision); err != nil {
		return t, err
	}
	if p.isSymbol(",") {
		p.next()
		if t.Scale, err = p.number("the scale of a DECIMAL", 0, convert.MaxScale); err != nil {
			return t, err
		}
	}
	if t.Scale > t.Precision {
		return t, p.fail(at, "the scale of a DECIMAL is at most its precision, found DECIMAL(%d,%d)", t.Precision, t.Scale)
	}
	return t, p.expect(")", "behind the parameters of DECIMAL")
}

// length reads the length of a VARCHAR, which must have one, or a CHAR.
func (p *parser) length(t Type, at int) (Type, error) {
	if !p.isSymbol("(") {
		if t.Name == Char {
			return t, nil
		}
		return t, p.fail(at, "VARCHAR needs a length, such as VARCHAR(40); STRING has none")
	}
	p.next()
	var err error
	most := 16383 // what fits a row of MySQL at four bytes a character
	if t.Name == Char {
		most = 255
	}
	if t.Length, err = p.number("the length of a "+t.Name.String(), 1, most); err != nil {
		return t, err
	}
	return t, p.expect(")", "behind the length")
}

func (p *parser) array(depth int) (Type, error) {
	t := Type{Name: Array}
	if err := p.expect("<", "behind ARRAY"); err != nil {
		return t, err
	}
	elem, err := p.typ(depth + 1)
	if err != nil {
		return t, err
	}
	t.Elem = &elem
	return t, p.expect(">", "at the end of ARRAY<…>")
}

func (p *parser) mapOf(depth int) (Type, error) {
	t := Type{Name: Map}
	if err := p.expect("<", "behind MAP"); err != nil {
		return t, err
	}
	key, err := p.typ(depth + 1)
	if err != nil {
		return t, err
	}
	if err := p.expect(",", "between the types of MAP<…,…>"); err != nil {
		return t, err
	}
	elem, err := p.typ(depth + 1)
	if err != nil {
		return t, err
	}
	t.Key, t.Elem = &key, &elem
	return t, p.expect(">", "at the end of MAP<…,…>")
}

func (p *parser) structOf(depth int) (Type, error) {
	t := Type{Name: Struct}
	if err := p.expect("<", "behind STRUCT"); err != nil {
		return t, err
	}
	var err error
	if t.Fields, err = p.columns(depth+1, ">", false); err != nil {
		return t, err
	}
	return t, p.expect(">", "at the end of STRUCT<…>")
}
