package demo

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// maxCell is the widest a cell is shown; longer text is cut with an ellipsis.
const maxCell = 70

// writeTable draws a result as the mysql client does. Columns whose cells are all numbers are aligned right; a cell with line breaks, such as a
// plan, is drawn as it is.
func writeTable(out io.Writer, head []string, cells [][]string) {
	if len(head) == 1 && isText(cells) {
		for _, row := range cells {
			fmt.Fprintln(out, row[0])
		}
		return
	}
	width, right := make([]int, len(head)), make([]bool, len(head))
	for c, h := range head {
		width[c], right[c] = utf8.RuneCountInString(h), len(cells) > 0
		for _, row := range cells {
			row[c] = clip(row[c])
			width[c] = max(width[c], utf8.RuneCountInString(row[c]))
			right[c] = right[c] && isNumber(row[c])
		}
	}
	line := "+"
	for _, w := range width {
		line += strings.Repeat("-", w+2) + "+"
	}
	row := func(r []string, align []bool) {
		var b strings.Builder
		b.WriteByte('|')
		for c, v := range r {
			pad := strings.Repeat(" ", width[c]-utf8.RuneCountInString(v))
			if align != nil && align[c] {
				b.WriteString(" " + pad + v + " |")
			} else {
				b.WriteString(" " + v + pad + " |")
			}
		}
		fmt.Fprintln(out, b.String())
	}
	fmt.Fprintln(out, line)
	row(head, nil)
	fmt.Fprintln(out, line)
	for _, r := range cells {
		row(r, right)
	}
	if len(cells) > 0 {
		fmt.Fprintln(out, line)
	}
}

// isText reports whether the only column holds lines of a plan rather than values.
func isText(cells [][]string) bool {
	for _, r := range cells {
		if strings.ContainsAny(r[0], "\n└├│") {
			return true
		}
	}
	return false
}

func isNumber(s string) bool {
	if s == "NULL" {
		return true
	}
	return s != "" && strings.Trim(s, "0123456789.-") == ""
}

func clip(s string) string {
	s = strings.NewReplacer("\n", "⏎", "\t", " ").Replace(s)
	if utf8.RuneCountInString(s) <= maxCell {
		return s
	}
	return string([]rune(s)[:maxCell-1]) + "…"
}
