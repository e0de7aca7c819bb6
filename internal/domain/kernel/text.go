package kernel

import "strings"

// LineEnds replaces the line ends of other systems.
var LineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// CodeBlock returns text as a code block in Markdown, in which no character is markup.
func CodeBlock(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + "\n" + fence
}
