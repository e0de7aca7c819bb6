package main

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/allswell/allswell"
)

// story tells one story: that of a job which has ended by itself, or else, in
// turns, that of one that is killed, that of a human with an incident, and that
// of planned maintenance.
func (d *demo) story(turn int) error {
	if j := d.dead(); j != nil {
		d.say("The process of the %s (%d) has ended. Was that you?", j.name, j.pid())
		return d.outage(j)
	}
	j := d.jobs[turn/3%len(d.jobs)]
	switch turn % 3 {
	case 1:
		return d.slowWebsite()
	case 2:
		return d.maintenance(j)
	}
	j.kill()
	d.say("The process of the %s (%d) is killed: its pings stop. Watch %s on the page.", j.name, j.pid(), j.component)
	return d.outage(j)
}

// outage is the story of a job whose process has ended: Allswell notices, a
// human says something, the process is started again, and all is reversed.
func (d *demo) outage(j *job) error {
	if err := d.await(j, allswell.MonitorDown); err != nil {
		return err
	}
	incident, err := d.openIncident(j)
	if err != nil {
		return err
	}
	d.say("Allswell noticed: %s shows a major outage, and an incident is open: %s/incidents/%s", j.component, d.pageURL(), incident)
	if err := d.sleep(3 * time.Second); err != nil {
		return err
	}
	if err := d.update(incident, "identified", "The process was killed. We are about to start it again."); err != nil {
		return err
	}
	if err := d.sleep(4 * time.Second); err != nil {
		return err
	}
	if err := j.start(); err != nil {
		return err
	}
	d.say("The %s runs again, as process %d, and pings.", j.name, j.pid())
	if err := d.await(j, allswell.MonitorUp); err != nil {
		return err
	}
	d.say("Its first ping reversed all of it: %s is operational, and the incident is resolved.", j.component)
	return nil
}

// openIncident returns the id of the incident that the job's outage opened; ""
// if somebody closed it in the meantime.
func (d *demo) openIncident(j *job) (string, error) {
	found, _, err := d.api.list(d.ctx, pathOf("pages", demoPage, "incidents")+"?resolved=false", 100)
	if err != nil {
		return "", err
	}
	for _, raw := range found {
		i, err := decode[apiIncident](raw)
		if err != nil {
			return "", err
		}
		if strings.HasPrefix(i.Title, j.name+" ") {
			return i.ID, nil
		}
	}
	return "", nil
}

// update is a human who changes an incident's state and says why.
func (d *demo) update(incident, state, message string) error {
	if incident == "" {
		return nil
	}
	if _, err := d.api.call(d.ctx, http.MethodPatch, pathOf("incidents", incident), body{"state": state}); err != nil {
		return err
	}
	if _, err := d.api.call(d.ctx, http.MethodPost, pathOf("incidents", incident, "updates"), body{"message": message}); err != nil {
		return err
	}
	d.say("A human sets the incident to %s and writes: %s", state, message)
	return nil
}

// slowWebsite is the story of an incident that humans open and resolve.
func (d *demo) slowWebsite() error {
	website, err := d.component("Website")
	if err != nil {
		return err
	}
	incident, err := d.make(pathOf("pages", demoPage, "incidents"), body{
		"title": "Pages load slowly", "impact": "minor", "message": "Some pages take several seconds. We are looking into it.",
		"components": []body{{"id": website, "status": allswell.StatusDegraded}},
	})
	if err != nil {
		return err
	}
	d.say("A human opens an incident that has Website degraded: %s/incidents/%s", d.pageURL(), incident)
	for _, step := range []struct{ state, message string }{
		{"identified", "A cache was switched off by mistake."},
		{"monitoring", "The cache is back, and pages load quickly again."},
	} {
		if err := d.sleep(5 * time.Second); err != nil {
			return err
		}
		if err := d.update(incident, step.state, step.message); err != nil {
			return err
		}
	}
	if err := d.sleep(5 * time.Second); err != nil {
		return err
	}
	if _, err := d.api.call(d.ctx, http.MethodPatch, pathOf("incidents", incident), body{"state": "resolved", "resolved": true}); err != nil {
		return err
	}
	d.say("The human resolves the incident, and Website is operational by itself.")
	return nil
}

// maintenance is the story of a job that is stopped for planned maintenance:
// nobody is alarmed.
func (d *demo) maintenance(j *job) error {
	component, err := d.component(j.component)
	if err != nil {
		return err
	}
	begins := time.Now().Add(5 * time.Second)
	id, err := d.make(pathOf("pages", demoPage, "maintenances"), body{
		"title": "New version of the " + j.name, "message": "It pauses for a moment.", "components": []string{component},
		"scheduled_for": allswell.FormatTime(begins), "scheduled_until": allswell.FormatTime(begins.Add(10 * time.Minute)),
	})
	if err != nil {
		return err
	}
	d.say("A human plans maintenance of %s, to begin in 5 seconds: %s/maintenances/%s", j.component, d.pageURL(), id)
	if err := d.until("the maintenance has begun", func() (bool, error) {
		m, err := read[struct{ State allswell.MaintenanceState }](d.ctx, d.api, pathOf("maintenances", id))
		return m.State == allswell.MaintenanceInProgress, err
	}); err != nil {
		return err
	}
	j.kill()
	d.say("It has begun by the clock, and %s is under maintenance. The %s is stopped for it: its silence is planned, and nobody is alarmed.", j.component, j.name)
	if err := d.sleep(10 * time.Second); err != nil {
		return err
	}
	if err := j.start(); err != nil {
		return err
	}
	if _, err := d.api.call(d.ctx, http.MethodPatch, pathOf("maintenances", id), body{"state": allswell.MaintenanceCompleted}); err != nil {
		return err
	}
	d.say("The %s runs again, as process %d. The human ends the maintenance early, and %s is operational.", j.name, j.pid(), j.component)
	return nil
}

// component returns the id of a component of the example.
func (d *demo) component(name string) (string, error) {
	found, _, err := d.api.list(d.ctx, pathOf("pages", demoPage, "components"), 100)
	if err != nil {
		return "", err
	}
	for _, raw := range found {
		c, err := decode[apiComponent](raw)
		if err != nil {
			return "", err
		}
		if c.Name == name {
			return c.ID, nil
		}
	}
	return "", fmt.Errorf("the demo's component %s is gone", name)
}
