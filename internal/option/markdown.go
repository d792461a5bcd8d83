package option

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// WriteMarkdown writes the table as the docs show it, in the order of declaration. With modes it has a column that says what works in a
// bounded read and in a STREAM.
func (t *Table) WriteMarkdown(w io.Writer, modes bool) error {
	var b strings.Builder
	head := []string{t.Noun, "type", "default", "meaning", "example"}
	if modes {
		head = slices.Insert(head, 3, "batch", "STREAM")
	}
	row(&b, head)
	row(&b, slices.Repeat([]string{"---"}, len(head)))
	for _, o := range t.options {
		cells := []string{o.nameCell(), o.typeCell(), o.defaultCell(), o.Doc, code(o.Example)}
		if modes {
			cells = slices.Insert(cells, 3, o.Batch.word(), o.Stream.word())
		} else if o.Batch != Supported {
			cells[3] = capital(o.Batch.word()) + ". " + o.Doc
		}
		if o.Reason != "" {
			last := len(cells) - 2
			cells[last] = strings.TrimSpace(cells[last] + " " + capital(o.Reason) + ".")
		}
		row(&b, cells)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (o *Option) nameCell() string {
	cell := code(o.Name)
	if others := o.Names()[1:]; len(others) > 0 {
		for i, n := range others {
			others[i] = code(n)
		}
		cell += " (" + strings.Join(others, ", ") + ")"
	}
	return cell
}

func (o *Option) typeCell() string {
	switch {
	case o.Type == Enum:
		words := make([]string, len(o.Words))
		for i, w := range o.Words {
			words[i] = code(w)
		}
		return strings.Join(words, ", ")
	case (o.Type == Int || o.Type == Long) && o.Max != 0:
		return fmt.Sprintf("%s %d..%d", o.Type, o.Min, o.Max)
	case (o.Type == Int || o.Type == Long) && o.Min == 1:
		return o.Type.String() + " > 0"
	}
	if o.Secret {
		return o.Type.String() + ", secret"
	}
	return o.Type.String()
}

func (o *Option) defaultCell() string {
	switch {
	case o.Required:
		return "required"
	case o.DefaultNote != "":
		return o.DefaultNote
	}
	return code(o.Default)
}

func (s Support) word() string {
	return [...]string{"yes", "ignored with a warning", "not supported yet", "refused"}[s]
}

func code(s string) string {
	switch {
	case s == "":
		return ""
	case strings.Contains(s, "`"):
		return "`` " + s + " ``"
	}
	return "`" + s + "`"
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func row(b *strings.Builder, cells []string) {
	b.WriteByte('|')
	for _, c := range cells {
		b.WriteByte(' ')
		b.WriteString(strings.ReplaceAll(c, "|", `\|`))
		b.WriteString(" |")
	}
	b.WriteByte('\n')
}
