package alert

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// Notice is a change of an alert that a channel is to be notified of.
type Notice struct {
	ID        string
	AlertID   string
	ChannelID string
	ThreadID  string // the thread in which the channel was first notified of the alert; "": not notified yet
	Kind      NoticeKind
	CreatedAt time.Time
}

// threadsApart is the number of threads up to which the waiting notices are sent as one message per thread. Notices for
// more threads are sent as one message together.
const threadsApart = 3

// Compose chooses the notices for the next message of a channel from the notices that wait for it, sorted by time. If
// own is true, the message belongs to the thread threadID, or to a new thread if threadID is "". If own is false, the
// message belongs to no thread. follows reports whether the service keeps an object for each thread, which must be
// closed: then threads are never combined.
func Compose(waiting []Notice, follows bool) (chosen []Notice, threadID string, own bool) {
	if slices.ContainsFunc(waiting, Notice.isNew) {
		return only(waiting, ""), "", true
	}
	var threads []string
	for _, n := range waiting {
		if !slices.Contains(threads, n.ThreadID) {
			threads = append(threads, n.ThreadID)
		}
		if len(threads) > threadsApart && !follows {
			return waiting, "", false
		}
	}
	if len(threads) == 0 {
		return nil, "", false
	}
	return only(waiting, threads[0]), threads[0], true
}

func (n Notice) isNew() bool { return n.ThreadID == "" }

// only returns the notices of a thread.
func only(waiting []Notice, threadID string) (chosen []Notice) {
	for _, n := range waiting {
		if n.ThreadID == threadID {
			chosen = append(chosen, n)
		}
	}
	return chosen
}

// Thread is a conversation on a channel about the alerts in its first message.
type Thread struct {
	ID        string
	Key       string  // the secret part of the address at which its alerts can be acknowledged
	Reference string  // what the service calls the first message; "": nothing, or it was not sent yet
	First     bool    // the message begins the thread
	Open      int     // how many of its alerts are open
	Known     int     // how many of its alerts are acknowledged, but not resolved
	Alerts    []Alert // all alerts of the thread; empty if First is true
	Words     Words   // from the templates of the channel, for Message.Current
}

// Item is an alert in a message.
type Item struct {
	Alert
	Kinds []NoticeKind // of the notices about it, in order
}

// Message is what is sent to a channel in one go.
type Message struct {
	ID        string // the same for all attempts
	ChannelID string
	Thread    *Thread // nil: the message belongs to no thread
	Items     []Item  // at least one; see NewMessage for their order
	At        time.Time
	Links     Links
	Words     Words  // from the templates of the channel; empty fields: the default
	TestLine  string // who sent this message to test the channel; "": it is not a test
}

// Links are addresses of the dashboard and of the page that acknowledges; "" if the service does not know its own
// address.
type Links struct {
	Alerts      string // the list of all alerts, below which each has its screen
	Acknowledge string
}

// Path is the path of the list of alerts. The screen of an alert is below it, by its id.
const Path = "/admin/alerts"

// LinkPath is the path of the screen that acknowledges the alerts of a thread. Its query has the thread's Key.
const LinkPath = "/admin/alert-link"

// SlackPath is the path to which Slack reports that somebody pressed a button of a message.
const SlackPath = "/admin/slack"

// MaxLines is how many alerts a message lists.
const MaxLines = 20

