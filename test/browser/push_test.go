package browser

import (
	"testing"

	"github.com/allswell/allswell/internal/store/storetest"
	"github.com/allswell/allswell/test/binary"
)

// TestPushInABrowser presses "Notify me when this is resolved". The service worker is registered and the server is
// asked for real; only the push service, which a test cannot reach, and the question to the user are replaced.
func TestPushInABrowser(t *testing.T) {
	t.Parallel()
	c := newBrowser(t)
	server := binary.NewServer(t, program(t), "ALLSWELL_DATABASE="+storetest.SQLite(t),
		"ALLSWELL_BOOTSTRAP_TOKEN="+token)
	server.Start()
	client := binary.NewClient(server.URL, token)
	type made struct{ ID string }
	var incident binary.Data[made]
	client.Must(t, "POST", "/api/v1/pages", map[string]any{"name": "Acme", "slug": "acme"}, nil)
	client.Must(t, "POST", "/api/v1/pages/acme/incidents",
		map[string]any{"title": "Cards are refused", "impact": "major", "message": "We are looking."}, &incident)
	p := c.open(t, views[0], server.URL+"/status/acme/incidents/"+incident.Data.ID)
	p.eventually(`document.querySelector(".push").checkVisibility()`)
	look(p, views[0], "incident-push")
	// The keys are from the example in RFC 8291.
	eval[any](p, `Notification.requestPermission = async () => "granted";
		PushManager.prototype.subscribe = async (options) => {
			window.asked = options.userVisibleOnly && options.applicationServerKey.length;
			return { toJSON: () => ({ endpoint: "https://fcm.googleapis.com/fcm/send/abcdefghijklmnop", keys: {
				p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4", auth: "BTBZMqHH6r4Tts7J_aSIgg" } }) };
		};
		document.querySelector(".push button").click()`)
	const status = `document.querySelector(".push [role=status]").innerText`
	p.eventually(status + ` !== ""`)
	if got := eval[string](p, status); got != "This browser will notify you when the incident is resolved." {
		t.Errorf("the text of the button: %q", got)
	}
	if got := eval[int](p, `window.asked`); got != 65 {
		t.Errorf("the server's key has %d bytes", got)
	}
	look(p, views[0], "incident-push-done")
	var list binary.Data[[]struct{ Channel, Target string }]
	client.Must(t, "GET", "/api/v1/pages/acme/subscribers", nil, &list)
	if len(list.Data) != 1 || list.Data[0].Channel != "push" ||
		list.Data[0].Target != "https://fcm.googleapis.com/…mnop" {
		t.Errorf("the subscribers: %+v", list.Data)
	}
}
