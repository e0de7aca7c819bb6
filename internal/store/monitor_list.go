package store

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/statuspage"
	"github.com/allswell/allswell/internal/store/database"
)

// MonitorOrder is the order of a MonitorList.
type MonitorOrder string

// The orders. Monitors that are equal in it are ordered by their names.
const (
	MonitorsByDisplayState MonitorOrder = "state" // as in monitor.DisplayStates
	MonitorsByName         MonitorOrder = "name"
	MonitorsByLastPing     MonitorOrder = "last_ping" // the longest silent first, monitors never pinged last
)

// MonitorOrders lists all orders.
var MonitorOrders = []MonitorOrder{MonitorsByDisplayState, MonitorsByName, MonitorsByLastPing}

// MonitorQuery selects and orders the monitors of a MonitorList. Empty fields do not limit it.
type MonitorQuery struct {
	Search       string               // part of the name, in any case
	Page         string               // the slug of their page
	Tag          string               // one of their tags
	Type         monitor.MonitorType  // their type
	DisplayState monitor.MonitorState // one of monitor.DisplayStates
	Group        MonitorGroup         // "": none
	Order        MonitorOrder         // in each group; "": MonitorsByDisplayState
}

// MonitorGroup says by what the monitors of a MonitorList are grouped.
type MonitorGroup string

// The groups. Monitors without what the groups are made of come last.
const (
	MonitorsOfPage      MonitorGroup = "page"
	MonitorsOfComponent MonitorGroup = "component"
	MonitorsOfTag       MonitorGroup = "tag" // a monitor with several tags is in the group of the first one
)

// MonitorList is a part of a workspace's monitors, with what a person needs to recognize them.
type MonitorList struct {
	Monitors []MonitorListEntry
	Total    int                          // that match the query
	Counts   map[monitor.MonitorState]int // by display state, whichever the query asks for
	Pages    []MonitorListPage            // all pages of the workspace, by name
	Tags     []string                     // of all monitors of the workspace, in order
}

// MonitorListEntry is a monitor with the names of its page and component, and its activity.
type MonitorListEntry struct {
	monitor.Monitor
	PageName, ComponentName string    // "": none
	Group                   string    // the name of its MonitorGroup; "": there are no groups
	SilencedUntil           time.Time // until when silences hold back the alert about its outage; zero: none does
	Activity                MonitorActivity
}

// MonitorListPage is a page that monitors can belong to.
type MonitorListPage struct{ ID, Slug, Name string }

// MonitorList returns a part of the actor's monitors. The display state depends on pings that are stored apart from the
// monitors, so it is computed by monitor.Monitor.DisplayState from a few columns of every monitor.
func (s *Store) MonitorList(
	ctx context.Context, actor kernel.Actor, q MonitorQuery, r Pagination,
) (MonitorList, error) {
	return read(ctx, s, func(c *session) (l MonitorList, err error) {
		if l.Pages, err = c.monitorListPages(actor); err != nil {
			return l, err
		}
		rows, err := c.monitorListRows(actor)
		if err != nil {
			return l, err
		}
		for _, m := range rows {
			l.Tags = append(l.Tags, m.Tags...)
		}
		l.Tags = monitor.SortTags(l.Tags)
		rows = q.filter(rows, l.Pages)
		l.Counts = make(map[monitor.MonitorState]int)
		for _, m := range rows {
			l.Counts[m.DisplayState()]++
		}
		if q.DisplayState != "" {
			rows = slices.DeleteFunc(rows, func(m monitor.Monitor) bool { return m.DisplayState() != q.DisplayState })
		}
		l.Total = len(rows)
		groups, err := c.monitorGroups(q.Group, rows, l.Pages)
		if err != nil {
			return l, err
		}
		q.sort(rows, groups)
		rows = rows[min(r.offset(), len(rows)):min(r.offset()+r.PerPage, len(rows))]
		if l.Monitors, err = c.monitorListEntries(rows, l.Pages); err != nil {
			return l, err
		}
		for i, m := range l.Monitors {
			l.Monitors[i].Group = groups[m.ID]
		}
		return l, c.addActivities(l.Monitors)
	})
}

