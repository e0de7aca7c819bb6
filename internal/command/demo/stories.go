package demo

import (
	"fmt"
	"time"

	"github.com/allswell/allswell/client"
)

// story plays one story: if the process of a job has ended, the story of its outage; otherwise in turn the stories of a
// killed job, of an incident that people open, of planned maintenance, and of a web server that fails.
func (d *demo) story(turn int) error {
	if j := d.dead(); j != nil {
		d.say("The process of the %s (%d) has ended. Was that you?", j.name, j.pid())
		return d.outage(j)
	}
	j := d.jobs[turn/4%len(d.jobs)]
	switch turn % 4 {
	case 1:
		return d.slowWebsite()
	case 2:
		return d.maintenance(j)
	case 3:
		return d.shopFails()
	}
	j.kill()
	d.say("The process of the %s (%d) is killed: its pings stop. Watch %s on the page.", j.name, j.pid(), j.component)
	return d.outage(j)
}

// outage is the story of a job whose process has ended: Allswell opens an incident, a person
// adds an update, the process is started again, and Allswell resolves the incident.
func (d *demo) outage(j *job) error {
	if err := d.await(j, client.MonitorDown); err != nil {
		return err
	}
	incident, err := d.openIncident(j)
	if err != nil {
		return err
	}
	d.say("Allswell noticed: %s shows a major outage, and an incident is open: %s/incidents/%s", j.component,
		d.pageURL(), incident)
	if err := d.sleep(3 * time.Second); err != nil {
		return err
	}
	err = d.update(incident, client.IncidentIdentified, "The process was killed. We are about to start it again.")
	if err != nil {
		return err
	}
	if err := d.acknowledge(j.monitor.ID); err != nil {
		return err
	}
	if err := d.sleep(4 * time.Second); err != nil {
		return err
	}
	if err := j.start(); err != nil {
		return err
	}
	d.say("The %s runs again, as process %d, and pings.", j.name, j.pid())
	if err := d.await(j, client.MonitorUp); err != nil {
		return err
	}
	d.say("Its first ping reversed all of it: %s is operational, and the incident is resolved.", j.component)
	return nil
}

// openIncident returns the id of the incident that the job's outage opened; "" if it has been deleted.
func (d *demo) openIncident(j *job) (string, error) {
	m, err := d.api.GetMonitor(d.Ctx, j.monitor.ID)
	if err != nil {
		return "", err
	}
	if m.IncidentID == nil {
		return "", nil
	}
	return *m.IncidentID, nil
}

// update changes an incident's state and adds an update, as a person would.
func (d *demo) update(incident string, state client.IncidentState, message string) error {
	if incident == "" {
		return nil
	}
	_, err := d.api.PostUpdate(d.Ctx, incident, client.NewIncidentUpdate{Message: message, State: &state})
	if err != nil {
		return err
	}
	d.say("A human sets the incident to %s and writes: %s", state, message)
	return nil
}

// slowWebsite is the story of an incident that people open and resolve.
func (d *demo) slowWebsite() error {
	website, err := d.component("Website")
	if err != nil {
		return err
	}
	created, err := d.api.CreateIncident(d.Ctx, demoPage, client.NewIncident{
		Title: "Pages load slowly", Impact: new(client.ImpactMinor),
		Message:    new("Some pages take several seconds. We are looking into it."),
		Components: []client.AffectedStatus{{ID: website, Status: client.StatusDegraded}},
	})
	if err != nil {
		return err
	}
	incident := created.ID
	d.say("Someone opens an incident: Website is degraded: %s/incidents/%s", d.pageURL(), incident)
	for _, step := range []struct {
		state   client.IncidentState
		message string
	}{
		{client.IncidentIdentified, "A cache was switched off by mistake."},
		{client.IncidentMonitoring, "The cache is back, and pages load quickly again."},
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
	resolve := client.IncidentChange{State: new(client.IncidentResolved), Resolved: new(true)}
	if _, err := d.api.ChangeIncident(d.Ctx, incident, resolve); err != nil {
		return err
	}
	d.say("The human resolves the incident, and Website is operational by itself.")
	return nil
}

// maintenance is the story of a job that is stopped for planned maintenance, without an alarm.
func (d *demo) maintenance(j *job) error {
	component, err := d.component(j.component)
	if err != nil {
		return err
	}
	begins := time.Now().Add(5 * time.Second)
	planned, err := d.api.CreateMaintenance(d.Ctx, demoPage, client.NewMaintenance{
		Title: "New version of the " + j.name, Message: new("It pauses for a moment."), Components: []string{component},
		ScheduledFor: begins, ScheduledUntil: begins.Add(10 * time.Minute),
	})
	if err != nil {
		return err
	}
	d.say("Someone schedules maintenance of %s, to begin in 5 seconds: %s/maintenances/%s", j.component, d.pageURL(),
		planned.ID)
	if err := d.until("the maintenance has begun", func() (bool, error) {
		m, err := d.api.GetMaintenance(d.Ctx, planned.ID)
		return err == nil && m.State == client.MaintenanceInProgress, err
	}); err != nil {
		return err
	}
	j.kill()
	d.say("It has begun by the clock, and %s is under maintenance. The %s is stopped for it: its silence is planned, "+
		"and no one is alarmed.", j.component, j.name)
	if err := d.sleep(10 * time.Second); err != nil {
		return err
	}
	if err := j.start(); err != nil {
		return err
	}
	_, err = d.api.ChangeMaintenance(d.Ctx, planned.ID,
		client.MaintenanceChange{State: new(client.MaintenanceCompleted)})
	if err != nil {
		return err
	}
	d.say("The %s runs again, as process %d. The human ends the maintenance early, and %s is operational.", j.name,
		j.pid(), j.component)
	return nil
}

// component returns the id of a component of the example.
func (d *demo) component(name string) (string, error) {
	for c, err := range d.api.ListComponents(demoPage).All(d.Ctx) {
		if err != nil {
			return "", err
		}
		if c.Name == name {
			return c.ID, nil
		}
	}
	return "", fmt.Errorf("the demo's component %s is gone", name)
}
