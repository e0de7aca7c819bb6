package api

import (
	"net/netip"
	"time"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/shared/clientaddr"
	"github.com/allswell/allswell/internal/shared/fair"
	"github.com/allswell/allswell/internal/shared/jsonobject"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/signin/password"
)

var pageAccessRoutes = []route{
	{"GET", "/api/v1/pages/{pageSlug}/access", rights.PageAccessRead, (*api).getPageAccess, operation{
		id:      "getPageAccess",
		summary: "Get who can see a page while it is private.",
		text:    "Needs the scope write: the networks may be internal to your organization.",
		returns: one("PageAccess", "Who can see the page."),
	}},
	{"PATCH", "/api/v1/pages/{pageSlug}/access", rights.PageAccessChange, (*api).changePageAccess, operation{
		id:      "changePageAccess",
		summary: "Change who can see a page while it is private.",
		text: "Clients with a token of the workspace can always see it. Each of the other ways is enough on its " +
			"own. Without a password and without `members`, the page does not exist for anyone else.",
		returns: one("PageAccess", "Who can see the page."),
	}},
}

// pageAccessJSON contains neither the password nor the key of the link.
type pageAccessJSON struct {
	Members       bool     `json:"members"`
	Networks      []string `json:"networks"`
	PasswordSetAt *string  `json:"password_set_at"`
	LinkCreatedAt *string  `json:"link_created_at"`
	Link          string   `json:"link,omitempty"` // URL, only if it has just been created
}

func (c *call) newPageAccessJSON(p statuspage.Page) pageAccessJSON {
	out := pageAccessJSON{
		Members: p.Access.Members, Networks: []string{}, // [], never null
		PasswordSetAt: timePtr(p.Access.PasswordSetAt), LinkCreatedAt: timePtr(p.Access.LinkCreatedAt),
		Link: p.LinkURL(c.base),
	}
	for _, n := range p.Access.Networks {
		out.Networks = append(out.Networks, n.String())
	}
	return out
}

func (a *api) getPageAccess(c *call) (store.Response, error) {
	page, err := a.store.Page(c.Context(), c.actor(), c.PathValue("pageSlug"))
	return resourceResponse(page, err, c.newPageAccessJSON)
}

// linkChange is the change that a request makes to the secret link of a page; null removes it.
type linkChange string

const newLink linkChange = "new"

func (a *api) changePageAccess(c *call) (store.Response, error) {
	o, err := c.object()
	if err != nil {
		return store.Response{}, err
	}
	members, networks, link := o.Flag("members"), readNetworks(o), jsonobject.Enum(o, "link", []linkChange{newLink})
	noLink := o.Null("link")
	secret, secretGiven := o.NullableText("password")
	if secret != nil {
		o.Check(password.Check(*secret))
	}
	hash, unread := "", o.Check(nil)
	if secret != nil && unread == nil {
		hash, err = password.Hash(c.Context(), password.Proven(fair.Workspace(c.actor().WorkspaceID)), *secret)
		if err != nil {
			return store.Response{}, err
		}
	}
	change := func(access *statuspage.PageAccess, now time.Time) error {
		if members != nil {
			access.Members = *members
		}
		if networks != nil {
			access.Networks = *networks
		}
		if secretGiven {
			access.SetPassword(hash, now)
		}
		switch {
		case noLink:
			access.RemoveLink()
		case link != nil:
			access.MakeLink(now)
		}
		return unread
	}
	page, err := a.store.ChangePageAccess(c.Context(), c.actor(), c.PathValue("pageSlug"), change)
	return resourceResponse(page, err, c.newPageAccessJSON)
}

// readNetworks reads a list of addresses and networks; null is an empty one.
func readNetworks(o *jsonobject.Object) *[]netip.Prefix {
	if o.Null("networks") {
		return new([]netip.Prefix)
	}
	texts := o.Texts("networks")
	if texts == nil {
		return nil
	}
	networks := []netip.Prefix{}
	for _, text := range texts {
		n, err := clientaddr.ParseNetwork(text)
		if err != nil {
			o.Reject("networks", "must be addresses or networks such as 10.0.0.0/8 or 2001:db8::/32")
			return nil
		}
		networks = append(networks, n)
	}
	return &networks
}
