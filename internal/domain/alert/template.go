package alert

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
	"time"
	"unicode/utf8"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// Limits of templates. Longer results are cut. A template has no recursion, and loops only over lists of the message,
// so that it ends soon.
const (
	MaxTitleTemplate = 500  // characters
	MaxTextTemplate  = 4000 // characters
	maxMadeTitle     = 250  // characters of what a title_template makes
	maxMadeText      = 4000 // characters of what a text_template makes
	maxSeparator     = 10   // characters between the elements of a list
)

// Words are the results of a channel's templates for a message; "": the default.
type Words struct{ Title, Text string }

// TemplateMessage is the data of templates: a message. docs/alert-templates.md describes its fields.
type TemplateMessage struct {
	Title, Text, Phase, Severity, Channel string
	Count, More                           int
	Alerts                                []TemplateAlert // the first MaxLines
	AcknowledgeURL, DetailsURL            string
}

// TemplateAlert is an alert in the data of templates.
type TemplateAlert struct {
	Title, Name, Event, State, Severity, Reason, Page, Monitor, AcknowledgedBy string
	Tags                                                                       []string
	OpenedAt, ResolvedAt, Lasted                                               string
}

// templateFunctions are the functions that templates may call besides those in templateBuiltins. None may make its
// argument grow without a limit: assigned again and again, it would fill the memory.
var templateFunctions = template.FuncMap{
	"join": func(list []string, separator string) (string, error) {
		if utf8.RuneCountInString(separator) > maxSeparator {
			return "", fmt.Errorf("the separator of join may have at most %d characters", maxSeparator)
		}
		return strings.Join(list, separator), nil
	},
}

var templateBuiltins = []string{"and", "or", "not", "eq", "ne", "lt", "le", "gt", "ge", "len", "index"}

// Words returns the results of the channel's templates for a message. If a template fails, err says why, and its field
// of w is "".
func (c Channel) Words(m Message) (w Words, err error) {
	data := newTemplateMessage(c.Name, m)
	title, err := render("title_template", c.TitleTemplate, data, maxMadeTitle)
	w.Title = strings.Join(strings.Fields(title), " ")
	text, bad := render("text_template", c.TextTemplate, data, maxMadeText)
	w.Text = text
	return w, errors.Join(err, bad)
}

func newTemplateMessage(channel string, m Message) TemplateMessage {
	lines, more := m.Lines()
	data := TemplateMessage{
		Title: m.Headline(), Text: strings.Join(lines, "\n"), Phase: string(m.Phase()), Severity: string(m.Severity()),
		Channel: channel, Count: len(m.Items), More: more, AcknowledgeURL: m.Links.Acknowledge,
		DetailsURL: m.Details(),
	}
	for _, i := range m.Items[:min(len(m.Items), MaxLines)] {
		a := TemplateAlert{
			Title: i.Title(m.At), Name: i.Name, Event: string(i.Event), State: string(i.State()),
			Severity: string(i.Severity), Reason: i.Reason, Page: i.PageSlug, Monitor: i.MonitorSlug,
			AcknowledgedBy: i.AcknowledgedBy, Tags: i.Tags, OpenedAt: templateTime(i.OpenedAt),
			Lasted: words(m.At.Sub(i.OpenedAt)),
		}
		if !i.ResolvedAt.IsZero() {
			a.ResolvedAt, a.Lasted = templateTime(i.ResolvedAt), words(i.ResolvedAt.Sub(i.OpenedAt))
		}
		data.Alerts = append(data.Alerts, a)
	}
	return data
}

func templateTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// render returns the result of a template for a message, cut to limit characters; "" if the template is "" or fails.
func render(name, text string, data TemplateMessage, limit int) (string, error) {
	if text == "" {
		return "", nil
	}
	t, err := parseTemplate(name, text)
	if err != nil {
		return "", err
	}
	out := limitedText{limit: utf8.UTFMax * (limit + 1)}
	if err := t.Execute(&out, data); err != nil && !errors.Is(err, errFull) {
		return "", templateError(name, err)
	}
	made := Shorten(strings.TrimSpace(strings.ToValidUTF8(out.String(), "")), limit)
	if made == "" {
		return "", fmt.Errorf("the %s makes an empty text", name)
	}
	return made, nil
}

// parseTemplate parses a template, and checks that it ends soon for all data.
func parseTemplate(name, text string) (*template.Template, error) {
	t, err := template.New(name).Funcs(templateFunctions).Parse(text)
	if err != nil {
		return nil, templateError(name, err)
	}
	if len(t.Templates()) > 1 || t.Tree == nil || t.Root == nil {
		return nil, fmt.Errorf("the %s is not valid: it may not define or use other templates", name)
	}
	if err := checkNode(t.Root, nil); err != nil {
		return nil, fmt.Errorf("the %s is not valid: %w", name, err)
	}
	return t, nil
}

