package alertchannel

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/audience"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/configfield"
)

// matrixType sends to a room, as described at
// https://spec.matrix.org/latest/client-server-api/#put_matrixclientv3roomsroomidsendeventtypetxnid, with threads
// (#threading) and without mentions (#user-and-room-mentions).
var matrixType = Type{
	Name: "matrix", Label: "Matrix", Help: "Unencrypted Matrix room.",
	Fields: []configfield.Field{
		{
			Name: "server_url", Label: "Server", Help: "The URL of the homeserver.", Kind: configfield.KindText,
			Required: true, Max: 500, Example: "https://matrix.example.com",
		},
		{
			Name: "room_id", Label: "Room",
			Help: "The internal id of the room, which begins with an exclamation mark.", Kind: configfield.KindText,
			Required: true, Max: 255, Example: "!abcdefghijkl:example.com",
		},
		secretField("access_token", "Access token", "Access token of the account that sends, which is in the room."),
	},
	New: func() Channel { return new(matrix) },
}

// matrixText is the maximum length of a text in characters. An event may have 65,536 bytes.
const matrixText = 8000

type matrix struct {
	Server      string `json:"server_url"`
	RoomID      string `json:"room_id"`
	AccessToken string `json:"access_token,omitzero"`
}

// Destination returns the server.
func (c *matrix) Destination() configfield.Destination { return serverDestination(c.Server) }

func (c *matrix) Validate(bad *kernel.ValidationError) {
	checkServer(bad, &c.Server)
	if !strings.HasPrefix(c.RoomID, "!") {
		bad.Add("room_id", "must be an internal id such as !abcdefghijkl:example.com")
	}
}

// content returns the content of the event without its formatted text.
func (c *matrix) content(m alert.Message) map[string]any {
	content := map[string]any{
		"msgtype": "m.text", "body": plainText(m, matrixText, nil), "m.mentions": map[string]any{},
	}
	if first := reference(m); first != "" {
		content["m.relates_to"] = map[string]any{
			"rel_type": "m.thread", "event_id": first, "is_falling_back": true,
			"m.in_reply_to": map[string]any{"event_id": first},
		}
	}
	return content
}

func (c *matrix) host() string { return hostOf(c.Server) }

func (c *matrix) send(ctx context.Context, s *Sender, m alert.Message) Result {
	html := "<strong>" + fit(m.Headline(), matrixText/4, htmlEscape.Replace) + "</strong>"
	if text := details(m); text != "" {
		html += "<br>" + fit(text, matrixText, googleChatLines)
	}
	for _, b := range m.Buttons() {
		html += `<br><a href="` + htmlEscape.Replace(b.URL) + `">` + b.Label + "</a>"
	}
	body := c.content(m)
	body["format"], body["formatted_body"] = "org.matrix.custom.html", html
	r := request{
		method: http.MethodPut,
		url:    c.Server + "/_matrix/client/v3/rooms/" + url.PathEscape(c.RoomID) + "/send/m.room.message/" + m.ID,
		body:   body, name: "Matrix", header: map[string]string{"Authorization": "Bearer " + c.AccessToken},
	}
	a, bad := s.callTwice(ctx, r, c.content(m))
	if bad != nil {
		return *bad
	}
	var said struct {
		EventID    string  `json:"event_id"`
		RetryAfter float64 `json:"retry_after_ms"`
	}
	decoded := a.decode(&said)
	result := a.outcome("Matrix")
	if result.Result != audience.SendAccepted {
		return result.wait(said.RetryAfter / 1000)
	}
	if !decoded || said.EventID == "" {
		return a.unclear("Matrix")
	}
	return sent(said.EventID)
}
