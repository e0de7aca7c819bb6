// Command ogen creates a page, a component, monitors and an incident with a client that ogen generated into the package
// allswell beside it. Its arguments are the server's URL and an API token.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/allswell/allswell/tools/clients/ogen/allswell"
)

type token string

func (t token) ApiToken(context.Context, allswell.OperationName) (allswell.ApiToken, error) {
	return allswell.ApiToken{Token: string(t)}, nil
}

func main() {
	ctx := context.Background()
	c, err := allswell.NewClient(os.Args[1], token(os.Args[2]))
	must(err)

	newPage := &allswell.CreatePageReq{Name: "Acme", Slug: "acme-g"}
	page := as[*allswell.CreatePageCreatedHeaders](c.CreatePage(ctx, newPage,
		allswell.CreatePageParams{})).Response.Data
	slug := string(page.Slug)

	component := as[*allswell.CreateComponentCreatedHeaders](c.CreateComponent(ctx,
		&allswell.CreateComponentReq{Name: "API"}, allswell.CreateComponentParams{PageSlug: slug})).Response.Data

	heartbeat := as[*allswell.CreateMonitorCreatedHeaders](c.CreateMonitor(ctx, &allswell.CreateMonitorReq{
		Name:        "Backup",
		Interval:    allswell.NewOptNilInt(300),
		Page:        allswell.NewOptNilString(slug),
		ComponentID: allswell.NewOptNilString(component.ID),
	}, allswell.CreateMonitorParams{})).Response.Data
	if got := heartbeat.Schedule.Value.Interval.Value; got != 300 {
		log.Fatalf("the interval is %d", got)
	}

	check := as[*allswell.CreateMonitorCreatedHeaders](c.CreateMonitor(ctx, &allswell.CreateMonitorReq{
		Name: "Web",
		Type: allswell.NewOptNilNullableMonitorType("http"),
		URL:  allswell.NewOptNilString(os.Args[1]),
	}, allswell.CreateMonitorParams{})).Response.Data
	if check.URL.Value != os.Args[1] {
		log.Fatalf("the URL is %s", check.URL.Value)
	}

	incident := as[*allswell.CreateIncidentCreatedHeaders](c.CreateIncident(ctx, &allswell.CreateIncidentReq{
		Title:   "Logins fail",
		Message: allswell.NewOptNilString("We are looking into it."),
		Components: allswell.NewOptNilAffectedStatusArray([]allswell.AffectedStatus{
			{ID: component.ID, Status: "major_outage"},
		}),
	}, allswell.CreateIncidentParams{PageSlug: slug})).Response.Data

	list := as[*allswell.ListIncidentsOKHeaders](c.ListIncidents(ctx,
		allswell.ListIncidentsParams{PageSlug: slug})).Response
	if list.Meta.Total != 1 || list.Data[0].ID != incident.ID {
		log.Fatalf("the incidents are %+v", list)
	}
	again := as[*allswell.InvalidHeaders](c.CreatePage(ctx, newPage, allswell.CreatePageParams{})).Response
	if len(again.Errors["slug"]) != 1 {
		log.Fatalf("a slug that is taken is answered %+v", again)
	}
	fmt.Println("done")
}

// as returns a response of the type T; any other response ends the program.
func as[T any](answer any, err error) T {
	must(err)
	expected, ok := answer.(T)
	if !ok {
		log.Fatalf("the answer is a %T: %+v", answer, answer)
	}
	return expected
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
