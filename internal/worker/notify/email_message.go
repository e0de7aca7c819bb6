package notify

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	htmltemplate "html/template"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"sync"
	texttemplate "text/template"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/shared/hostname"
	"github.com/allswell/allswell/internal/shared/i18n"
	"github.com/allswell/allswell/internal/shared/markdown"
)

// Limits of one mail. The mail links to the page for the rest.
const (
	mailThreads    = 50     // threads
	mailEntries    = 50     // entries of one thread
	mailMessages   = 50_000 // characters of all messages together
	mailReferences = 20     // threads in the References header
	mailNameInLine = 60     // characters of the page's name in From and Subject
	mailTitle      = 150    // characters of the titles in a headline
	mailPreview    = 140    // characters of the preview text in an inbox
	mailComponents = 20     // component names of one thread
)

//go:embed templates
var mailTemplates embed.FS

var (
	mailFunctions = htmltemplate.FuncMap{"tones": mailTones}

	// The templates are parsed for the first mail, because most commands and many services send none.
	mailText = sync.OnceValue(func() *texttemplate.Template {
		return texttemplate.Must(texttemplate.ParseFS(mailTemplates, "templates/*.txt"))
	})
	mailHTML = sync.OnceValue(func() *htmltemplate.Template {
		return htmltemplate.Must(htmltemplate.New("layout.html").Funcs(mailFunctions).ParseFS(mailTemplates,
			"templates/*.html"))
	})
)

// envelope is a mail for SMTP: sender, recipient, and the header and body with CRLF line endings.
type envelope struct {
	from, to string
	content  []byte
}

// mailData is the data of the mail templates.
type mailData struct {
	L        *i18n.Language // of the page
	Start    string         // side at which lines begin
	Subject  string
	Preview  string
	Page     string // the page's name
	PageURL  string
	Logo     mailLogo
	Accent   statuspage.AccentShades
	Accented bool   // the page has an accent of its own
	Manage   string // URL to confirm, change and end the subscription
	End      string // URL to unsubscribe with one click
	Invited  bool   // see audience.Subscriber.Invited
	KeptDays int    // days after which an unconfirmed address is deleted
	Threads  []thread
	Hidden   int // number of threads that only the page shows
}

// Link returns a link for a text of the footer. dir is the direction of its label.
func (l mailData) Link(url, label, dir string) htmltemplate.HTML {
	escape := htmltemplate.HTMLEscapeString
	return htmltemplate.HTML(`<a class="link" href="` + escape(url) + `" dir="` + dir + `" style="color:` +
		l.Accent.Text.Light + `;">` + escape(label) + `</a>`)
}

// making determines the content of a letter: notifications with equal ones have the same letter.
type making struct {
	purpose audience.DeliveryPurpose
	invited bool
	page    statuspage.Page
	events  []audience.Event
}

func makingOf(n audience.Notification) making {
	return making{n.Delivery.Purpose, n.Subscriber.Invited(), n.Page, n.Events}
}

// letter is a mail in the language and the time zone of its page, except what differs from subscriber to subscriber:
// the header, and the key in the links. It is shared, because all subscribers of a page get the same text, and
// executing the templates takes as long as sending the mail.
type letter struct {
	made       making
	data       mailData // with key in the links
	key        string   // random: stands for the key of the subscriber
	roots      []string // the threads that the mail belongs to, oldest first
	text, html string   // with key in the links
}

