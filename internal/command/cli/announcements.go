package cli

import (
	"time"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/resource/field"
	"github.com/allswell/allswell/internal/shared/timeinput"
)

// AnnouncementCommands are the commands of announcements.
type AnnouncementCommands struct {
	ClientSettings `embed:""`

	List   announcementList   `cmd:"" help:"List a page's announcements, latest first."`
	Show   announcementShow   `cmd:"" help:"Show an announcement."`
	Create announcementCreate `cmd:"" help:"Show an announcement at the top of a page. No one is notified."`
	Edit   announcementEdit   `cmd:"" aliases:"set" help:"Change an announcement."`
	Delete announcementDelete `cmd:"" help:"Delete an announcement."`
}

// NewAnnouncementCommands returns the commands, with a flag for each field.
func NewAnnouncementCommands() (c AnnouncementCommands) {
	fields := resource.Announcement.Infos()
	c.Create.resourceFlags, c.Edit.resourceFlags = newResourceFlags(fields, field.Creation),
		newResourceFlags(fields, field.Changing)
	return c
}

// announcementFlags are the flags of the fields, and of how long an announcement is shown.
type announcementFlags struct {
	resourceFlags
	For *timeinput.Duration `xor:"shown_until" placeholder:"DURATION" help:"How long it is shown, from --from or from now, such as 2d."`
}

func (f announcementFlags) given(c *commandContext, page *pageFlag) (map[string]any, error) {
	given, err := f.resourceFlags.given(c, page)
	if err == nil && f.For != nil {
		from, ok := given["shown_from"].(time.Time)
		if !ok {
			from = time.Now().Truncate(time.Second)
		}
		given["shown_until"] = from.Add(time.Duration(*f.For))
	}
	return given, err
}

type announcementCreate struct {
	pageFlag
	announcementFlags
}

func (cmd *announcementCreate) Run(c *commandContext) error {
	if err := cmd.choose(c); err != nil {
		return err
	}
	n, err := asInput[client.NewAnnouncement](cmd.given(c, &cmd.pageFlag))
	if err != nil {
		return err
	}
	announcement, err := c.api.CreateAnnouncement(c.Ctx, cmd.Page, n)
	return object(c, announcement, err, func(a *client.Announcement) {
		c.Printf("The announcement is %s, shown %s\n", console.Visible(a.ID), c.shown(a))
		c.printAddress(cmd.Page, "")
	})
}

// shown returns the time span in which an announcement is shown, for people.
func (c *commandContext) shown(a *client.Announcement) string {
	if a.ShownUntil == nil {
		return "from " + c.time(a.ShownFrom) + " until it is deleted"
	}
	return "from " + c.time(a.ShownFrom) + " until " + c.time(*a.ShownUntil)
}

type announcementList struct {
	pageFlag
	listing
}

func (cmd *announcementList) Run(c *commandContext) error {
	if err := cmd.choose(c); err != nil {
		return err
	}
	list, total, err := c.api.ListAnnouncements(cmd.Page).First(c.Ctx, int(cmd.Limit))
	if err != nil {
		return err
	}
	return table(c, list, total, "No announcements.", []string{"ANNOUNCEMENT", "LEVEL", "FROM", "UNTIL", "TITLE"},
		func(a *client.Announcement) []string {
			return []string{a.ID, string(a.Level), console.Time(a.ShownFrom), timeOr(a.ShownUntil, "no end"), a.Title}
		})
}

// announcementArgument is embedded by the commands of one announcement.
type announcementArgument struct {
	Announcement string `arg:"" help:"Id of the announcement or the beginning of it, or its title."`
	pageFlag
}

// id returns the id of the announcement.
func (a *announcementArgument) id(c *commandContext) (string, error) {
	if isWholeID(kernel.PrefixAnnouncement, a.Announcement) {
		return a.Announcement, nil
	}
	if err := a.choose(c); err != nil {
		return "", err
	}
	all := []*client.List[client.Announcement]{c.api.ListAnnouncements(a.Page)}
	return findTitled(c, all, "announcement", a.Announcement, func(v *client.Announcement) titled {
		return titled{v.ID, v.Title, v.ShownUntil == nil || v.ShownUntil.After(time.Now())}
	})
}

type announcementShow struct{ announcementArgument }

func (cmd *announcementShow) Run(c *commandContext) error {
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	announcement, err := c.api.GetAnnouncement(c.Ctx, id)
	return object(c, announcement, err, func(a *client.Announcement) {
		c.Properties([2]string{"Announcement", a.Title}, [2]string{"Id", a.ID}, [2]string{"Level", string(a.Level)},
			[2]string{"Shown", c.shown(a)})
		if a.Message != "" {
			c.Printf("\n%s\n", console.Paragraph(a.Message, "  "))
		}
	})
}

type announcementEdit struct {
	announcementArgument
	announcementFlags
}

func (cmd *announcementEdit) Run(c *commandContext) error {
	change, err := asInput[client.AnnouncementChange](cmd.given(c, &cmd.pageFlag))
	if err != nil {
		return err
	}
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	announcement, err := c.api.ChangeAnnouncement(c.Ctx, id, change)
	return object(c, announcement, err, func(a *client.Announcement) {
		c.Printf("The announcement %q is shown %s.\n", a.Title, c.shown(a))
	})
}

type announcementDelete struct {
	announcementArgument
	unasked
}

func (cmd *announcementDelete) Run(c *commandContext) error {
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	return c.deleted(c.api.DeleteAnnouncement(c.Ctx, id), "announcement", cmd.Announcement)
}