// checkNode returns the reason why a template may not contain a node, or nil. loops are the lists of the loops around
// it.
func checkNode(node parse.Node, loops []string) error {
	switch n := node.(type) {
	case *parse.ListNode:
		if n == nil {
			return nil
		}
		return checkNodes(n.Nodes, loops)
	case *parse.ActionNode:
		return checkNode(n.Pipe, loops)
	case *parse.IfNode:
		return checkBranch(n.BranchNode, loops)
	case *parse.WithNode:
		return checkBranch(n.BranchNode, loops)
	case *parse.RangeNode:
		list := loopList(n.Pipe)
		if list != "Alerts" && list != "Tags" || slices.Contains(loops, list) {
			return errors.New("range may only go over .Alerts and .Tags, each once within the other")
		}
		return checkBranch(n.BranchNode, append(slices.Clip(loops), list))
	case *parse.PipeNode:
		for _, c := range n.Cmds {
			if err := checkNodes(c.Args, loops); err != nil {
				return err
			}
		}
	case *parse.ChainNode:
		return checkNode(n.Node, loops)
	case *parse.IdentifierNode:
		if _, own := templateFunctions[n.Ident]; !own && !slices.Contains(templateBuiltins, n.Ident) {
			return fmt.Errorf("the function %s may not be used", n.Ident)
		}
	case *parse.TemplateNode:
		return errors.New("it may not define or use other templates")
	}
	return nil
}

func checkNodes(nodes []parse.Node, loops []string) error {
	for _, n := range nodes {
		if err := checkNode(n, loops); err != nil {
			return err
		}
	}
	return nil
}

func checkBranch(n parse.BranchNode, loops []string) error {
	return errors.Join(checkNode(n.Pipe, loops), checkNode(n.List, loops), checkNode(n.ElseList, loops))
}

// loopList returns the field over which a loop goes; "": it goes over something else, such as a number.
func loopList(p *parse.PipeNode) string {
	if len(p.Cmds) != 1 || len(p.Cmds[0].Args) != 1 {
		return ""
	}
	switch n := p.Cmds[0].Args[0].(type) {
	case *parse.FieldNode:
		return n.Ident[len(n.Ident)-1]
	case *parse.VariableNode:
		if len(n.Ident) > 1 {
			return n.Ident[len(n.Ident)-1]
		}
	}
	return ""
}

// errFull ends a template whose result has reached the limit.
var errFull = errors.New("the text is long enough")

// limitedText keeps the first limit bytes that are written to it.
type limitedText struct {
	strings.Builder
	limit int // bytes
}

func (l *limitedText) Write(p []byte) (int, error) {
	if l.Len()+len(p) > l.limit {
		l.Builder.Write(p[:l.limit-l.Len()])
		return 0, errFull
	}
	return l.Builder.Write(p)
}

var templatePlace = regexp.MustCompile(`^template: [a-z_]+:(\d+)(?::\d+)?: (?:executing "[a-z_]+" at )?`)

// templateError returns an error of package text/template without the names of types in this package.
func templateError(name string, err error) error {
	text := templatePlace.ReplaceAllString(err.Error(), "line $1: ")
	text = strings.NewReplacer(" in type alert.TemplateMessage", " of a message", " in type alert.TemplateAlert",
		" of an alert").Replace(text)
	return fmt.Errorf("the %s is not valid: %s", name, Shorten(text, 200))
}

// CheckTemplate adds an error to bad if a template is not valid, or fails for an example. Other checks limit its
// length.
func CheckTemplate(bad *kernel.ValidationError, name, text string) {
	if text == "" || bad.Has(name) {
		return
	}
	if _, err := render(name, text, newTemplateMessage("Ops", exampleMessage()), maxMadeText); err != nil {
		bad.AddText(name, strings.TrimSuffix(strings.TrimPrefix(err.Error(), "the "+name+" "), "."))
	}
}

// exampleMessage returns a message of two alerts.
func exampleMessage() Message {
	now := time.Date(2026, 11, 24, 2, 30, 0, 0, time.UTC)
	m := Message{
		ID: "msg_068vq2r4b1ccu5a0d3e1", At: now, Thread: &Thread{ID: "thr_068vq2r4b1ccu5a0d3e1", Open: 1},
		Links: Links{
			Alerts: "https://status.example.com/admin/alerts", Acknowledge: "https://status.example.com" + LinkPath,
		},
	}
	for _, name := range []string{"Nightly backup", "Shop"} {
		m.Items = append(m.Items, Item{
			Kinds: []NoticeKind{NoticeOpened},
			Alert: Alert{ID: "alt_068vq2r4b1ccu5a0d3e1", OpenedAt: now.Add(-10 * time.Minute), Subject: Subject{
				Event: MonitorDown, Name: name, Severity: kernel.ImpactCritical, Reason: "connection refused",
				PageSlug: "acme", MonitorSlug: "shop", Tags: []string{"prod"},
			}},
		})
	}
	return m
}