// newLetter returns the letter of a notification. base is the address of this service without a trailing slash. An
// error means that no attempt to send it can succeed.
func newLetter(n audience.Notification, base string) (*letter, error) {
	lang := i18n.Or(n.Page.DefaultLanguage())
	l := &letter{made: makingOf(n), key: audience.NewSubscriberKey()}
	n.Subscriber.Key = l.key
	d := mailData{
		L:        lang,
		Start:    startSide(lang),
		Page:     cmp.Or(oneLine(n.Page.Name, kernel.MaxNameLength), n.Page.Slug),
		PageURL:  pageURL(n.Page, base),
		Invited:  n.Subscriber.Invited(),
		KeptDays: int(audience.UnconfirmedLifetime / (24 * time.Hour)),
	}
	d.Accent, d.Accented = statuspage.AdaptAccent(n.Page.Accent)
	d.Logo = logoOf(n.Page, d.PageURL)
	d.Manage, d.End = subscriptionLinks(n, base)
	switch n.Delivery.Purpose {
	case audience.PurposeConfirmation:
		d.Subject = lang.T("mail.confirmation.subject")
	case audience.PurposeLink:
		d.Subject = lang.T("mail.link.subject")
	case audience.PurposeTest:
		d.Subject = lang.T("mail.test.subject")
	case audience.PurposeEvent:
		threads := threadsOf(n.Events, pageInfo{d.PageURL, n.Page.Location(), lang, messageStyle(d.Start, d.Accent)})
		if len(threads) == 0 {
			return nil, errors.New("no event of the notification is reported by mail")
		}
		d.Subject = headline(threads, lang, mailTitle)
		d.Preview = threads[0].preview()
		d.Threads, d.Hidden = threads[:min(len(threads), mailThreads)], max(0, len(threads)-mailThreads)
		l.roots = rootsOf(n.Events)
	default:
		return nil, fmt.Errorf("unknown purpose of a mail: %q", n.Delivery.Purpose)
	}
	d.Subject = "[" + lang.Isolate(oneLine(d.Page, mailNameInLine)) + "] " + d.Subject
	l.data = d
	var text, html strings.Builder
	name := string(n.Delivery.Purpose)
	err := errors.Join(mailText().ExecuteTemplate(&text, name+".txt", d),
		mailHTML().ExecuteTemplate(&html, name+".html", d))
	l.text, l.html = text.String(), html.String()
	return l, err
}

// mail returns the letter as the mail of a notification, whose making must equal l.made. The Message-ID is the same in
// every attempt. An error means that no attempt can succeed.
func (l *letter) mail(n audience.Notification, from mail.Address) (envelope, error) {
	to, err := audience.NewSubscriber{Channel: audience.ChannelEmail, Target: n.Subscriber.Target}.Check()
	if err != nil || to.Target != n.Subscriber.Target {
		return envelope{}, errors.New("the subscriber's address is not an email address")
	}
	if from.Name == "" {
		from.Name = l.data.Page
	}
	from.Name = oneLine(from.Name, mailNameInLine)
	ours := strings.NewReplacer(l.key, url.PathEscape(n.Subscriber.Key))
	data := l.data
	data.End = ours.Replace(data.End)
	var content bytes.Buffer
	writeHeader(&content, n, data, from, l.roots)
	err = writeBody(&content, n.Delivery.ID, ours.Replace(l.text), ours.Replace(l.html))
	return envelope{from: from.Address, to: to.Target, content: content.Bytes()}, err
}

// addressField returns an address for the header. Names that are not ASCII are base64: mail.Address
// leaves backslashes in other encoded words, where a name must not have them (RFC 2047, section 5).
func addressField(a mail.Address) string {
	if encoded := mime.BEncoding.Encode("utf-8", a.Name); encoded != a.Name {
		return encoded + " " + (&mail.Address{Address: a.Address}).String()
	}
	return a.String()
}

