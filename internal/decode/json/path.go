package json

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// StepKind says what a Step selects.
type StepKind uint8

const (
	// Name selects the field of an object with exactly that name.
	Name StepKind = iota
	// FoldedName selects the field of an object whose name is equal under Unicode case folding. When an object has the field in
	// several spellings, the value is Ambiguous.
	FoldedName
	// Index selects the element of an array, counted from 0.
	Index
	// Each selects all elements of an array. The values found behind it are gathered into the text of one array.
	Each
)

// Step is one step of a Path.
type Step struct {
	Kind  StepKind
	Name  string
	Index int
}

// Path leads from a JSON value to a part of it. The empty path is the value itself.
type Path []Step

// maxSteps bounds a path. A longer one could find nothing: it would lead deeper than MaxDepth.
const maxSteps = MaxDepth

// PathError says where the text of a path is wrong. Offset is in bytes from the start of the text.
type PathError struct {
	Text   string
	Offset int
	Reason string
}

func (e *PathError) Error() string {
	return fmt.Sprintf("path '%s': %s at position %d", e.Text, e.Reason, e.Offset+1)
}

// ParsePath parses the text behind the colon of value:path.
//
//	first  name, `quoted name` or a bracket
//	then   .name   .`quoted name`   ['name']   ["name"]   [0]   [*]
//
// Bare and back-ticked names match in any case, names in brackets exactly. Inside quotes the quote itself is written twice.
func ParsePath(text string) (Path, error) {
	p := pathParser{text: text, quoted: FoldedName}
	if text == "" {
		return nil, p.fail("a name or '[' is missing")
	}
	if text[0] != '[' {
		if err := p.name(); err != nil {
			return nil, err
		}
	}
	return p.rest()
}

// ParseJSONPath parses the path of get_json_object: $ and then steps as in ParsePath, where a name runs up to the next '.' or '['. All
// names match exactly.
func ParseJSONPath(text string) (Path, error) {
	p := pathParser{text: text, dollar: true}
	if !strings.HasPrefix(text, "$") {
		return nil, p.fail("'$' is missing")
	}
	p.pos = 1
	return p.rest()
}

// Exact returns p with names that match exactly, as paths into values of type JSON do.
func (p Path) Exact() Path {
	out := make(Path, len(p))
	for i, s := range p {
		if s.Kind == FoldedName {
			s.Kind = Name
		}
		out[i] = s
	}
	return out
}

// HasEach reports whether p has a step [*].
func (p Path) HasEach() bool {
	for _, s := range p {
		if s.Kind == Each {
			return true
		}
	}
	return false
}

// String gives a text that ParsePath turns into p again, except that the empty path, which has none, is $.
func (p Path) String() string {
	if len(p) == 0 {
		return "$"
	}
	var b strings.Builder
	for i, s := range p {
		switch s.Kind {
		case Name:
			b.WriteString("['" + strings.ReplaceAll(s.Name, "'", "''") + "']")
		case FoldedName:
			if i > 0 {
				b.WriteByte('.')
			}
			if isBare(s.Name) {
				b.WriteString(s.Name)
			} else {
				b.WriteString("`" + strings.ReplaceAll(s.Name, "`", "``") + "`")
			}
		case Index:
			b.WriteString("[" + strconv.Itoa(s.Index) + "]")
		case Each:
			b.WriteString("[*]")
		}
	}
	return b.String()
}

type pathParser struct {
	text string
	pos  int
	out  Path
	// dollar: the grammar of get_json_object. quoted is the kind of bare and back-ticked names.
	dollar bool
	quoted StepKind
}

func (p *pathParser) fail(reason string) error {
	return &PathError{Text: p.text, Offset: p.pos, Reason: reason}
}

func (p *pathParser) rest() (Path, error) {
	for p.pos < len(p.text) {
		if len(p.out) >= maxSteps {
			return nil, p.fail(fmt.Sprintf("more than %d steps", maxSteps))
		}
		var err error
		switch p.text[p.pos] {
		case '.':
			p.pos++
			err = p.name()
		case '[':
			p.pos++
			err = p.bracket()
		default:
			err = p.fail("'.' or '[' is expected")
		}
		if err != nil {
			return nil, err
		}
	}
	if !utf8.ValidString(p.text) {
		p.pos = 0
		return nil, p.fail("not valid UTF-8")
	}
	return p.out, nil
}

// name parses a bare or back-ticked name.
func (p *pathParser) name() error {
	if p.pos < len(p.text) && p.text[p.pos] == '`' {
		name, err := p.quotedText('`')
		if err != nil {
			return err
		}
		p.out = append(p.out, Step{Kind: p.quoted, Name: name})
		return nil
	}
	end := p.pos
	for end < len(p.text) && (p.dollar && p.text[end] != '.' && p.text[end] != '[' || !p.dollar && isNameByte(p.text[end])) {
		end++
	}
	if end == p.pos {
		return p.fail("a name is missing")
	}
	p.out = append(p.out, Step{Kind: p.quoted, Name: p.text[p.pos:end]})
	p.pos = end
	return nil
}

// bracket parses what follows '['.
func (p *pathParser) bracket() error {
	p.blanks()
	if p.pos == len(p.text) {
		return p.fail("']' is missing")
	}
	var step Step
	switch c := p.text[p.pos]; {
	case c == '*':
		p.pos++
		step.Kind = Each
	case c == '\'' || c == '"':
		name, err := p.quotedText(c)
		if err != nil {
			return err
		}
		step.Name = name
	case c >= '0' && c <= '9':
		end := p.pos
		for end < len(p.text) && p.text[end] >= '0' && p.text[end] <= '9' {
			end++
		}
		n, err := strconv.ParseInt(p.text[p.pos:end], 10, 32)
		if err != nil {
			return p.fail("the index is too large")
		}
		p.pos = end
		step.Kind, step.Index = Index, int(n)
	default:
		return p.fail("an index, '*' or a name in quotes is expected")
	}
	p.blanks()
	if p.pos == len(p.text) || p.text[p.pos] != ']' {
		return p.fail("']' is missing")
	}
	p.pos++
	p.out = append(p.out, step)
	return nil
}

func (p *pathParser) blanks() {
	for p.pos < len(p.text) && p.text[p.pos] == ' ' {
		p.pos++
	}
}

// quotedText parses a text in quotes, the quote being at p.pos.
func (p *pathParser) quotedText(quote byte) (string, error) {
	var b strings.Builder
	for i := p.pos + 1; i < len(p.text); i++ {
		c := p.text[i]
		if c == quote {
			if i+1 == len(p.text) || p.text[i+1] != quote {
				p.pos = i + 1
				return b.String(), nil
			}
			i++
		}
		b.WriteByte(c)
	}
	return "", p.fail("the closing quote is missing")
}

func isNameByte(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= utf8.RuneSelf
}

func isBare(s string) bool {
	for i := range len(s) {
		if !isNameByte(s[i]) {
			return false
		}
	}
	return s != ""
}
