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
	texttemplate "text/template"
	"time"

	"golang.org/x/net/idna"

	"github.com/allswell/allswell"
	"github.com/allswell/allswell/internal/markdown"
)

// Limits of one mail. What they leave out is on the page, and the mail says so.
const (
	mailThreads    = 50     // told together
	mailEntries    = 50     // of one thread
	mailMessages   = 50_000 // characters of all messages together
	mailReferences = 20     // threads named in the header
	mailNameInLine = 60     // characters of the page's name in header and subject
	mailTitle      = 150    // characters of a title in the subject
	mailPreview    = 140    // characters that an inbox shows beside the subject
	mailComponents = 20     // named of one thread
)

//go:embed templates
var mailTemplates embed.FS

var (
	mailText = texttemplate.Must(texttemplate.ParseFS(mailTemplates, "templates/*.txt"))
	mailHTML = htmltemplate.Must(htmltemplate.New("layout.html").Funcs(htmltemplate.FuncMap{"tones": mailTones}).ParseFS(mailTemplates, "templates/*.html"))
)

// envelope is a mail as it goes to the server: one sender, one recipient, and
// header and body with CRLF between the lines.
type envelope struct {
	from, to string
	content  []byte
}

// letter is what the templates of a mail show.
type letter struct {
	Subject  string
	Preview  string
	Page     string // the page's name
	PageURL  string
	Manage   string // where the subscription is confirmed, changed and ended
	End      string // where it is ended with one click
	KeptDays int    // for how long an address is kept that nobody confirms
	Threads  []thread
	Hidden   int // threads left to the page
}

// compose makes the mail of a notice. base is the address of this service,
// without a slash at its end. The Message-ID is the same each time; an error
// means that no attempt can ever succeed.
func compose(n allswell.Notification, base string, from mail.Address) (envelope, error) {
	to, err := allswell.NewSubscriber{Channel: allswell.ChannelEmail, Target: n.Subscriber.Target}.Check()
	if err != nil || to.Target != n.Subscriber.Target {
		return envelope{}, errors.New("the subscriber's address is no e-mail address")
	}
	l := letter{
		Page:     oneLine(n.Page.Name, allswell.MaxNameLength),
		PageURL:  pageURL(n.Page, base),
		KeptDays: int(allswell.UnconfirmedLifetime / (24 * time.Hour)),
	}
	if l.Page == "" {
		l.Page = n.Page.Slug
	}
	l.Manage = subscriptionsURL(n.Page, base) + "/subscription/" + url.PathEscape(n.Subscriber.Key)
	l.End = subscriptionsURL(n.Page, base) + "/unsubscribe/" + url.PathEscape(n.Subscriber.Key)
	name := oneLine(l.Page, mailNameInLine)
	var about []string // the threads that the mail belongs to
	switch n.Delivery.Purpose {
	case allswell.PurposeConfirmation:
		l.Subject = "[" + name + "] Please confirm your subscription"
	case allswell.PurposeLink:
		l.Subject = "[" + name + "] The link to your subscription"
	case allswell.PurposeEvent:
		threads := threadsOf(n.Events, place{l.PageURL, n.Page.Location()})
		if len(threads) == 0 {
			return envelope{}, errors.New("there is no event that mail tells")
		}
		l.Subject = "[" + name + "] " + headline(threads)
		l.Preview = oneLine(cmp.Or(threads[0].Entries[0].Text, threads[0].When), mailPreview)
		l.Threads, l.Hidden = threads[:min(len(threads), mailThreads)], max(0, len(threads)-mailThreads)
		about = rootsOf(n.Events)
	default:
		return envelope{}, fmt.Errorf("mail does not know the purpose %q", n.Delivery.Purpose)
	}
	if from.Name == "" {
		from.Name = l.Page
	}
	from.Name = oneLine(from.Name, mailNameInLine)
	e := envelope{from: from.Address, to: to.Target}
	var content bytes.Buffer
	writeHeader(&content, n, l, from, about)
	err = writeBody(&content, string(n.Delivery.Purpose), n.Delivery.ID, l)
	e.content = content.Bytes()
	return e, err
}