// writeHeader writes the header except the Content-Type field. roots are the threads that
// the mail belongs to, oldest first.
func writeHeader(w *bytes.Buffer, n audience.Notification, l mailData, from mail.Address, roots []string) {
	domain := domainOf(from.Address)
	field := func(name, value string) {
		// Fold the header between encoded words and between message ids.
		value = strings.NewReplacer("?= =?", "?=\r\n =?", "> <", ">\r\n <").Replace(value)
		w.WriteString(name + ": " + value + "\r\n")
	}
	field("Date", time.Now().UTC().Format(time.RFC1123Z))
	field("From", addressField(from))
	field("To", "<"+n.Subscriber.Target+">")
	field("Subject", mime.QEncoding.Encode("utf-8", l.Subject))
	field("Message-ID", "<"+n.Delivery.ID+"@"+domain+">")
	if len(roots) > 0 {
		ids := make([]string, len(roots))
		for i, thread := range roots {
			// The id depends on the subscriber, so that a forwarded mail reveals nothing about the mails of others.
			sum := sha256.Sum256([]byte(n.Subscriber.ID + "\n" + thread))
			ids[i] = "<" + hex.EncodeToString(sum[:16]) + "@" + domain + ">"
		}
		field("In-Reply-To", ids[len(ids)-1])
		field("References", strings.Join(ids, " "))
	}
	field("List-Id", "<"+url.PathEscape(n.Page.Slug)+"."+domain+">")
	field("List-Unsubscribe", "<"+l.End+">")
	field("List-Unsubscribe-Post", "List-Unsubscribe=One-Click")
	field("Auto-Submitted", "auto-generated")
	field("MIME-Version", "1.0")
	field("Content-Language", l.L.Tag)
}

// writeBody writes the Content-Type field, and a text and its HTML as alternatives. The boundary cannot occur in
// quoted-printable text.
func writeBody(w *bytes.Buffer, id, text, html string) error {
	parts := multipart.NewWriter(w)
	if err := parts.SetBoundary("=_" + id); err != nil {
		return err
	}
	w.WriteString("Content-Type: multipart/alternative;\r\n boundary=\"" + parts.Boundary() + "\"\r\n\r\n")
	for _, form := range []struct{ media, content string }{{"text/plain", text}, {"text/html", html}} {
		part, err := parts.CreatePart(textproto.MIMEHeader{
			"Content-Type":              {form.media + "; charset=utf-8"},
			"Content-Transfer-Encoding": {"quoted-printable"},
		})
		if err != nil {
			return err
		}
		quoted := quotedprintable.NewWriter(part)
		if _, err := io.WriteString(quoted, form.content); err != nil {
			return err
		}
		if err := quoted.Close(); err != nil {
			return err
		}
	}
	return parts.Close()
}

// domainOf returns the domain of a mail address in ASCII, or "localhost".
func domainOf(address string) string {
	domain, ok := hostname.ASCII(address[strings.LastIndexByte(address, '@')+1:])
	if !ok || domain == "" {
		return "localhost"
	}
	return domain
}

// rootsOf returns the threads of the events for the References header, sorted by their newest event, oldest first. A
// monitor, an incident and a maintenance are threads; an incident of a monitor belongs to both.
func rootsOf(events []audience.Event) (roots []string) {
	add := func(root string) {
		if i := slices.Index(roots, root); i >= 0 {
			roots = slices.Delete(roots, i, i+1)
		}
		roots = append(roots, root)
	}
	for _, e := range events {
		id := subjectID(e)
		if id == "" {
			continue
		}
		if e.MonitorID != "" {
			add(audience.MonitorCollapseKey(e.MonitorID))
		}
		add(id)
	}
	return roots[max(0, len(roots)-mailReferences):]
}

// oneLine returns s as one line for a header field. It truncates s to limit characters.
func oneLine(s string, limit int) string {
	s, _ = truncate(markdown.Line(s), limit)
	// Plain text must not look like an encoded word.
	return strings.ReplaceAll(s, "=?", "= ?")
}

// truncate shortens a text to limit characters. If anything is cut off, the last character is an ellipsis.
func truncate(s string, limit int) (short string, truncated bool) {
	if len(s) <= limit {
		return s, false
	}
	runes := []rune(s)
	if len(runes) <= limit {
		return s, false
	}
	return strings.TrimSpace(string(runes[:max(0, limit-1)])) + "…", true
}