// monitorListRows loads the columns of all monitors that select and order them.
func (c *session) monitorListRows(actor kernel.Actor) ([]monitor.Monitor, error) {
	access := accessOf(actor)
	rows, err := database.Query(c.Session, func(row database.Row) (r monitorRow, err error) {
		m := &r.Monitor
		err = row.Scan(&m.ID, text{&m.PageID}, text{&m.ComponentID}, &m.Name, listOf[string]{&m.Tags},
			&m.Enabled, &m.State, &m.ConsecutiveFailures, instant{&m.LastPingAt}, instant{&m.WaitingSince},
			&m.Type, &m.FailuresSuppressed, &m.ParentDown, text{(*string)(&m.CheckState.Status)},
			instant{&m.CheckState.SlowSince}, instant{&m.CheckState.UnknownSince}, &m.CheckState.Late,
			instant{&r.pingedAt})
		return
	}, `SELECT monitors.id, page_id, component_id, name, tags, enabled, state, consecutive_failures,
			last_ping_at, waiting_since_at, type, failures_suppressed, `+parentDown+
		`, checks.status, slow_since_at, unknown_since_at, COALESCE(late, FALSE), pinged_at
		FROM monitors LEFT JOIN last_pings ON last_pings.token = monitors.token
		LEFT JOIN (SELECT monitor_id, status, slow_since_at, unknown_since_at, late
		FROM checks) AS checks ON checks.monitor_id = monitors.id WHERE `+access.objects(1), access.arg)
	return currentMonitors(rows), err
}

// monitorListPages loads the pages, ordered here because the engines order text differently.
func (c *session) monitorListPages(actor kernel.Actor) ([]MonitorListPage, error) {
	r := accessOf(actor)
	pages, err := database.Query(c.Session, func(row database.Row) (p MonitorListPage, err error) {
		err = row.Scan(&p.ID, &p.Slug, &p.Name)
		return
	}, `SELECT id, slug, name FROM pages WHERE `+r.pages(1), r.arg)
	slices.SortFunc(pages, func(a, b MonitorListPage) int {
		return cmp.Or(cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), cmp.Compare(a.ID, b.ID))
	})
	return pages, err
}

// filter returns the monitors with the name, the page, the tag and the type.
func (q MonitorQuery) filter(rows []monitor.Monitor, pages []MonitorListPage) []monitor.Monitor {
	page, search := "", strings.ToLower(strings.TrimSpace(q.Search))
	if at := slices.IndexFunc(pages, func(p MonitorListPage) bool { return p.Slug == q.Page }); at >= 0 {
		page = pages[at].ID
	}
	return slices.DeleteFunc(rows, func(m monitor.Monitor) bool {
		return q.Page != "" && (page == "" || m.PageID != page) || q.Tag != "" && !slices.Contains(m.Tags, q.Tag) ||
			q.Type != "" && m.Type != q.Type ||
			!strings.Contains(strings.ToLower(m.Name), search)
	})
}

// monitorGroups returns the names of the groups of monitors, by id; nil without groups.
func (c *session) monitorGroups(
	by MonitorGroup, rows []monitor.Monitor, pages []MonitorListPage,
) (map[string]string, error) {
	if by == "" {
		return nil, nil
	}
	names := make(map[string]string)
	for _, p := range pages {
		names[p.ID] = p.Name
	}
	if by == MonitorsOfComponent {
		if err := c.componentNames(rows, names); err != nil {
			return nil, err
		}
	}
	groups := make(map[string]string, len(rows))
	for _, m := range rows {
		group := "No page"
		switch {
		case by == MonitorsOfTag && len(m.Tags) > 0:
			group = m.Tags[0]
		case by == MonitorsOfTag:
			group = "No tag"
		case by == MonitorsOfComponent && m.ComponentID != "":
			group = names[m.PageID] + " › " + names[m.ComponentID]
		case m.PageID != "":
			group = names[m.PageID]
		}
		groups[m.ID] = group
	}
	return groups, nil
}

// componentNames adds the names of the components of monitors, by id.
func (c *session) componentNames(monitors []monitor.Monitor, names map[string]string) error {
	var ids []string
	for _, m := range monitors {
		ids = append(ids, m.ComponentID)
	}
	_, err := database.Query(c.Session, func(row database.Row) (none struct{}, err error) {
		var id, name string
		if err = row.Scan(&id, &name); err == nil {
			names[id] = name
		}
		return
	}, `SELECT id, name FROM components WHERE id IN EACH($1)`, list(ids))
	return err
}

