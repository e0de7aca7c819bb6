package client

import "net/url"

// ListIncidentTemplates returns the templates of the workspace, the oldest first. If page is not "", it returns only
// templates that can be used on that page.
func (c *Client) ListIncidentTemplates(page string) *List[IncidentTemplate] {
	query := make(url.Values)
	if page != "" {
		query.Set("page_slug", page)
	}
	return &List[IncidentTemplate]{client: c, path: pathOf("incident-templates"), query: query}
}