// NewItems returns the items of a message: each alert once, the worst first, then by name.
func NewItems(notices []Notice, alerts map[string]Alert) (items []Item) {
	index := make(map[string]int)
	for _, n := range notices {
		a, ok := alerts[n.AlertID]
		if !ok {
			continue // deleted
		}
		i, seen := index[n.AlertID]
		if !seen {
			i = len(items)
			index[n.AlertID] = i
			items = append(items, Item{Alert: a})
		}
		if !slices.Contains(items[i].Kinds, n.Kind) {
			items[i].Kinds = append(items[i].Kinds, n.Kind)
		}
	}
	slices.SortStableFunc(items, func(a, b Item) int {
		if a.over() != b.over() {
			return cmp.Compare(boolInt(a.over()), boolInt(b.over()))
		}
		return cmp.Or(severityRank(b.Severity)-severityRank(a.Severity), strings.Compare(a.Name, b.Name),
			strings.Compare(a.ID, b.ID))
	})
	return items
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func severityRank(s kernel.Impact) int { return slices.Index(kernel.Impacts, s) }

// over reports whether the item says that the alert has ended: because it has a notice of the end, or because the alert
// ended before an earlier notice could be sent.
func (i Item) over() bool {
	return slices.Contains(i.Kinds, NoticeResolved) || i.Event.Lasts() && !i.ResolvedAt.IsZero()
}

// brief reports whether the item reports the beginning and the end together.
func (i Item) brief() bool { return i.over() && slices.Contains(i.Kinds, NoticeOpened) }

// Title returns a sentence without a full stop that says what has happened.
func (i Item) Title(now time.Time) string {
	row := i.Event.row()
	last := i.Kinds[len(i.Kinds)-1]
	switch {
	case i.brief():
		return fmt.Sprintf("%s %s for %s. %s", i.Name, past(row.one), words(i.ResolvedAt.Sub(i.OpenedAt)),
			i.Alert.Outcome())
	case i.over():
		return fmt.Sprintf("%s after %s", i.Alert.Outcome(), words(i.ResolvedAt.Sub(i.OpenedAt)))
	case last == NoticeAcknowledged:
		return fmt.Sprintf("Acknowledged by %s: %s %s", i.AcknowledgedBy, i.Name, row.one)
	case last == NoticeRepeated:
		return fmt.Sprintf("%s %s after %s", i.Name, stillIs(row.one), words(now.Sub(i.OpenedAt)))
	case last == NoticeEscalated:
		return fmt.Sprintf("Unacknowledged for %s: %s %s", words(now.Sub(i.OpenedAt)), i.Name, row.one)
	}
	return i.Name + " " + row.one
}

// stillIs puts "still" behind the verb of a predicate: "is down" becomes "is still down".
func stillIs(predicate string) string {
	for _, verb := range []string{"is ", "are "} {
		if rest, ok := strings.CutPrefix(predicate, verb); ok {
			return verb + "still " + rest
		}
	}
	return "still " + predicate
}

// past puts the verb at the beginning of a predicate into the past tense: "is down" becomes "was down".
func past(one string) string {
	for _, verb := range [][2]string{{"is ", "was "}, {"has ", "had "}, {"does not ", "did not "}} {
		if rest, ok := strings.CutPrefix(one, verb[0]); ok {
			return verb[1] + rest
		}
	}
	return one
}

// words formats a duration as at least a second. It is rounded down to seconds, and from a minute on to minutes.
func words(d time.Duration) string {
	if d >= time.Minute {
		return kernel.FormatDuration(d.Truncate(time.Minute))
	}
	return kernel.FormatDuration(max(d.Truncate(time.Second), time.Second))
}

// Headline returns one line about the whole message: the title that a template made, the title of its only alert, or
// the number of alerts of each event.
func (m Message) Headline() string {
	if m.Words.Title != "" {
		return m.Words.Title
	}
	if len(m.Items) == 1 {
		return m.Items[0].Title(m.At)
	}
	var parts []string
	for items := m.Items; len(items) > 0; {
		same := items[0].sameAs
		group := 0
		rest := items[:0:0]
		for _, i := range items {
			if same(i) {
				group++
			} else {
				rest = append(rest, i)
			}
		}
		row, over := items[0].Event.row(), items[0].over()
		switch {
		case group == 1:
			parts = append(parts, items[0].Alert.Outcome())
		case over:
			parts = append(parts, kernel.FormatNumber(group)+" "+row.overMany)
		default:
			parts = append(parts, kernel.FormatNumber(group)+" "+row.many)
		}
		items = rest
	}
	headline := strings.Join(parts, ", ")
	if by := m.acknowledgedBy(); by != "" {
		headline = "Acknowledged by " + by + ": " + headline
	}
	return headline
}

// acknowledgedBy returns who acknowledged all alerts of the message that have not ended. It returns "" if one of them
// is not acknowledged, or if several people acknowledged them.
func (m Message) acknowledgedBy() (by string) {
	for _, i := range m.Items {
		switch {
		case i.over():
		case i.Kinds[len(i.Kinds)-1] != NoticeAcknowledged, by != "" && by != i.AcknowledgedBy:
			return ""
		default:
			by = i.AcknowledgedBy
		}
	}
	return by
}

func (i Item) sameAs(o Item) bool { return i.Event == o.Event && i.over() == o.over() }

// Lines returns a line for each of the first MaxLines alerts, and how many more alerts there are. A message with one
// alert has at most one line: its reason. If a template gave the message a text, Lines returns the lines of that text.
func (m Message) Lines() (lines []string, more int) {
	if m.Words.Text != "" {
		return strings.Split(m.Words.Text, "\n"), 0
	}
	if len(m.Items) == 1 {
		if reason := m.Items[0].detail(); reason != "" {
			lines = append(lines, sentence(reason))
		}
		return lines, 0
	}
	for _, i := range m.Items[:min(len(m.Items), MaxLines)] {
		line := i.Title(m.At)
		if reason := i.detail(); reason != "" {
			line += ": " + reason
		}
		lines = append(lines, line)
	}
	return lines, len(m.Items) - len(lines)
}

// MoreLine says how many alerts a message does not list.
func MoreLine(more int) string { return "and " + kernel.FormatNumber(more) + " more" }

// detail returns why the alert ended if the item says that it has, or else why it began. An item that reports both has
// the reason of the beginning.
func (i Item) detail() string {
	if i.over() && !i.brief() {
		return i.EndReason
	}
	return i.Reason
}

// sentence returns a text as a sentence: with a capital letter and a full stop.
func sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	text = string(unicode.ToUpper(first)) + text[size:]
	if strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}

