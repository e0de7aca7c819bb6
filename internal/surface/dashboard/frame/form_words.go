package frame

import (
	"strings"
	"sync"

	"github.com/allswell/allswell/internal/alertchannel"
	"github.com/allswell/allswell/internal/check"
	"github.com/allswell/allswell/internal/domain/kernel"
)

// typeLabels are the labels of the fields of checks and channels by name.
var typeLabels = sync.OnceValue(func() map[string]string {
	labels := make(map[string]string)
	for _, t := range alertchannel.Types {
		for _, f := range t.Fields {
			labels[f.Name] = f.Label
		}
	}
	for _, t := range check.Types {
		for _, f := range t.Fields {
			labels[f.Name] = f.Label
		}
	}
	return labels
})

// word returns the label of a field in quotation marks, or the name of a field without a label as a word.
func (f *Form) word(key string) string {
	for _, labels := range []map[string]string{f.labels, typeLabels()} {
		if label := labels[key]; label != "" {
			return "“" + label + "”"
		}
	}
	if ids, ok := strings.CutSuffix(key, "_ids"); ok {
		key = ids + "s"
	}
	return strings.ReplaceAll(strings.TrimSuffix(key, "_id"), "_", " ")
}

// say returns the text of a problem in the form. beside means that the text is beside its field, so it need not repeat
// the label.
func (f *Form) say(p kernel.Problem, beside bool) string {
	if p.Code == "The %s "+kernel.Required+"." {
		return "This field is required."
	}
	if sentence := f.Sentences[p.Code]; sentence != "" {
		return sentence
	}
	text := p.Text(f.word)
	if !p.IsPredicate() {
		return text
	}
	subject := "This"
	if !beside {
		subject = f.word(p.Key())
		if !strings.HasPrefix(subject, "“") || strings.HasPrefix(text, "field ") {
			subject = "The " + subject
		}
	}
	return subject + " " + text + "."
}

// ErrorsOf returns the errors of an API field, and marks them as shown. label is the label of the field beside which
// they are shown; "": none.
func (f *Form) ErrorsOf(name, label string) (messages []string) {
	f.Drawn[name] = true
	if f.Invalid != nil {
		for _, p := range f.Invalid.Of(name) {
			messages = append(messages, f.say(p, label != ""))
		}
	}
	return messages
}

// Others returns the errors of fields that the template does not draw, ordered by the names of the fields.
func (f *Form) Others() (messages []string) {
	if f.Invalid == nil {
		return nil
	}
	for _, p := range f.Invalid.Sorted() {
		if !f.Drawn[p.Field] {
			messages = append(messages, f.say(p, false))
		}
	}
	return messages
}
