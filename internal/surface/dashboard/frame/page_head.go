package frame

import (
	"net/http"
	"slices"
	"strings"

	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/resource/rights"
)

// PagePath returns the path of the screens of a page.
func PagePath(p statuspage.Page) string { return Path + "/pages/" + p.Slug }

// PageHead is the data of the template page_head, which is above the screens of a page.
type PageHead struct {
	Page        statuspage.Page
	URL         string // of the public page
	Tabs        []NavItem
	CanEdit     bool
	CanAnnounce bool
	CanAdmin    bool
	Saved       bool // the form has just been saved
}

// PageHead loads the page of the path.
func (r *Request) PageHead() (PageHead, error) {
	p, err := r.Store.Page(r.Context(), r.Actor(), r.PathValue("page"))
	if err != nil {
		return PageHead{}, err
	}
	h := PageHead{
		Page: p, URL: p.URL(r.Base), CanEdit: r.May(rights.ComponentChange),
		CanAnnounce: r.May(rights.AnnouncementChange), CanAdmin: r.May(rights.PageChange),
		Saved: r.Method == http.MethodGet && r.URL.Query().Has("saved"),
		Tabs: []NavItem{
			{Label: "Components", Path: PagePath(p) + "/components", Needs: rights.ComponentRead},
			{Label: "Announcements", Path: PagePath(p) + "/announcements", Needs: rights.AnnouncementRead},
			{Label: "Settings", Path: PagePath(p), Needs: rights.PageRead},
			{Label: "Access", Path: PagePath(p) + "/access", Needs: rights.PageAccessRead},
			{Label: "Share", Path: PagePath(p) + "/share", Needs: rights.PageRead},
			{Label: "Ping key", Path: PagePath(p) + "/ping-key", Needs: rights.PingKeyRead},
			{Label: "Subscribers", Path: PagePath(p) + "/subscribers", Needs: rights.SubscriberRead},
		},
	}
	h.Tabs = slices.DeleteFunc(h.Tabs, func(tab NavItem) bool { return !r.May(tab.Needs) })
	for i, tab := range h.Tabs {
		h.Tabs[i].Current = r.URL.Path == tab.Path ||
			tab.Path != PagePath(p) && strings.HasPrefix(r.URL.Path, tab.Path+"/")
	}
	return h, nil
}
