package tenantctl

import (
	"fmt"
	"io"
	"strings"
)

// description is a sentence and, below it, named lines.
type description struct {
	title string
	lines [][2]string
}

func newDescription(format string, args ...any) *description {
	return &description{title: fmt.Sprintf(format, args...)}
}

// add adds a line; one without text is left out.
func (d *description) add(name, format string, args ...any) {
	if text := fmt.Sprintf(format, args...); text != "" {
		d.lines = append(d.lines, [2]string{name, text})
	}
}

// textWidth is where long texts of a description are broken, in characters.
const textWidth = 100

// wrap breaks a text at spaces. A text that ends with a command is one line, so that the command can be copied.
func wrap(text string, width int) []string {
	if strings.Contains(text, "tenantctl ") {
		return []string{text}
	}
	var lines []string
	line := ""
	for _, word := range strings.Split(text, " ") {
		if line != "" && len([]rune(line))+1+len([]rune(word)) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// list adds a line for each text, with the name before the first.
func (d *description) list(name string, texts []string) {
	for _, text := range texts {
		d.add(name, "%s", text)
		name = ""
	}
}

func (d *description) write(w io.Writer) error {
	width := 0
	for _, l := range d.lines {
		width = max(width, len([]rune(l[0])))
	}
	var b strings.Builder
	b.WriteString(d.title + "\n")
	for _, l := range d.lines {
		name := l[0]
		for _, text := range wrap(l[1], textWidth) {
			b.WriteString("  " + name + strings.Repeat(" ", width-len([]rune(name))) + "  " + text + "\n")
			name = ""
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
