package cli

import (
	"fmt"
	"strings"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/kernel"
)

// MemberCommands are the commands of the people who can sign in to the dashboard.
type MemberCommands struct {
	ClientSettings `embed:""`

	List   memberList   `cmd:"" help:"List the members of the workspace, oldest first."`
	Edit   memberEdit   `cmd:"" help:"Change the role of a member, or the pages that it is limited to."`
	Delete memberDelete `cmd:"" aliases:"remove" help:"Remove a member from the workspace, and end the member's sessions."`
}

type memberList struct{ listing }

func (cmd *memberList) Run(c *commandContext) error {
	members, total, err := c.api.ListMembers().First(c.Ctx, int(cmd.Limit))
	if err != nil {
		return err
	}
	return table(c, members, total, "No members yet.",
		[]string{"MEMBER", "ROLE", "PAGES", "LAST SEEN", "EMAIL", "NAME"}, func(m *client.Member) []string {
			return []string{m.ID, string(m.Role), limitText(m.Pages), timeOr(m.LastSeenAt, "never"), m.Email, m.Name}
		})
}

// limitText returns the pages to which a member is limited.
func limitText(pages []string) string {
	if pages == nil {
		return "all"
	}
	return strings.Join(pages, ", ")
}

// memberArgument is embedded by the commands of one member.
type memberArgument struct {
	Member string `arg:"" help:"Email address or id of the member."`
}

// id returns the id of the member.
func (m *memberArgument) id(c *commandContext) (string, error) {
	kind := resourceKind{"member", kernel.PrefixUser}
	return findByEmail(c, c.api.ListMembers(), kind, m.Member, func(v *client.Member) (id, email string) {
		return v.ID, v.Email
	})
}

// findByEmail returns the id of a resource that is given by its id, by an unambiguous beginning of it, or by its email
// address.
func findByEmail[T any](
	c *commandContext, list *client.List[T], kind resourceKind, given string, named func(*T) (id, email string),
) (string, error) {
	if isWholeID(kind.prefix, given) {
		return given, nil
	}
	if strings.HasPrefix(given, kind.prefix) {
		return findByPrefix(c, list, kind.noun, given, func(v *T) string { id, _ := named(v); return id })
	}
	var ids []string
	err := search(c, list, kind.noun, func(v *T) {
		if id, email := named(v); email == kernel.NormalizeEmail(given) {
			ids = append(ids, id)
		}
	})
	if err != nil {
		return "", err
	}
	if len(ids) == 0 {
		return "",
			fmt.Errorf("there is no %s with the email address %q (an id would begin with %s)", kind.noun, given,
				kind.prefix)
	}
	return only(ids, fmt.Sprintf("several %s have the email address %q", plural(kind.noun), given))
}

type memberEdit struct {
	memberArgument
	Role     client.Role `placeholder:"ROLE" help:"New role: viewer, editor or admin."`
	Pages    []string    `name:"page" sep:"none" xor:"pages" placeholder:"SLUG" help:"Limit the member to this page; repeatable. For viewers and editors."`
	AllPages bool        `xor:"pages" help:"Remove the member's limit to pages."`
}

func (cmd *memberEdit) Run(c *commandContext) error {
	change := client.MemberChange{Role: cmd.Role}
	if cmd.AllPages {
		change.Pages = client.Null[[]string]()
	} else if cmd.Pages != nil {
		change.Pages = client.Set(cmd.Pages)
	}
	if err := checkNotEmpty(change); err != nil {
		return err
	}
	id, err := cmd.id(c)
	if err != nil {
		return err
	}
	member, err := c.api.ChangeMember(c.Ctx, id, change)
	return object(c, member, err, func(m *client.Member) {
		c.Printf("%s (%s) has the role %s now, pages: %s.\n", console.Visible(m.Name), console.Visible(m.Email), m.Role,
			console.Visible(limitText(m.Pages)))
	})
}

type memberDelete struct {
	memberArgument
	unasked
}

func (cmd *memberDelete) Run(c *commandContext) error {
	id, err := cmd.id(c)
	if err == nil {
		err = c.api.RemoveMember(c.Ctx, id)
	}
	if err == nil {
		c.Done("Removed the member %s from the workspace.", console.Visible(cmd.Member))
	}
	return err
}

