package alert

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// TestTemplates checks what templates make of a message.
func TestTemplates(t *testing.T) {
	for template, want := range map[string]string{
		`[{{.Severity}}] {{.Title}}`: "[critical] 2 monitors are down",
		`{{.Count}} on {{.Channel}}{{if .More}}, {{.More}} more{{end}}: {{.Phase}}`:                          "2 on Ops: trigger",
		`{{range $i, $a := .Alerts}}{{if $i}}; {{end}}{{.Name}} ({{.State}}): {{.Reason}}{{end}}`:            "Nightly backup (open): connection refused; Shop (open): connection refused",
		`{{with index .Alerts 0}}{{join .Tags ", "}} since {{.OpenedAt}}, {{.Lasted}}{{.ResolvedAt}}{{end}}`: "prod since 2026-11-24 02:20:00 UTC, 10 minutes",

		`{{range .Alerts}}{{range .Tags}}{{.}}{{end}}{{end}}`: "prodprod",

		"{{.Text}}\n{{.AcknowledgeURL}}": "Nightly backup is down: connection refused\nShop is down: connection refused\nhttps://status.example.com" + LinkPath,
	} {
		c := Channel{Name: "Ops", Templates: Templates{TextTemplate: template}}
		if w, err := c.Words(exampleMessage()); err != nil || w.Text != want || w.Title != "" {
			t.Errorf("text of the template %s:\n%q, want\n%q; %v", template, w.Text, want, err)
		}
	}
	m := exampleMessage()
	m.Words, _ = Channel{Templates: Templates{TitleTemplate: "a\n b", TextTemplate: "one\ntwo"}}.Words(m)
	if text := m.WithoutLinks().Text(100); text != "a b\none\ntwo" {
		t.Errorf("Text with words of templates = %q", text)
	}
	long, _ := Channel{
		Templates: Templates{TitleTemplate: `{{range .Alerts}}` + strings.Repeat("é", 200) + `{{end}}`},
	}.Words(m)
	if utf8.RuneCountInString(long.Title) != maxMadeTitle || !strings.HasSuffix(long.Title, "…") {
		t.Errorf("long title has %d characters: %q", utf8.RuneCountInString(long.Title), long.Title)
	}
}

// TestInvalidTemplates checks that what cannot work is refused when it is saved, and so is what could run for long.
func TestInvalidTemplates(t *testing.T) {
	for template, want := range map[string]string{
		`{{`: "The title_template is not valid: line 1: unclosed action.",
		"\n{{.Tilte}}": "The title_template is not valid: line 2: <.Tilte>: can't evaluate field Tilte of " +
			"a message.",
		`{{date .Title}}`:        `The title_template is not valid: line 1: function "date" not defined.`,
		`{{printf "%d" 1}}`:      "The title_template is not valid: the function printf may not be used.",
		`{{print .Title | len}}`: "The title_template is not valid: the function print may not be used.",
		`{{define "x"}}{{template "x"}}{{end}}{{template "x"}}`: "The title_template is not valid: it may not define " +
			"or use other templates.",
		`{{define "x"}}a{{end}}`: "The title_template is not valid: it may not define or " +
			"use other templates.",
		`{{range 1000000000}}a{{end}}`: "The title_template is not valid: range may only go " +
			"over .Alerts and .Tags, each once within the other.",
		`{{$n := 1000000000}}{{range $n}}a{{end}}`: "The title_template is not valid: range may only go " +
			"over .Alerts and .Tags, each once within the other.",
		`{{range .Alerts}}{{range $.Alerts}}a{{end}}{{end}}`: "The title_template is not valid: range may only go " +
			"over .Alerts and .Tags, each once within the other.",
		`{{with (index .Alerts 5)}}{{.Name}}{{end}}`: "The title_template is not valid: line 1: <index .Alerts " +
			"5>: error calling index: ",
		`{{if false}}a{{end}} `:                         "The title_template makes an empty text.",
		`{{join (index .Alerts 0).Tags "12345678901"}}`: "the separator of join may have at most 10 characters",
	} {
		var bad kernel.ValidationError
		CheckTemplate(&bad, "title_template", template)
		if got := bad.Messages()["title_template"]; len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("problems of the template %s: %q, want %s", template, got, want)
		}
	}
	// What works for the example may fail later: the default is used, and the other template.
	c := Channel{Templates: Templates{TitleTemplate: `{{(index .Alerts 1).Name}}`, TextTemplate: "{{.Count}}"}}
	var bad kernel.ValidationError
	if CheckTemplate(&bad, "title_template", c.TitleTemplate); bad.Err() != nil {
		t.Fatalf("CheckTemplate refuses a valid template: %v", bad.Err())
	}
	m := exampleMessage()
	m.Items = m.Items[:1]
	if w, err := c.Words(m); err == nil || w.Title != "" || w.Text != "1" {
		t.Errorf("Words with a title that fails = %+v, %v", w, err)
	}
}

// FuzzTemplates checks that templates end with a text within its limits, or with an error.
func FuzzTemplates(f *testing.F) {
	for _, seed := range []string{
		`{{range .Alerts}}{{range .Tags}}{{join $.Alerts "a"}}{{end}}{{else}}{{.}}{{end}}`,
		`{{$x := .Title}}{{range .Alerts}}{{$x = join .Tags $x}}{{end}}{{$x}}`,
		`{{with $x := .Count}}{{if and $x (lt $x 5)}}{{break}}{{end}}{{end}}`,
		`{{range $k, $v := .Alerts}}{{continue}}{{end}}`, "{{/* a */}}\xff",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m := exampleMessage()
		for range 20 {
			m.Items = append(m.Items, m.Items[0])
		}
		made, err := render("text_template", text, newTemplateMessage("Ops", m), maxMadeText)
		if utf8.RuneCountInString(made) > maxMadeText || !utf8.ValidString(made) || err != nil && made != "" {
			t.Errorf("%q makes %q, %v", text, made, err)
		}
	})
}

// TestTemplateOfTheDocumentation checks what the template in docs/alert-templates.md makes of alerts that are open, and
// of their end.
func TestTemplateOfTheDocumentation(t *testing.T) {
	page, err := os.ReadFile("../../../docs/alert-templates.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "--text-template '")
	template, _, found := strings.Cut(rest, "'\n")
	if !found {
		t.Fatal("there is no template")
	}
	c, m := Channel{Name: "Ops", Templates: Templates{TextTemplate: template}}, exampleMessage()
	w, err := c.Words(m)
	if err != nil || w.Text != "Nightly backup: connection refused (prod)\nShop: connection refused (prod)" {
		t.Errorf("open: %q, %v", w.Text, err)
	}
	m.Items, m.Thread.Open = m.Items[1:], 0
	m.Items[0].Kinds, m.Items[0].ResolvedAt = []NoticeKind{NoticeResolved}, m.At
	if w, err := c.Words(m); err != nil || w.Text != "Shop is up again after 10 minutes" {
		t.Errorf("over: %q, %v", w.Text, err)
	}
}
