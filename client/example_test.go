package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/allswell/allswell/client"
)

// newServer returns a fake server and a client of it.
func newServer(answers map[string]string) (*httptest.Server, *client.Client) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := answers[r.Method+" "+r.URL.Path]
		if body == "" {
			w.WriteHeader(http.StatusNotFound)
			body = `{"message": "Not found."}`
		}
		fmt.Fprint(w, body)
	}))
	c, err := client.New(server.URL, "secret", client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	return server, c
}

func Example() {
	server, c := newServer(map[string]string{
		"POST /api/v1/pages/acme/incidents": `{"data": {"id": ` +
			`"019aa45c-2f3e-7b1c-9d5a-6c1f0e2d4b8a", "title": "Logins fail", "state": "investigating"}}`,
		"PATCH /api/v1/incidents/019aa45c-2f3e-7b1c-9d5a-6c1f0e2d4b8a": `{"data": {"id": ` +
			`"019aa45c-2f3e-7b1c-9d5a-6c1f0e2d4b8a", "title": "Logins fail", "state": "resolved", "resolved": true}}`,
	})
	defer server.Close()
	ctx := context.Background()

	incident, err := c.CreateIncident(ctx, "acme", client.NewIncident{
		Title:   "Logins fail",
		Impact:  new(client.ImpactMajor),
		Message: new("We are looking into it."),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(incident.Title, "is", incident.State)

	incident, err = c.ChangeIncident(ctx, incident.ID, client.IncidentChange{Resolved: new(true)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(incident.Title, "is", incident.State)
	// Output:
	// Logins fail is investigating
	// Logins fail is resolved
}

// The body is in README.md, too.
func Example_configuration() {
	server, _ := newServer(map[string]string{
		"PUT /api/v1/monitors/nightly-backup": `{"data": {"ping_url": ` +
			`"https://status.example.com/api/v1/heartbeat/8Jq2"}}`,
	})
	defer server.Close()
	os.Setenv("ALLSWELL_URL", server.URL)
	os.Setenv("ALLSWELL_TOKEN", "secret")
	defer os.Unsetenv("ALLSWELL_URL")
	defer os.Unsetenv("ALLSWELL_TOKEN")
	ctx := context.Background()

	c, err := client.New(os.Getenv("ALLSWELL_URL"), os.Getenv("ALLSWELL_TOKEN"), client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	monitor, err := c.PutMonitor(ctx, "nightly-backup", client.NewMonitor{
		Name: "Nightly backup", Interval: client.SecondsOf(25 * time.Hour), Page: "acme",
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("ping", monitor.PingURL)
	// Output: ping https://status.example.com/api/v1/heartbeat/8Jq2
}

func ExampleList_All() {
	server, c := newServer(map[string]string{
		"GET /api/v1/pages/acme/components": `{"data": [{"name": "API", "status": "operational"}, {"name": "Shop", ` +
			`"status": "degraded"}], "meta": {"total": 2}}`,
	})
	defer server.Close()

	for component, err := range c.ListComponents("acme").All(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(component.Name, component.Status)
	}
	// Output:
	// API operational
	// Shop degraded
}

func ExampleError() {
	server, c := newServer(nil)
	defer server.Close()

	_, err := c.GetPage(context.Background(), "acme")
	if errors.Is(err, client.ErrNotFound) {
		fmt.Println("there is no such page")
	}
	var refused *client.Error
	if errors.As(err, &refused) {
		fmt.Println(refused.Status, refused.Code)
	}
	// Output:
	// there is no such page
	// 404 not_found
}

func ExampleIdempotencyKey() {
	server, c := newServer(map[string]string{"POST /api/v1/pages": `{"data": {"slug": "acme"}}`})
	defer server.Close()

	// Both calls create one page, even in different processes.
	for range 2 {
		page, err := c.CreatePage(context.Background(), client.NewPage{Name: "Acme", Slug: "acme"},
			client.IdempotencyKey("deploy-4711"))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(page.Slug)
	}
	// Output:
	// acme
	// acme
}

func ExampleNullable() {
	server, c := newServer(map[string]string{"PATCH /api/v1/pages/acme": `{"data": {"slug": "acme"}}`})
	defer server.Close()

	// The name is changed, the description is cleared, everything else is kept.
	_, err := c.ChangePage(context.Background(), "acme", client.PageChange{
		Name:        new("Acme Corporation"),
		Description: client.Null[string](),
	})
	fmt.Println(err)
	// Output: <nil>
}
