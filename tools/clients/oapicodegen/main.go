// Command oapicodegen creates a page, a component, monitors and an incident with a client that oapi-codegen generated
// into the package allswell beside it. Its arguments are the server's URL and an API token.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"

	"github.com/allswell/allswell/tools/clients/oapicodegen/allswell"
)

func main() {
	ctx := context.Background()
	authenticate := func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+os.Args[2])
		return nil
	}
	c, err := allswell.NewClientWithResponses(os.Args[1], allswell.WithRequestEditorFn(authenticate))
	must(err)

	page, err := c.CreatePageWithResponse(ctx, nil, allswell.CreatePageJSONRequestBody{Name: "Acme", Slug: "acme-o"})
	must(err)
	created(page.JSON201 != nil, page.Body)
	slug := page.JSON201.Data.Slug

	component, err := c.CreateComponentWithResponse(ctx, slug, nil,
		allswell.CreateComponentJSONRequestBody{Name: "API"})
	must(err)
	created(component.JSON201 != nil, component.Body)
	id := component.JSON201.Data.Id

	interval := 300
	heartbeat, err := c.CreateMonitorWithResponse(ctx, nil, allswell.CreateMonitorJSONRequestBody{
		Name: "Backup", Interval: &interval, Page: &slug, ComponentId: &id,
	})
	must(err)
	created(heartbeat.JSON201 != nil, heartbeat.Body)
	schedule := heartbeat.JSON201.Data.Schedule
	if schedule == nil || schedule.Interval == nil || *schedule.Interval != interval {
		log.Fatalf("the schedule is %+v", schedule)
	}

	kind, url := allswell.NullableMonitorType("http"), os.Args[1]
	check, err := c.CreateMonitorWithResponse(ctx, nil, allswell.CreateMonitorJSONRequestBody{
		Name: "Web", Type: &kind, Url: &url,
	})
	must(err)
	created(check.JSON201 != nil, check.Body)
	if got := check.JSON201.Data.Url; got == nil || *got != url {
		log.Fatalf("the URL is %v", got)
	}

	incident, err := c.CreateIncidentWithResponse(ctx, slug, nil, allswell.CreateIncidentJSONRequestBody{
		Title: "Logins fail", Message: new("We are looking into it."),
		Components: &[]allswell.AffectedStatus{{Id: id, Status: "major_outage"}},
	})
	must(err)
	created(incident.JSON201 != nil, incident.Body)

	list, err := c.ListIncidentsWithResponse(ctx, slug, nil)
	must(err)
	if list.JSON200 == nil || list.JSON200.Meta.Total != 1 || list.JSON200.Data[0].Id != incident.JSON201.Data.Id {
		log.Fatalf("the incidents are %s", list.Body)
	}
	again, err := c.CreatePageWithResponse(ctx, nil, allswell.CreatePageJSONRequestBody{Name: "Acme", Slug: slug})
	must(err)
	if again.JSON422 == nil || len(again.JSON422.Errors["slug"]) != 1 {
		log.Fatalf("a slug that is taken is answered %s", again.Body)
	}
	fmt.Println("done")
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func created(ok bool, body []byte) {
	if !ok {
		log.Fatalf("not created: %s", body)
	}
}
