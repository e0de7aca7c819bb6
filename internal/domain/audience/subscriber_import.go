package audience

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// Limits of an import of subscribers.
const (
	MaxImportBytes   = 512 << 10 // of the list
	MaxImportLines   = 5_000
	MaxConsentLength = 500 // characters
)

// SubscriberImport is a list of email addresses, phone numbers and chats to subscribe to a page.
type SubscriberImport struct {
	CSV       string // a list of addresses, or a table whose first line names the columns, such as an export
	Consent   string // where the consent of the owners comes from; it is stored with each subscriber
	Confirmed bool   // the addresses are not asked to confirm
	DryRun    bool   // report what would happen, and change nothing
}

// ImportResult is the outcome of one line of an import.
type ImportResult string

// The results.
const (
	ImportAdded      ImportResult = "added"
	ImportSubscribed ImportResult = "subscribed" // it was subscribed already, and is unchanged
	// its owner has ended the subscription, and only the owner can begin it again
	ImportUnsubscribed ImportResult = "unsubscribed"
	ImportInvalid      ImportResult = "invalid"
)

// ImportResults lists all results.
var ImportResults = []ImportResult{ImportAdded, ImportSubscribed, ImportUnsubscribed, ImportInvalid}

// ImportLine is one line of an import.
type ImportLine struct {
	Line       int // of the list, from 1
	Channel    Channel
	Target     string   // as shown to people: see Channel.Shown
	Address    string   // all of it, if the line is added
	Components []string // ids or slugs; empty: the whole page
	Result     ImportResult
	Reason     string // why the line is not added, as a sentence; "" if it is
}

// Refuse sets the result of a line that is not added.
func (l *ImportLine) Refuse(result ImportResult, reason string) { l.Result, l.Reason = result, reason }

// SubscriberImportReport is the result of an import, or of a dry run.
type SubscriberImportReport struct {
	PageID    string
	PageName  string
	Consent   string
	Confirmed bool
	DryRun    bool
	Lines     []ImportLine
}

// Count returns the number of lines with a result.
func (r SubscriberImportReport) Count(result ImportResult) (n int) {
	for _, l := range r.Lines {
		if l.Result == result {
			n++
		}
	}
	return n
}

// AuditObject returns the form of an import in the audit log.
func (r SubscriberImportReport) AuditObject() kernel.AuditObject {
	return kernel.AuditObject{Kind: kernel.ObjectPage, ID: r.PageID, Name: r.PageName, Fields: map[string]any{
		"imported_subscribers": r.Count(ImportAdded), "consent": r.Consent, "confirmed": r.Confirmed,
	}}
}

// Check returns the lines of the list, with the result of each line that is invalid or repeats another, or a
// *ValidationError with every invalid field.
func (n SubscriberImport) Check() ([]ImportLine, error) {
	bad := new(kernel.ValidationError)
	kernel.CheckText(bad, "consent", n.Consent, MaxConsentLength)
	lines := readImport(bad, n.CSV)
	return lines, bad.Err()
}

// importColumns are the columns of a list; -1: there is none.
type importColumns struct{ target, channel, components, state int }

// targetColumns are the names of the column with the addresses.
var targetColumns = []string{"target", "email", "e-mail", "e-mail address", "email address", "mail", "address"}

// importHeader returns the columns that a first line names. ok is false if it names none with addresses.
func importHeader(row []string) (c importColumns, ok bool) {
	c = importColumns{-1, -1, -1, -1}
	for i, cell := range row {
		switch name := strings.ToLower(strings.TrimSpace(cell)); {
		case slices.Contains(targetColumns, name) && c.target < 0:
			c.target = i
		case name == "channel":
			c.channel = i
		case name == "components":
			c.components = i
		case name == "state":
			c.state = i
		}
	}
	return c, c.target >= 0
}

