package api

import (
	"testing"
	"time"

	"github.com/allswell/allswell/internal/store"
)

// TestTakeOver takes over the incident of a monitor, and one that a person opened.
func TestTakeOver(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.post("/api/v1/pages", `{"name":"Acme","slug":"acme"}`).is(201)
		monitor := c.post("/api/v1/monitors",
			`{"name":"Backup","interval":60,"page":"acme","failure_threshold":1}`).is(201).data()
		alive := store.LivenessRecord{Replica: "a"}
		_, err := c.store.RecordPings(t.Context(), []string{monitor["token"].(string)}, alive, store.PingOrigins{})
		if err != nil {
			t.Fatal(err)
		}
		for end := c.clock.Now().Add(3 * time.Minute); c.clock.Now().Before(end); {
			c.clock.Advance(store.LivenessInterval)
			if err := c.store.RecordLiveness(t.Context(), alive); err != nil {
				t.Fatal(err)
			}
			if _, err := c.store.Tick(t.Context(), c.clock.Now().Truncate(time.Minute), "a", 0); err != nil {
				t.Fatal(err)
			}
		}
		automatic := c.get("/api/v1/pages/acme/incidents").is(200).rows()[0]["id"].(string)
		takenOver := func(want bool) {
			t.Helper()
			c.get("/api/v1/monitors/" + monitor["id"].(string) + "/explain").is(200).has(map[string]any{
				"incident_taken_over": want,
			})
		}
		for range 2 {
			c.post("/api/v1/incidents/"+automatic+"/take-over", nil).is(200)
			takenOver(true)
		}
		c.post("/api/v1/incidents/"+automatic+"/give-back", nil).is(200)
		takenOver(false)
		manual := c.post("/api/v1/pages/acme/incidents", `{"title":"Slow"}`).is(201).id()
		for _, action := range []string{"/take-over", "/give-back"} {
			c.post("/api/v1/incidents/"+manual+action, nil).complains("incident")
		}
	})
}
