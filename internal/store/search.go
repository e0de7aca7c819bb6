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

const (
	maxFound    = 8      // objects of a kind that a search returns
	maxSearched = 10_000 // objects of a kind, the newest, that a search looks at
)

// Found is the result of a search: of each kind, the best matches first.
type Found struct {
	Monitors   []MonitorListEntry
	Components []FoundComponent
	Pages      []MonitorListPage
	Incidents  []FoundIncident // newest first
}

// Empty reports whether nothing was found.
func (f Found) Empty() bool {
	return len(f.Monitors)+len(f.Components)+len(f.Pages)+len(f.Incidents) == 0
}

// FoundComponent is a component with its page.
type FoundComponent struct{ ID, Name, PageSlug, PageName string }

// FoundIncident is an incident with its page.
type FoundIncident struct {
	ID, Title, PageName string
	State               statuspage.IncidentState
	CreatedAt           time.Time
}

// Search finds the objects that the actor can reach and that have every word of the text, in any case, in their name,
// in the name of their page, or, for monitors, in a tag. Words are compared here, because the engines fold letters
// differently. No words find nothing.
func (s *Store) Search(ctx context.Context, actor kernel.Actor, text string) (f Found, err error) {
	words := strings.Fields(strings.ToLower(text))
	if len(words) == 0 {
		return f, nil
	}
	return read(ctx, s, func(c *session) (f Found, err error) {
		r := accessOf(actor)
		pages, err := c.monitorListPages(actor)
		if err == nil {
			f.Pages = bestMatches(pages, words, func(p MonitorListPage) (name, more string) { return p.Name, p.Slug })
			f.Monitors, err = c.searchMonitors(r, pages, words)
		}
		if err == nil {
			f.Components, err = c.searchComponents(r, words)
		}
		if err == nil {
			f.Incidents, err = c.searchIncidents(r, words)
		}
		return f, err
	})
}

func (c *session) searchMonitors(r access, pages []MonitorListPage, words []string) ([]MonitorListEntry, error) {
	rows, err := database.Query(c.Session, func(row database.Row) (m monitor.Monitor, err error) {
		err = row.Scan(&m.ID, &m.Name, text{&m.PageID}, listOf[string]{&m.Tags})
		return
	}, `SELECT id, name, page_id, tags FROM monitors WHERE `+r.objects(1)+` ORDER BY created_at DESC, id DESC LIMIT $2`,
		r.arg, maxSearched)
	if err != nil {
		return nil, err
	}
	names := make(map[string]string, len(pages))
	for _, p := range pages {
		names[p.ID] = p.Name
	}
	rows = bestMatches(rows, words, func(m monitor.Monitor) (name, more string) {
		return m.Name, names[m.PageID] + " " + strings.Join(m.Tags, " ")
	})
	return c.monitorListEntries(rows, pages)
}

func (c *session) searchComponents(r access, words []string) ([]FoundComponent, error) {
	rows, err := database.Query(c.Session, func(row database.Row) (f FoundComponent, err error) {
		err = row.Scan(&f.ID, &f.Name, &f.PageSlug, &f.PageName)
		return
	}, `SELECT components.id, components.name, pages.slug, pages.name FROM components
		JOIN pages ON pages.id = components.page_id
		WHERE `+r.on(`components.page_id`, 1)+
		` ORDER BY components.created_at DESC, components.id DESC LIMIT $2`, r.arg, maxSearched)
	return bestMatches(rows, words, func(f FoundComponent) (name, more string) { return f.Name, f.PageName }), err
}

func (c *session) searchIncidents(r access, words []string) ([]FoundIncident, error) {
	rows, err := database.Query(c.Session, func(row database.Row) (f FoundIncident, err error) {
		err = row.Scan(&f.ID, &f.Title, &f.State, instant{&f.CreatedAt}, &f.PageName)
		return
	}, `SELECT id, title, state, created_at, (SELECT name FROM pages WHERE pages.id = incidents.page_id) FROM incidents
		WHERE `+r.on(`page_id`, 1)+` ORDER BY created_at DESC, id DESC LIMIT $2`, r.arg, maxSearched)
	rows = slices.DeleteFunc(rows, func(f FoundIncident) bool {
		return !hasWords(strings.ToLower(f.Title+" "+f.PageName), words)
	})
	return rows[:min(len(rows), maxFound)], err
}

// hasWords reports whether a text in lower case has all words.
func hasWords(lower string, words []string) bool {
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(lower, word) })
}

// bestMatches returns the objects that have all words in their name or in what else is known of them. First come
// objects whose name begins with the first word, then objects with a word that begins with it.
func bestMatches[T any](all []T, words []string, texts func(T) (name, more string)) []T {
	type ranked struct {
		object T
		rank   int
		name   string
	}
	var found []ranked
	for _, object := range all {
		name, more := texts(object)
		name = strings.ToLower(name)
		if !hasWords(name+" "+strings.ToLower(more), words) {
			continue
		}
		rank := 2
		switch {
		case strings.HasPrefix(name, words[0]):
			rank = 0
		case strings.Contains(name, " "+words[0]):
			rank = 1
		case !strings.Contains(name, words[0]):
			rank = 3
		}
		found = append(found, ranked{object, rank, name})
	}
	slices.SortStableFunc(found, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.name, b.name))
	})
	objects := make([]T, min(len(found), maxFound))
	for i := range objects {
		objects[i] = found[i].object
	}
	return objects
}