// sort sorts monitors by their groups, within each as the query says, and otherwise by name.
func (q MonitorQuery) sort(rows []monitor.Monitor, groups map[string]string) {
	type key struct {
		lonely      bool // without what groups are made of
		group, name []byte
		first       int64
	}
	keys := make(map[string]key, len(rows))
	names := collate.New(language.Und, collate.IgnoreCase, collate.Numeric) // "v2" is before "v10"
	var buffer collate.Buffer
	for _, m := range rows {
		k := key{
			lonely: q.Group == MonitorsOfTag && len(m.Tags) == 0 || q.Group != MonitorsOfTag && m.PageID == "",
			group:  names.KeyFromString(&buffer, groups[m.ID]),
			name:   names.KeyFromString(&buffer, m.Name),
		}
		switch q.Order {
		case MonitorsByName:
		case MonitorsByLastPing:
			k.first = m.LastPingAt.UnixMilli()
			if m.LastPingAt.IsZero() {
				k.first = time.Unix(1<<40, 0).UnixMilli()
			}
		default:
			k.first = int64(slices.Index(monitor.DisplayStates, m.DisplayState()))
		}
		keys[m.ID] = k
	}
	slices.SortFunc(rows, func(a, b monitor.Monitor) int {
		x, y := keys[a.ID], keys[b.ID]
		if q.Group != "" && x.lonely != y.lonely {
			if x.lonely {
				return 1
			}
			return -1
		}
		return cmp.Or(bytes.Compare(x.group, y.group), cmp.Compare(x.first, y.first), bytes.Compare(x.name, y.name),
			cmp.Compare(a.ID, b.ID))
	})
}

// monitorListEntries loads the monitors of rows, in their order.
func (c *session) monitorListEntries(rows []monitor.Monitor, pages []MonitorListPage) ([]MonitorListEntry, error) {
	index := make(map[string]int, len(rows))
	ids := make([]string, len(rows))
	for i, m := range rows {
		index[m.ID], ids[i] = i, m.ID
	}
	monitors, err := c.monitors(`WHERE id IN EACH($1)`, list(ids))
	if err == nil {
		err = c.fillMonitors(monitors)
	}
	if err != nil {
		return nil, err
	}
	names := make(map[string]string)
	err = c.componentNames(monitors, names)
	for _, p := range pages {
		names[p.ID] = p.Name
	}
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	silenced, err := c.silencedUntil(monitors[0].WorkspaceID, ids)
	entries := make([]MonitorListEntry, len(rows))
	for _, m := range monitors {
		entries[index[m.ID]] = MonitorListEntry{
			Monitor: m, PageName: names[m.PageID], ComponentName: names[m.ComponentID],
			SilencedUntil: silenced[m.ID],
		}
	}
	return entries, err
}

// MonitorPlace is a page with the components that a monitor can be linked to.
type MonitorPlace struct {
	MonitorListPage
	Components []statuspage.ComponentName
}

// MonitorPlaces lists the pages of the actor's workspace, by name, with their components in the order of the page.
func (s *Store) MonitorPlaces(ctx context.Context, actor kernel.Actor) ([]MonitorPlace, error) {
	return read(ctx, s, func(c *session) ([]MonitorPlace, error) {
		pages, err := c.monitorListPages(actor)
		if err != nil {
			return nil, err
		}
		places := make([]MonitorPlace, len(pages))
		index := make(map[string]*MonitorPlace, len(pages))
		for i, p := range pages {
			places[i].MonitorListPage = p
			index[p.ID] = &places[i]
		}
		r := accessOf(actor)
		_, err = database.Query(c.Session, func(row database.Row) (none struct{}, err error) {
			var page string
			var component statuspage.ComponentName
			if err = row.Scan(&page, &component.ID, &component.Name); err == nil {
				index[page].Components = append(index[page].Components, component)
			}
			return
		}, `SELECT page_id, id, name FROM components WHERE `+r.on(`page_id`, 1)+` ORDER BY page_id, position, id`,
			r.arg)
		return places, err
	})
}
