package cli

import (
	"fmt"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/kernel"
)

// silence is embedded by the commands that notify subscribers of an incident.
type silence struct {
	NoNotify bool `help:"Notify no one."`
}

// notify returns the field of the API; nil: its default.
func (s silence) notify() *bool {
	if s.NoNotify {
		return new(false)
	}
	return nil
}

// updateArgument is an update of an incident.
type updateArgument struct {
	incidentArgument
	Update string `arg:"" help:"Id of the update or the beginning of it (see incident show), or latest."`
}

// find returns the update and the id of its incident.
func (a *updateArgument) find(c *commandContext) (incident string, u *client.IncidentUpdate, err error) {
	if incident, err = a.id(c); err != nil {
		return "", nil, err
	}
	id := a.Update
	switch list := c.api.ListUpdates(incident); {
	case id == "latest":
		id = ""
		if err = search(c, list, "update", func(u *client.IncidentUpdate) { id = u.ID }); err == nil && id == "" {
			err = fmt.Errorf("the incident has no updates")
		}
	case !isWholeID(kernel.PrefixUpdate, id):
		id, err = findByPrefix(c, list, "update", id, func(u *client.IncidentUpdate) string { return u.ID })
	}
	if err != nil {
		return "", nil, err
	}
	u, err = c.api.GetUpdate(c.Ctx, incident, id)
	return incident, u, err
}

type incidentEditUpdate struct {
	updateArgument
	updateText
}

func (cmd *incidentEditUpdate) Run(c *commandContext) error {
	message, err := cmd.read(c)
	if err != nil {
		return err
	}
	incident, u, err := cmd.find(c)
	if err != nil {
		return err
	}
	edited, err := c.api.EditUpdate(c.Ctx, incident, u.ID, message, client.IfMatch(u.ETag()))
	return object(c, edited, err, func(*client.IncidentUpdate) {
		c.Printf("Changed the text of the update. The page says that it was edited; no one is notified.\n")
	})
}

type incidentDeleteUpdate struct {
	updateArgument
	confirmation
}

func (cmd *incidentDeleteUpdate) Run(c *commandContext) error {
	incident, u, err := cmd.find(c)
	if err != nil {
		return err
	}
	if err := cmd.confirm(c, func() (string, error) {
		return fmt.Sprintf("the update of %s", console.Time(u.CreatedAt)), nil
	}); err != nil {
		return err
	}
	return c.deleted(c.api.DeleteUpdate(c.Ctx, incident, u.ID, client.IfMatch(u.ETag())), "update", u.ID)
}
