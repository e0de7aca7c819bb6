package notify

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store"
)

// chatPosts serves rooms of all services, and returns the bodies that they are sent. answer may write another answer.
func chatPosts(t *testing.T, answer func(http.ResponseWriter) bool) (url string, posts chan string) {
	posts = make(chan string, 64)
	room := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if answer != nil && answer(w) {
			return
		}
		posts <- string(body)
		_, _ = io.WriteString(w, `{"id":"1"}`)
	}))
	t.Cleanup(room.Close)
	return room.URL + "/services/abcdefghijklmnop", posts
}

// shownText returns a post without what JSON and the services put between its characters.
func shownText(post string) string {
	var plain strings.Builder
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			plain.WriteString(v + "\n")
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	var v any
	_ = json.Unmarshal([]byte(post), &v)
	walk(v)
	return strings.NewReplacer(`\`, "", "\u200b", "").Replace(plain.String())
}

// TestChats subscribes a room of each service. It is sent a code, nothing else before that is entered, then news, and
// nothing after the end.
func TestChats(t *testing.T) {
	t.Parallel()
	for _, channel := range audience.ChatChannels {
		t.Run(string(channel), func(t *testing.T) {
			runOnSites(t, func(s *site) {
				url, posts := chatPosts(s.T, nil)
				s.start("")
				sub, err := s.CreateSubscriber(s.Context(), s.ws, "acme",
					audience.NewSubscriber{Channel: channel, Target: url}, nil)
				s.ok(err)
				if strings.Contains(sub.Target+sub.Address, "/services/") || !sub.ConfirmedAt.IsZero() {
					s.Fatalf("subscriber of a chat: %+v", sub)
				}
				first := shownText(<-posts)
				code := regexp.MustCompile(`[B-Z2-9]{4}-[B-Z2-9]{4}`).FindString(first)
				if code == "" || !strings.Contains(first, "asked to post updates about incidents") ||
					!strings.Contains(first, "https://status.example.com/status/acme/subscription/"+sub.Key) {
					s.Fatalf("the request for confirmation: %s", first)
				}
				s.openIncident("before")
				s.fanOutAll()
				if _, err := s.ConfirmSubscription(s.Context(), "acme", sub.Key); err == nil {
					s.Error("confirmed without a code")
				}
				var wrong *kernel.ValidationError
				try := store.CodeTry{Slug: "acme", Key: sub.Key, Code: "BBBB-BBBB"}
				if _, err := s.ConfirmWithCode(s.Context(), try); !errors.As(err, &wrong) || !wrong.Has("code") {
					s.Errorf("a wrong code: %v", err)
				}
				confirmed, err := s.ConfirmWithCode(s.Context(), store.CodeTry{Slug: "acme", Key: sub.Key, Code: code})
				s.ok(err)
				if confirmed.ConfirmedAt.IsZero() {
					s.Error("the subscriber is not confirmed")
				}
				s.mentionsNobody(channel, sub.Key, posts)
				s.waitFor("both are sent", func() bool { return s.states() == "map[sent:2]" })
				s.ok(s.Unsubscribe(s.Context(), "acme", sub.Key))
				s.openIncident("after")
				s.fanOutAll()
				if len(posts) != 0 || s.states() != "map[sent:2]" {
					s.Errorf("%d more, %s", len(posts), s.states())
				}
			})
		})
	}
}

// mentionsNobody opens an incident, and checks its message in a chat: it has links, and a title mentions nobody.
func (s *site) mentionsNobody(channel audience.Channel, key string, posts <-chan string) {
	s.Helper()
	text := "Orders take long. <!channel> @everyone"
	_, err := s.CreateIncident(s.Context(), s.ws, "acme",
		statuspage.Incident{Title: "Checkout <!here> @channel [x](http://evil) is slow"},
		statuspage.IncidentUpdate{Message: text}, nil)
	s.ok(err)
	raw := <-posts
	news := shownText(raw)
	for _, want := range []string{
		"Acme", "is slow", "Orders take long.", "/status/acme/unsubscribe/" + key,
		"/status/acme/incidents/",
	} {
		if !strings.Contains(news, want) {
			s.Errorf("no %q in %s", want, news)
		}
	}
	// Cards and blocks of plain text have no mentions; elsewhere they are escaped.
	if channel == audience.ChannelMattermost &&
		(strings.Contains(raw, "@channel") || strings.Contains(raw, "@everyone")) {
		s.Errorf("a title mentions people: %s", raw)
	}
}

// TestChatsCombine checks that what waits while a service asks for a pause is sent as one message, as it is by mail.
func TestChatsCombine(t *testing.T) {
	runOnSites(t, func(s *site) {
		busy := true
		answered := make(chan struct{}, 64)
		release := make(chan struct{})
		url, posts := chatPosts(s.T, func(w http.ResponseWriter) bool {
			if !busy {
				return false
			}
			busy = false
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			answered <- struct{}{}
			<-release
			return true
		})
		s.start("")
		s.subscribe(audience.ChannelMattermost, url)
		inc, err := s.CreateIncident(s.Context(), s.ws, "acme", statuspage.Incident{Title: "Checkout is slow"},
			statuspage.IncidentUpdate{Message: "First news."}, nil)
		s.ok(err)
		<-answered
		for _, text := range []string{"Second news.", "Third news."} {
			_, err := s.PostUpdate(s.Context(), s.ws, inc.ID, statuspage.IncidentUpdate{Message: text}, nil)
			s.ok(err)
		}
		close(release)
		s.waitFor("one is sent", func() bool { return s.states() == "map[sent:1 superseded:2]" })
		news := shownText(<-posts)
		for _, want := range []string{"First news.", "Second news.", "Third news."} {
			if !strings.Contains(news, want) {
				s.Errorf("no %q in %s", want, news)
			}
		}
		if len(posts) != 0 {
			s.Errorf("%d more messages", len(posts))
		}
	})
}

// TestChatRefuses checks which URLs an operator can add.
func TestChatRefuses(t *testing.T) {
	strict, open := newChat(audience.ChannelSlack, Config{}), newChat(audience.ChannelSlack, Config{AllowPrivate: true})
	defer strict.close()
	defer open.close()
	if err := strict.refuses(t.Context(), "https://192.0.2.1/services/x"); err == nil {
		t.Error("another host is accepted")
	}
	if err := open.refuses(t.Context(), "http://127.0.0.1:8065/hooks/x"); err != nil {
		t.Errorf("private addresses are allowed: %v", err)
	}
}

// TestChatsOfVisitorsAreGuarded checks that a room of a visitor is never at a private address, and that the reason does
// not have the URL.
func TestChatsOfVisitorsAreGuarded(t *testing.T) {
	url, posts := chatPosts(t, nil)
	c := newChat(audience.ChannelMattermost, Config{AllowPrivate: true, BaseURL: "https://status.example.com"})
	defer c.close()
	n := mailNotification(audience.PurposeTest)
	n.Subscriber.Channel, n.Subscriber.Address = audience.ChannelMattermost, url
	o := c.send(t.Context(), n)
	if o.Result != audience.SendFailed || strings.Contains(o.Reason+o.Detail, "/services") || len(posts) != 0 {
		t.Errorf("outcome at a private address: %+v", o)
	}
	n.Subscriber.AddedByOperator = true
	if o := c.send(t.Context(), n); o.Result != audience.SendAccepted || len(posts) != 1 {
		t.Errorf("an operator's: %+v", o)
	}
	n.Subscriber.Address = ""
	if o := c.send(t.Context(), n); o.Result != audience.SendFailed || !strings.Contains(o.Reason, "key") {
		t.Errorf("without the key: %+v", o)
	}
}

// TestChatPostIsShort checks that a message about many incidents stays readable, and that it has the color of the
// worst.
func TestChatPostIsShort(t *testing.T) {
	var events []audience.Event
	for i := range 30 {
		events = append(events,
			mailEvent(i, statuspage.EventIncidentCreated, "inc_"+string(rune('a'+i)), "", audience.EventData{
				Title: "Trouble", Impact: kernel.ImpactMinor, State: statuspage.IncidentInvestigating,
				Message: strings.Repeat("word ", 500),
			}))
	}
	events[3].Data.Impact = kernel.ImpactCritical
	n := mailNotification(audience.PurposeEvent, events...)
	n.Delivery.HappenedAt = time.Now()
	p, err := chatPost(n, mailBase)
	if err != nil || len(p.Text) > chatText+2000 || !strings.Contains(p.Text, "25 more") ||
		p.Color.Named != "attention" || len(p.Links) != 3 {
		t.Errorf("%d characters, %+v, %v", len(p.Text), p, err)
	}
}

// TestAnswersOfChats checks that a chat's answer with characters that cannot be stored, or with the URL, which is a
// secret, is a failure like others.
func TestAnswersOfChats(t *testing.T) {
	runOnSites(t, func(s *site) {
		room := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, "a\x00b\x1b\u202e no hook at "+r.URL.Path)
		}))
		s.Cleanup(room.Close)
		s.start("")
		_, err := s.CreateSubscriber(s.Context(), s.ws, "acme",
			audience.NewSubscriber{Channel: audience.ChannelSlack, Target: room.URL + "/services/abcdefghijklmnop"},
			nil)
		s.ok(err)
		s.waitFor("the failure", func() bool { return s.states() == "map[dead:1]" })
		if got, want := s.deliveries()[0].Reason, "Slack answered 403: ab no hook at [secret]"; got != want {
			s.Errorf("the reason is %q, want %q", got, want)
		}
	})
}
