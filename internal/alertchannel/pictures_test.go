package alertchannel

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"html"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/alert"
)

var updatePictures = flag.Bool("update-pictures", false, "write docs/images/alerts")

// TestPictures keeps the pictures of messages in docs/images/alerts, which show no word that is not sent. To write them
// again: go test ./internal/alertchannel -run Pictures -update-pictures
func TestPictures(t *testing.T) {
	const folder = "../../docs/images/alerts"
	sender := NewSender(Config{AllowPrivate: true})
	defer sender.Close()
	for _, typ := range Types {
		p, ok := pictures[typ.Name]
		if !ok {
			t.Errorf("the type %s has no picture", typ.Name)
			continue
		}
		p.first, p.last = pictured(services[typ.Name].ref)
		if svc, ok := services[typ.Name]; ok {
			p.checkWords(t, svc, sender, typ.Name)
		}
		got := p.draw(typ.Label)
		name := filepath.Join(folder, typ.Name+".svg")
		if *updatePictures {
			if err := os.WriteFile(name, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if saved, err := os.ReadFile(name); err != nil || !bytes.Equal(saved, got) {
			t.Errorf("%s is not current: %v", name, err)
		}
		page, err := os.ReadFile("../../docs/alerts/" + typ.Name + ".md")
		if err != nil || !bytes.Contains(page, []byte("](../images/alerts/"+typ.Name+".svg)")) {
			t.Errorf("the page of %s does not show its picture: %v", typ.Name, err)
		}
	}
}

// pictured returns the messages in the pictures: an outage and its end.
func pictured(ref string) (first, last alert.Message) {
	all := messages(ref)
	first, last = all["one"], all["resolved"]
	first.Items[0].Reason = "no ping since 2026-11-24 02:00:00 UTC"
	first.At, last.At = moment(10), moment(25)
	return first, last
}

// picture is what a picture of a type shows.
type picture struct {
	frame  func(*picture, *canvas)
	room   string // where the message arrives
	links  string // how the links look: "buttons", "links" as words, "addresses", or "" if there are none
	thread bool   // the end answers the beginning
	object bool   // the service keeps an object for each thread, and shows only its headline

	first, last alert.Message
}

var pictures = map[string]picture{
	"email":          {frame: (*picture).mail, room: "oncall@example.com", links: "addresses"},
	"webhook":        {frame: (*picture).program, room: "POST https://example.com/alerts"},
	"slack":          {frame: (*picture).chat, room: "# ops", links: "buttons"},
	"slack_bot":      {frame: (*picture).chat, room: "# ops", links: "buttons", thread: true},
	"teams":          {frame: (*picture).chat, room: "Operations › Alerts", links: "buttons"},
	"discord":        {frame: (*picture).chat, room: "# ops", links: "links"},
	"google_chat":    {frame: (*picture).chat, room: "Operations", links: "buttons", thread: true},
	"mattermost":     {frame: (*picture).chat, room: "~ops", links: "links"},
	"rocket_chat":    {frame: (*picture).chat, room: "# ops", links: "links"},
	"telegram":       {frame: (*picture).chat, room: "Operations", links: "buttons", thread: true},
	"matrix":         {frame: (*picture).chat, room: "#ops:example.com", links: "links", thread: true},
	"zulip":          {frame: (*picture).chat, room: "#ops > Allswell", links: "links", thread: true},
	"ntfy":           {frame: (*picture).phone, room: "acme-ops-x7Hq2", links: "buttons"},
	"gotify":         {frame: (*picture).phone, room: "Gotify"},
	"pushover":       {frame: (*picture).phone, room: "Pushover", links: "first"},
	"home_assistant": {frame: (*picture).phone, room: "Home Assistant"},
	"twilio":         {frame: (*picture).sms, room: "+1 500 555 0006"},
	"sms":            {frame: (*picture).sms, room: "Allswell"},
	"pagerduty":      {frame: (*picture).incident, room: "Service Acme", object: true},
	"opsgenie":       {frame: (*picture).incident, room: "Team Operations", object: true},
	"oncall_webhook": {frame: (*picture).incident, room: "Integration Allswell", object: true},
	"alertmanager":   {frame: (*picture).incident, room: "Group monitor.down", object: true},
	"command":        {frame: (*picture).program, room: "/usr/local/bin/alert ops"},
}

var withoutWidth = strings.NewReplacer(zeroWidth, "", `\`, "")

// checkWords checks that what the picture says is in what is sent.
func (p *picture) checkWords(t *testing.T, svc service, sender *Sender, name string) {
	t.Helper()
	peer := newSink(t)
	channel := newChannel(t, name, svc.config, peer.URL)
	for i, m := range []alert.Message{p.first, p.last} {
		peer.reset(svc.success)
		sender.Send(t.Context(), channel, m)
		sent := ""
		for _, e := range peer.taken() {
			body := string(e.body)
			if svc.form {
				body, _ = url.QueryUnescape(body)
			}
			sent += withoutWidth.Replace(body) + "\n"
		}
		words := []string{m.Headline()}
		if i == 1 && p.object {
			continue // the service is asked to close the alert that it has
		}
		if i == 0 && !p.object {
			words = append(words, details(m))
		}
		if i == 0 && p.links != "" {
			for _, b := range m.Buttons() {
				if p.links != "first" || b.Label == m.Buttons()[0].Label {
					words = append(words, b.Label)
				}
			}
		}
		for _, w := range words {
			if !strings.Contains(sent, w) {
				t.Errorf("the picture of %s shows %q, which is not sent:\n%s", name, w, sent)
			}
		}
	}
}

// canvas is an SVG that is drawn from top to bottom.
type canvas struct {
	bytes.Buffer
	y int // the lower end of what is drawn
}

const pictureWidth = 600

func (c *canvas) text(x, y int, class, text string) { c.anchored("start", x, y, class, text) }

// anchored draws a text that starts, ends or has its middle at x.
func (c *canvas) anchored(anchor string, x, y int, class, text string) {
	fmt.Fprintf(c, "<text class=\"%s\" x=\"%d\" y=\"%d\" text-anchor=\"%s\">%s</text>\n", class, x, y, anchor,
		html.EscapeString(text))
}

func (c *canvas) rect(class string, x, y, width, height, radius int) {
	fmt.Fprintf(c, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"%d\"/>\n", class, x, y, width,
		height, radius)
}

// pictureStyle has the colours of light and dark backgrounds.
const pictureStyle = `<style>
text{font:14px system-ui,-apple-system,"Segoe UI",sans-serif;fill:#1f2328} .b{font-weight:600} .h{font-size:15px;font-weight:600} .m{fill:#59636e;font-size:12px} .l{fill:#0a58ca} .c{font:12px ui-monospace,monospace}
.s{font-size:12px} .w{fill:#fff;font-size:12px;font-weight:600} .bg{fill:#fff;stroke:#d1d9e0} .top{fill:#f6f8fa} .line{fill:#d1d9e0} .card{fill:#f6f8fa} .btn{fill:none;stroke:#818b98} .bad{fill:#cf222e} .good{fill:#0a7d3c} .own{fill:#0a58ca}
@media (prefers-color-scheme:dark){text{fill:#e6edf3} .m{fill:#9198a1} .l{fill:#4493f8} .w{fill:#fff} .bg{fill:#0d1117;stroke:#3d444d} .top,.card{fill:#151b23} .line{fill:#3d444d} .btn{stroke:#656c76} .bad{fill:#da3633} .good{fill:#238636} .own{fill:#1f6feb}}
</style>
`

// draw returns the SVG.
func (p *picture) draw(label string) []byte {
	var c canvas
	p.frame(p, &c)
	var out bytes.Buffer
	fmt.Fprintf(&out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\" "+
			"aria-labelledby=\"t\">\n",
		pictureWidth, c.y, pictureWidth, c.y)
	fmt.Fprintf(&out, "<title id=\"t\">%s: %s; later: %s</title>\n%s", label, html.EscapeString(p.first.Headline()),
		html.EscapeString(p.last.Headline()), pictureStyle)
	fmt.Fprintf(&out, "<rect class=\"bg\" x=\".5\" y=\".5\" width=\"%d\" height=\"%d\" rx=\"10\"/>\n", pictureWidth-1,
		c.y-1)
	out.Write(c.Bytes())
	out.WriteString("</svg>\n")
	return out.Bytes()
}

// top draws the upper edge of a window.
func (c *canvas) top(title, right string) {
	c.rect("top", 1, 1, pictureWidth-2, 38, 10)
	c.rect("line", 1, 39, pictureWidth-2, 1, 0)
	c.text(16, 25, "b", title)
	c.anchored("end", pictureWidth-16, 25, "m", right)
	c.y = 40
}

// buttons draws the links of a message in a row.
func (c *canvas) buttons(m alert.Message, look string, x int) {
	labels := m.Buttons()
	if look == "first" {
		labels = labels[:min(len(labels), 1)]
	}
	if look == "" || len(labels) == 0 {
		return
	}
	c.y += 34
	for _, b := range labels {
		width := 9*len(b.Label) + 24
		if look == "buttons" {
			c.rect("btn", x, c.y-19, width, 28, 6)
			c.anchored("middle", x+width/2, c.y, "b", b.Label)
		} else {
			c.text(x, c.y-4, "l", b.Label)
		}
		x += width + 4
	}
}

// says draws what a message says beside a bar in the colour of its state.
func (p *picture) says(c *canvas, m alert.Message, x int) {
	from, class := c.y+8, "bad"
	if m.Phase() == alert.PhaseResolve {
		class = "good"
	}
	c.y += 24
	c.text(x+14, c.y, "h", m.Headline())
	if text := details(m); text != "" && !p.object {
		c.y += 23
		c.text(x+14, c.y, "t", text)
	}
	c.buttons(m, p.links, x+14)
	c.rect(class, x, from, 4, c.y-from+12, 2)
	c.y += 12
}

func (p *picture) chat(c *canvas) {
	c.top(p.room, "")
	for i, m := range []alert.Message{p.first, p.last} {
		x := 16
		if i == 1 && p.thread {
			x = 66
			c.rect("line", 36, c.y, 2, 40, 1)
		}
		c.y += 16
		c.rect("own", x, c.y, 36, 36, 8)
		c.anchored("middle", x+18, c.y+23, "w", "A")
		c.text(x+50, c.y+13, "b", "Allswell")
		c.text(x+114, c.y+13, "m", m.At.Format("15:04"))
		c.y += 14
		p.says(c, m, x+50)
	}
	c.y += 16
}

func (p *picture) phone(c *canvas) {
	c.y = 6
	for _, m := range []alert.Message{p.last, p.first} {
		from := c.y + 10
		card := canvas{y: from + 28}
		card.text(84, card.y, "m", p.room+" · "+m.At.Format("15:04"))
		card.rect("own", 40, from+16, 22, 22, 6)
		card.anchored("middle", 51, from+31, "w", "A")
		p.says(&card, m, 70)
		c.rect("card", 24, from, pictureWidth-48, card.y-from+8, 14)
		c.Write(card.Bytes())
		c.y = card.y + 8
	}
	c.y += 16
}

func (p *picture) sms(c *canvas) {
	c.top(p.room, "Text message")
	for _, m := range []alert.Message{p.first, p.last} {
		c.y += 14
		lines := strings.Split(m.Text(480), "\n")
		c.rect("card", 16, c.y, pictureWidth-32, 20*len(lines)+18, 14)
		for _, line := range lines {
			c.y += 20
			c.text(30, c.y+3, "s", line)
		}
		c.y += 18
	}
	c.y += 16
}

func (p *picture) mail(c *canvas) {
	c.top(p.first.Headline(), p.first.At.Format("15:04"))
	c.text(16, c.y+24, "m", "To: "+p.room)
	c.y += 36
	for _, line := range strings.Split(p.first.Text(emailText), "\n") {
		c.y += 21
		c.text(16, c.y, "t", alert.Shorten(line, 80))
	}
	c.y += 16
	c.rect("line", 1, c.y, pictureWidth-2, 1, 0)
	c.text(16, c.y+25, "b", p.last.Headline())
	c.anchored("end", pictureWidth-16, c.y+25, "m", "answers the mail above")
	c.y += 40
}

func (p *picture) incident(c *canvas) {
	c.top(p.room, "Alerts")
	for i, state := range []string{"Triggered", "Resolved"} {
		m := []alert.Message{p.first, p.last}[i]
		c.y += 14
		c.rect([]string{"bad", "good"}[i], 16, c.y, 86, 24, 12)
		c.anchored("middle", 59, c.y+16, "w", state)
		c.text(118, c.y+17, "b", p.first.Headline())
		c.text(118, c.y+36, "m", string(p.first.Severity())+" · "+p.first.Thread.ID)
		c.anchored("end", pictureWidth-16, c.y+17, "m", m.At.Format("15:04"))
		c.y += 42
	}
	c.y += 10
}

// program draws the JSON that a program gets.
func (p *picture) program(c *canvas) {
	c.top(p.room, "JSON")
	pretty, err := json.MarshalIndent(newWebhookMessage(p.first), "", "  ")
	if err != nil {
		panic(err)
	}
	c.y += 12
	for line := range strings.Lines(string(pretty)) {
		line = strings.TrimRight(line, "\n")
		c.y += 17
		indent := len(line) - len(strings.TrimLeft(line, " "))
		c.text(16+7*indent, c.y, "c", alert.Shorten(strings.TrimLeft(line, " "), 76-indent))
	}
	c.y += 16
}