// InvitationCommands are the commands of invitations to the dashboard.
type InvitationCommands struct {
	ClientSettings `embed:""`

	List   invitationList   `cmd:"" help:"List the pending invitations, newest first, without their links."`
	Create invitationCreate `cmd:"" help:"Invite a member and print the link, which is shown only once."`
	Delete invitationDelete `cmd:"" aliases:"withdraw" help:"Revoke an invitation. Its link becomes invalid."`
}

type invitationList struct{ listing }

func (cmd *invitationList) Run(c *commandContext) error {
	invitations, total, err := c.api.ListInvitations().First(c.Ctx, int(cmd.Limit))
	if err != nil {
		return err
	}
	return table(c, invitations, total, "No pending invitations.",
		[]string{"INVITATION", "ROLE", "PAGES", "VALID UNTIL", "INVITED BY", "EMAIL"},
		func(i *client.Invitation) []string {
			return []string{i.ID, string(i.Role), limitText(i.Pages), console.Time(i.ExpiresAt), i.InvitedBy, i.Email}
		})
}

type invitationCreate struct {
	Email string      `required:"" placeholder:"ADDRESS" help:"Email address of the person. The link works for this address only."`
	Role  client.Role `default:"viewer" placeholder:"ROLE" help:"Role of the person: viewer, editor or admin."`
	Pages []string    `name:"page" sep:"none" placeholder:"SLUG" help:"Limit the person to this page; repeatable. For viewers and editors."`
}

func (cmd *invitationCreate) Run(c *commandContext) error {
	invitation, err := c.api.CreateInvitation(c.Ctx, client.NewInvitation{
		Email: cmd.Email, Role: cmd.Role, Pages: cmd.Pages,
	})
	return object(c, invitation, err, func(i *client.Invitation) {
		// Standard output has only the link, for scripts.
		fmt.Fprintf(c.Err, "Send this link to %s. It is shown only this once, and works once, until %s:\n",
			console.Visible(i.Email), console.Time(i.ExpiresAt))
		c.Printf("%s\n", console.Visible(i.URL))
	})
}

type invitationDelete struct {
	Invitation string `arg:"" help:"Email address or id of the invitation."`
	unasked
}

func (cmd *invitationDelete) Run(c *commandContext) error {
	kind := resourceKind{"invitation", kernel.PrefixInvitation}
	id, err := findByEmail(c, c.api.ListInvitations(), kind, cmd.Invitation,
		func(v *client.Invitation) (id, email string) {
			return v.ID, v.Email
		})
	if err != nil {
		return err
	}
	return c.deleted(c.api.WithdrawInvitation(c.Ctx, id), "invitation", cmd.Invitation)
}

// SessionCommands are the commands of sign-ins to the dashboard.
type SessionCommands struct {
	ClientSettings `embed:""`

	List   sessionList   `cmd:"" help:"List the sessions of all members, newest first."`
	Delete sessionDelete `cmd:"" aliases:"end" help:"End a session at once."`
}

type sessionList struct{ listing }

func (cmd *sessionList) Run(c *commandContext) error {
	sessions, total, err := c.api.ListSessions().First(c.Ctx, int(cmd.Limit))
	if err != nil {
		return err
	}
	return table(c, sessions, total, "No sessions.",
		[]string{"SESSION", "CREATED", "LAST USED", "ADDRESS", "EMAIL", "CLIENT"}, func(s *client.Session) []string {
			return []string{s.ID, console.Time(s.CreatedAt), console.Time(s.LastUsedAt), s.Address, s.Email, s.Client}
		})
}

type sessionDelete struct {
	Session string `arg:"" help:"Id of the session, or the beginning of it."`
}

func (cmd *sessionDelete) Run(c *commandContext) error {
	id := cmd.Session
	if strings.HasPrefix(id, kernel.PrefixSession) && !isWholeID(kernel.PrefixSession, id) {
		var err error
		if id, err = findByPrefix(
			c, c.api.ListSessions(), "session", id, func(s *client.Session) string { return s.ID },
		); err != nil {
			return err
		}
	}
	err := c.api.EndSession(c.Ctx, id)
	if err == nil {
		c.Done("Ended the session %s.", console.Visible(id))
	}
	return err
}
