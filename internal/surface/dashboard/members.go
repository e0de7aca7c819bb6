package dashboard

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/store"
)

// membersScreen is the data of the template members.
type membersScreen struct {
	*form
	Self        string // id of the user who looks
	Members     []memberRow
	Pager       pager
	Invitations []account.Invitation
	Fields      []field // of the form that invites
	LimitTo     limitForm
	CanMail     bool
	Link        string // of the invitation that has just been created; "": none
	Invited     account.Invitation
	Mailed      string // outcome of the mail with the link, in words; "": mail is off
	Problem     string // why a change of a member was refused; "": it was not
}

// memberRow is a member in the list.
type memberRow struct {
	account.Member
	CanChange bool
	Roles     []option
	LimitTo   limitForm
}

// roleOptions returns the roles that the visitor can give.
func (v *visit) roleOptions(selected kernel.Role) (options []option) {
	for _, r := range kernel.Roles {
		if v.in.Role.Includes(r) {
			options = append(options, option{Value: string(r), Label: roleName(r), Selected: r == selected})
		}
	}
	return options
}

// roleHint says what the members with each role can do.
const roleHint = "Viewers see everything. Editors also change components, incidents and monitors. " +
	"Admins also manage pages, members and tokens. Owners also name and remove owners. Viewers and editors can be " +
	"limited to pages."

// showMembers lists the members of the workspace and the pending invitations.
func (v *visit) showMembers() error {
	return v.listMembers(http.StatusOK, &membersScreen{form: newInvitationForm()})
}

func newInvitationForm() *form { return newForm(url.Values{"role": {string(kernel.RoleEditor)}}) }

func (v *visit) listMembers(status int, s *membersScreen) error {
	query := v.r.URL.Query()
	r := pagination(query)
	members, total, err := v.store.Members(v.r.Context(), v.actor(), r)
	if err != nil {
		return err
	}
	if s.LimitTo, err = v.limitForm(s.values); err != nil {
		return err
	}
	s.CanMail = v.sendMail != nil
	s.Self, s.Pager = v.in.User.ID, newPager(Path+"/members", url.Values{}, r, len(members), total)
	for _, m := range members {
		s.Members = append(s.Members, memberRow{
			m, v.in.Role.Includes(m.Role), v.roleOptions(m.Role), s.LimitTo.withLimit(m.Limit),
		})
	}
	if s.Invitations, _, err = v.store.Invitations(
		v.r.Context(), v.actor(), store.Pagination{Page: 1, PerPage: account.MaxInvitations},
	); err != nil {
		return err
	}
	s.Fields = []field{
		s.draw(field{
			Name: "email", Label: "E-mail", Type: "email", Autocomplete: "off", Placeholder: "grace@example.com",
		}),
		s.draw(field{Name: "role", Label: "Role", Type: "select", Options: v.roleOptions(""), Hint: roleHint}),
	}
	return v.show(status, "members", "Members", s)
}

// invite creates an invitation. The answer shows its link, so that no address of a screen ever has the code.
func (v *visit) invite() error {
	f := newForm(v.r.PostForm)
	n := account.NewInvitation{Email: f.Value("email"), Role: kernel.Role(f.Value("role"))}
	if limit := readLimit(f.values); limit != nil {
		n.Limit = *limit
	}
	issued, err := v.store.Invite(v.r.Context(), v.actor(), n)
	if f.refused(err) {
		return v.listMembers(http.StatusUnprocessableEntity, &membersScreen{form: f})
	}
	if err != nil {
		return err
	}
	link := account.InvitationURL(v.base, issued.Code)
	return v.listMembers(http.StatusCreated, &membersScreen{form: newInvitationForm(),
		Link: link, Invited: issued.Invitation, Mailed: v.mailInvitation(issued.Invitation, link)})
}

// withdrawInvitation withdraws an invitation.
func (v *visit) withdrawInvitation() error {
	return v.answerMembers(v.store.WithdrawInvitation(v.r.Context(), v.actor(), v.r.PathValue("invitation")))
}

// changeMember changes the role of a member.
func (v *visit) changeMember() error {
	typed := v.r.PostForm
	_, err := v.store.ChangeMember(v.r.Context(), v.actor(), v.r.PathValue("member"),
		account.MemberChange{
			Role: kernel.Role(typed.Get("role")), From: kernel.Role(typed.Get("from")), Limit: readLimit(typed),
		})
	return v.answerMembers(err)
}

// removeMember removes a member from the workspace.
func (v *visit) removeMember() error {
	return v.answerMembers(v.store.RemoveMember(v.r.Context(), v.actor(), v.r.PathValue("member")))
}

// answerMembers leads back to the list after a change, or shows above it why the change was refused.
func (v *visit) answerMembers(err error) error {
	var bad *kernel.ValidationError
	switch {
	case errors.As(err, &bad):
		return v.listMembers(http.StatusUnprocessableEntity, &membersScreen{
			form: newInvitationForm(), Problem: bad.Problems[0].Message(),
		})
	case errors.Is(err, kernel.ErrPreconditionFailed):
		return v.listMembers(http.StatusConflict, &membersScreen{form: newInvitationForm(),
			Problem: "Somebody else has changed this role meanwhile. The list shows it now. Nothing was overwritten."})
	case err != nil:
		return err
	}
	return v.redirect(Path + "/members")
}