// Severity returns the worst severity of the alerts in the message.
func (m Message) Severity() kernel.Impact {
	worst := kernel.ImpactNone
	for _, i := range m.Items {
		if i.Severity.Worse(worst) {
			worst = i.Severity
		}
	}
	return worst
}

// Phase says what a service that keeps an object for each thread does with that object.
type Phase string

// The phases.
const (
	PhaseTrigger     Phase = "trigger"
	PhaseAcknowledge Phase = "acknowledge"
	PhaseResolve     Phase = "resolve"
)

// Phase returns the phase of the message's thread.
func (m Message) Phase() Phase {
	switch {
	case m.Thread == nil || m.Thread.Open > 0:
		return PhaseTrigger
	case m.Thread.Known > 0:
		return PhaseAcknowledge
	}
	return PhaseResolve
}

// Outdates reports whether the message makes the first message of its thread untrue, because it says that alerts were
// acknowledged or have ended.
func (m Message) Outdates() bool {
	return m.Thread != nil && !m.Thread.First && slices.ContainsFunc(m.Items, func(i Item) bool {
		return i.over() || slices.Contains(i.Kinds, NoticeAcknowledged)
	})
}

// Current returns the message that replaces the first message of the thread: it has the present states of all alerts
// of the thread.
func (m Message) Current() Message {
	if m.Thread == nil || len(m.Thread.Alerts) == 0 {
		return m
	}
	kinds := map[State]NoticeKind{Open: NoticeOpened, Acknowledged: NoticeAcknowledged, Resolved: NoticeResolved}
	var notices []Notice
	alerts := make(map[string]Alert)
	for _, a := range m.Thread.Alerts {
		notices, alerts[a.ID] = append(notices, Notice{AlertID: a.ID, Kind: kinds[a.State()]}), a
	}
	m.Items, m.Words = NewItems(notices, alerts), m.Thread.Words
	return m
}

// Text returns the message as plain text of several lines, of at most limit characters: the headline, a line for each
// alert, and the links. Everything but the links is shortened to fit.
func (m Message) Text(limit int) string {
	lines, more := m.Lines()
	if more > 0 {
		lines = append(lines, MoreLine(more))
	}
	links := ""
	for _, a := range m.Buttons() {
		links += "\n" + a.Label + ": " + a.URL
	}
	return Shorten(strings.Join(append([]string{m.Headline()}, lines...), "\n"), max(limit-len([]rune(links)), 20)) +
		links
}

// Button is a link of a message.
type Button struct{ Label, URL string }

// Buttons returns the links of a message: to acknowledge its alerts, if one is open, and to their details.
func (m Message) Buttons() (all []Button) {
	if m.Links.Acknowledge != "" && m.Phase() == PhaseTrigger {
		all = append(all, Button{"Acknowledge", m.Links.Acknowledge})
	}
	if m.Details() != "" {
		all = append(all, Button{"Details", m.Details()})
	}
	return all
}

// Details returns the URL of the only alert of the message, or the URL of the list if it has several. It returns "" if
// the service does not know its own address.
func (m Message) Details() string {
	if m.Links.Alerts == "" || len(m.Items) != 1 || m.Items[0].Event == ChannelTest {
		return m.Links.Alerts
	}
	return m.Links.Alerts + "/" + m.Items[0].ID
}

// WithoutLinks returns the message without links, for services that show Buttons in their own way.
func (m Message) WithoutLinks() Message {
	m.Links = Links{}
	return m
}

// Shorten returns the text cut to at most limit characters. A text that was cut ends with …
func Shorten(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	return strings.TrimRight(string(runes[:limit-1]), " \n") + "…"
}