// readImport reads a list, or adds an error to bad.
func readImport(bad *kernel.ValidationError, text string) (lines []ImportLine) {
	text = kernel.LineEnds.Replace(strings.TrimPrefix(text, "\ufeff"))
	switch {
	case strings.TrimSpace(text) == "":
		bad.Add("csv", kernel.Required)
		return nil
	case len(text) > MaxImportBytes:
		bad.Add("csv", "may not be larger than %d KiB", MaxImportBytes>>10)
		return nil
	case strings.ContainsRune(text, 0) || !utf8.ValidString(text):
		bad.Add("csv", "must be text in UTF-8")
		return nil
	}
	in := csv.NewReader(strings.NewReader(text))
	in.Comma, in.FieldsPerRecord, in.TrimLeadingSpace = delimiterOf(text), -1, true
	columns, first := importColumns{0, -1, -1, -1}, true
	seen := make(map[string]bool)
	for {
		row, err := in.Read()
		if err == io.EOF {
			break
		}
		if header, ok := importHeader(row); first && ok && err == nil {
			columns, first = header, false
			continue
		}
		first = false
		if len(lines) == MaxImportLines {
			bad.Add("csv", "may have at most %d lines", MaxImportLines)
			return nil
		}
		lines = append(lines, readImportLine(in, row, err, columns, seen))
	}
	if len(lines) == 0 {
		bad.Add("csv", "must have a line with an email address")
	}
	return lines
}

// delimiterOf returns the character between the cells of a table.
func delimiterOf(text string) rune {
	line, _, _ := strings.Cut(strings.TrimLeft(text, "\r\n"), "\n")
	for _, r := range ";\t" {
		if strings.ContainsRune(line, r) && !strings.Contains(line, ",") {
			return r
		}
	}
	return ','
}

// readImportLine returns a line from its cells. seen has the addresses of the lines before; a valid line adds its own.
func readImportLine(in *csv.Reader, row []string, err error, columns importColumns, seen map[string]bool) ImportLine {
	if malformed := (*csv.ParseError)(nil); errors.As(err, &malformed) {
		l, reason := ImportLine{Line: malformed.StartLine}, "The quotes of the line do not match."
		if malformed.Line > malformed.StartLine {
			reason += fmt.Sprintf(" The lines up to %d were not read.", malformed.Line)
		}
		l.Refuse(ImportInvalid, reason)
		return l
	}
	cell := func(column int) string {
		if column < 0 || column >= len(row) {
			return ""
		}
		return strings.TrimSpace(row[column])
	}
	line, _ := in.FieldPos(0)
	target := cell(columns.target)
	if quoted, ok := strings.CutPrefix(target, "'"); ok && kernel.IsFormula(quoted) {
		target = quoted // as WriteCSV writes it
	}
	l := ImportLine{
		Line: line, Channel: Channel(cmp.Or(strings.ToLower(cell(columns.channel)), string(ChannelEmail))),
		Target: target, Components: strings.Fields(cell(columns.components)),
	}
	n, err := NewSubscriber{Channel: l.Channel, Target: target, Components: l.Components}.Check()
	invalid := (*kernel.ValidationError)(nil)
	state := SubscriberState(strings.ToLower(cell(columns.state)))
	switch {
	case !l.Channel.Gateway() && !l.Channel.Chat():
		l.Refuse(ImportInvalid,
			"Only email addresses, phone numbers and chats can be imported. A webhook has a secret, which is shown "+
				"when it is added.")
	case l.Channel.Chat() &&
		(err != nil && errors.As(err, &invalid) && invalid.Has("target") || !l.Channel.AtService(n.Target)):
		l.Target = "…"
		l.Refuse(ImportInvalid,
			"This is not the whole incoming-webhook URL of "+l.Channel.Name()+
				". An export does not have it, because it is a secret.")
	case errors.As(err, &invalid) && invalid.Has("target") && l.Channel == ChannelSMS:
		l.Refuse(ImportInvalid, "This is not a phone number with its country code, such as +4915112345678.")
	case errors.As(err, &invalid) && invalid.Has("target"):
		l.Refuse(ImportInvalid, "This is not an email address.")
	case invalid != nil:
		l.Refuse(ImportInvalid, invalid.Messages()["components"][0])
	case state != "" && state != SubscriberActive:
		l.Target = n.Channel.Shown(n.Target)
		l.Refuse(ImportInvalid, "In the list, its state is not active.")
	case seen[n.Target]:
		l.Target = n.Channel.Shown(n.Target)
		l.Refuse(ImportSubscribed, "An earlier line has the same address.")
	default:
		l.Target, l.Address, l.Components, l.Result = n.Channel.Shown(n.Target), n.Target, n.Components, ImportAdded
		seen[n.Target] = true
	}
	if utf8.RuneCountInString(l.Target) > kernel.MaxEmailLength {
		l.Target = string([]rune(l.Target)[:kernel.MaxEmailLength]) + "…"
	}
	return l
}
