package markdown

import (
	"fmt"
	"strings"
	"testing"

	"github.com/yuin/goldmark/parser"
	gmtext "github.com/yuin/goldmark/text"
	"pgregory.net/rapid"
)

// fragments are the parts of hostile texts.
var fragments = []string{
	"[", "]", "(", ")", "![", "](", "](b", "](<", "](b '", "*", "**", "_", "~~", "`", "``", "<", ">", "<a@b>", "\\",
	"\\```", "&", "\"",
	"a", " ", "\n", "\n\n", "> ", "- ", "1. ", "#", "http://", "www.", "a@b.c", ":", "/", ".", "\t", "    ", "```\n",
	"~~~\n", "  \n", "é", "中",
}

// long repeats a text up to maxChars.
func long(unit string) string { return strings.Repeat(unit, maxChars/len([]rune(unit))) }

// workOf returns the work of parsing a text.
func workOf(typed string) int {
	pc := parser.NewContext()
	markdown.Parse(gmtext.NewReader(clean(typed)), parser.WithContext(pc))
	done, _ := pc.Get(work).(int)
	return done
}

// mostWork is the maximum work of a text: maxWork and one more attempt.
const mostWork = maxWork + 4*urlByte*maxChars

func TestWorkIsBounded(t *testing.T) {
	t.Parallel()
	reached := 0
	for _, a := range fragments {
		for _, b := range append(fragments, "") {
			done := workOf(long(a + b))
			if done > mostWork {
				t.Errorf("work of %q repeated: %d", a+b, done)
			}
			if done >= maxWork {
				reached++
			}
		}
	}
	if reached < 50 {
		t.Errorf("only %d texts reach maxWork", reached)
	}
}

func TestWorkOfAnyTextIsBounded(t *testing.T) {
	unit := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(fragments), 1, 5).Draw(t, "unit"), "")
	})
	rapid.Check(t, func(t *rapid.T) {
		first, second := long(unit.Draw(t, "first")), long(unit.Draw(t, "second"))
		if done := workOf(first[:len(first)/2] + second[len(second)/2:]); done > mostWork {
			t.Errorf("work of a mixed text: %d", done)
		}
	})
}

// TestWorkOfOrdinaryTexts checks that ordinary messages stay far below maxWork.
func TestWorkOfOrdinaryTexts(t *testing.T) {
	paragraph := "We **restarted** the `api` servers at 10:00 ([graph](https://example.com/graph?x=1)), see " +
		"https://status.example/a_b " +
		"or write to ops@example.com. It's *probably* the cache, <not> the database [1]; the error was `E_TIMEOUT` " +
		"on 2 of 3 nodes.\n\n" +
		"- one item with snake_case_words\n- and another\n\n"
	if done := workOf(long(paragraph)); done >= maxWork {
		t.Errorf("work of an ordinary text: %d of %d", done, maxWork)
	}
	got := string(HTML(long(paragraph)[:20_000] + "\n\nThe *end*."))
	if !strings.HasSuffix(got, "<p>The <em>end</em>.</p>") {
		t.Errorf("the end has no emphasis: %q", got[len(got)-80:])
	}
}

func TestTextOfManyLines(t *testing.T) {
	few, many := strings.Repeat("*a*\n", maxLines-1), strings.Repeat("*a*\n", maxLines)
	if got := string(HTML(few)); !strings.Contains(got, "<em>") {
		t.Error("a text of few lines is shown as it was typed")
	}
	if got := string(HTML(many)); strings.Contains(got, "<em>") {
		t.Error("a text of too many lines is not shown as it was typed")
	}
}

// BenchmarkWorst renders the slowest known texts.
func BenchmarkWorst(b *testing.B) {
	for _, unit := range []string{
		"[a](b", "é``", "`)", "`[", "`a", "~~[", "*[", "([", "\\```\n", "_www.", "a\n\n", "<a@b>", "www.a.b ", "> ",
		"- ",
	} {
		text := long(unit)
		b.Run(fmt.Sprintf("%q", unit), func(b *testing.B) {
			for b.Loop() {
				HTML(text)
			}
		})
	}
}
