package store

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

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
	Order        MonitorOrder         // "": MonitorsByDisplayState
}

// MonitorList is a part of a workspace's monitors, with what a person needs to recognize them.
type MonitorList struct {
	Monitors []MonitorListEntry
	Total    int                          // that match the query
	Counts   map[monitor.MonitorState]int // by display state, whichever the query asks for
	Pages    []MonitorListPage            // all pages of the workspace, by name
	Tags     []string                     // of all monitors of the workspace, in order
}

// MonitorListEntry is a monitor with the names of its page and component.
type MonitorListEntry struct {
	monitor.Monitor
	PageName, ComponentName string // "": none
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
		q.sort(rows)
		rows = rows[min(r.offset(), len(rows)):min(r.offset()+r.PerPage, len(rows))]
		l.Monitors, err = c.monitorListEntries(rows, l.Pages)
		return l, err
	})
}

// monitorListRows loads the columns of all monitors that select and order them.
func (c *session) monitorListRows(actor kernel.Actor) ([]monitor.Monitor, error) {
	access := accessOf(actor)
	rows, err := database.Query(c.Session, func(row database.Row) (r monitorRow, err error) {
		m := &r.Monitor
		err = row.Scan(&m.ID, text{&m.PageID}, &m.Name, listOf[string]{&m.Tags}, &m.Enabled, &m.State,
			&m.ConsecutiveFailures, instant{&m.LastPingAt}, instant{&m.WaitingSince},
			&m.Type, &m.FailuresSuppressed, &m.ParentDown, text{(*string)(&m.CheckState.Status)},
			instant{&m.CheckState.SlowSince}, instant{&m.CheckState.UnknownSince}, &m.CheckState.Late,
			instant{&r.pingedAt})
		return
	}, `SELECT monitors.id, page_id, name, tags, enabled, state, consecutive_failures, last_ping_at, waiting_since_at,
			type, failures_suppressed, `+parentDown+
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

func (q MonitorQuery) sort(rows []monitor.Monitor) {
	type key struct {
		first int64
		name  string
	}
	keys := make(map[string]key, len(rows))
	for _, m := range rows {
		k := key{name: strings.ToLower(m.Name)}
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
		return cmp.Or(cmp.Compare(x.first, y.first), cmp.Compare(x.name, y.name), cmp.Compare(a.ID, b.ID))
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
	var components []string
	for _, m := range monitors {
		components = append(components, m.ComponentID)
	}
	type component struct{ id, name string }
	named, err := database.Query(c.Session, func(row database.Row) (n component, err error) {
		err = row.Scan(&n.id, &n.name)
		return
	}, `SELECT id, name FROM components WHERE id IN EACH($1)`, list(components))
	names := make(map[string]string)
	for _, n := range named {
		names[n.id] = n.name
	}
	for _, p := range pages {
		names[p.ID] = p.Name
	}
	entries := make([]MonitorListEntry, len(rows))
	for _, m := range monitors {
		entries[index[m.ID]] = MonitorListEntry{m, names[m.PageID], names[m.ComponentID]}
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