// writeHeader writes all of the header but the fields of the body's form.
func writeHeader(w *bytes.Buffer, n allswell.Notification, l letter, from mail.Address, about []string) {
	domain := domainOf(from.Address)
	field := func(name, value string) {
		// Encoded words, and the ids of messages, go on lines of their own.
		value = strings.NewReplacer("?= =?", "?=\r\n =?", "> <", ">\r\n <").Replace(value)
		w.WriteString(name + ": " + value + "\r\n")
	}
	field("Date", time.Now().UTC().Format(time.RFC1123Z))
	field("From", from.String())
	field("To", "<"+n.Subscriber.Target+">")
	field("Subject", mime.QEncoding.Encode("utf-8", l.Subject))
	field("Message-ID", "<"+n.Delivery.ID+"@"+domain+">")
	if len(about) > 0 {
		ids := make([]string, len(about))
		for i, thread := range about {
			// Of its subscriber alone, so that a mail that is passed on tells
			// nothing about what others got.
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
}

// writeBody writes the templates of a name as alternatives, and the header
// field that says so. The boundary cannot occur in what is quoted-printable.
func writeBody(w *bytes.Buffer, name, id string, l letter) error {
	parts := multipart.NewWriter(w)
	if err := parts.SetBoundary("=_" + id); err != nil {
		return err
	}
	w.WriteString("Content-Type: multipart/alternative;\r\n boundary=\"" + parts.Boundary() + "\"\r\n\r\n")
	for _, form := range []struct {
		media   string
		execute func(io.Writer) error
	}{
		{"text/plain", func(w io.Writer) error { return mailText.ExecuteTemplate(w, name+".txt", l) }},
		{"text/html", func(w io.Writer) error { return mailHTML.ExecuteTemplate(w, name+".html", l) }},
	} {
		part, err := parts.CreatePart(textproto.MIMEHeader{
			"Content-Type":              {form.media + "; charset=utf-8"},
			"Content-Transfer-Encoding": {"quoted-printable"},
		})
		if err != nil {
			return err
		}
		quoted := quotedprintable.NewWriter(part)
		if err := form.execute(quoted); err != nil {
			return err
		}
		if err := quoted.Close(); err != nil {
			return err
		}
	}
	return parts.Close()
}

// domainOf is the domain of a mail address in ASCII.
func domainOf(address string) string {
	domain, err := idna.Lookup.ToASCII(address[strings.LastIndexByte(address, '@')+1:])
	if err != nil || domain == "" {
		return "localhost"
	}
	return domain
}

// rootsOf names the threads of the events, oldest first, the last being that of
// the newest event. A monitor's incidents hang below the monitor, and what
// humans add to one of them below the incident; a maintenance is a thread.
func rootsOf(events []allswell.Event) (roots []string) {
	add := func(root string) {
		if i := slices.Index(roots, root); i >= 0 {
			roots = slices.Delete(roots, i, i+1)
		}
		roots = append(roots, root)
	}
	for _, e := range events {
		id := about(e)
		if id == "" {
			continue
		}
		if e.MonitorID != "" {
			add(allswell.MonitorCollapseKey(e.MonitorID))
		}
		add(id)
	}
	return roots[max(0, len(roots)-mailReferences):]
}

// oneLine is markdown.Line for a header of a mail, of at most most characters.
func oneLine(s string, most int) string {
	s, _ = cut(markdown.Line(s), most)
	// Nothing that is not encoded may look as if it were.
	return strings.ReplaceAll(s, "=?", "= ?")
}

// cut shortens a text to most characters, the last being an ellipsis if
// something was cut off.
func cut(s string, most int) (short string, was bool) {
	if len(s) <= most {
		return s, false
	}
	runes := []rune(s)
	if len(runes) <= most {
		return s, false
	}
	return strings.TrimSpace(string(runes[:max(0, most-1)])) + "…", true
}
