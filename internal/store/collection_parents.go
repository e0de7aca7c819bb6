package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource/rights"
)

// parent is what the objects of a resource are in: pages, or the workspace.
type parent[T any] struct {
	// list returns the rest of a statement, from FROM on, that selects the objects in a page.
	list func(ctx context.Context, s *Store, actor kernel.Actor, in string) (from string, args []any, err error)
	// find returns the rest of a statement, from WHERE on, that selects an object.
	find func(actor kernel.Actor, in, ref string) (where string, args []any, err error)
	// begin puts a new object into a page, which is locked.
	begin func(t *tx, actor kernel.Actor, in string, v *T) error
	// lock locks an object that is to be changed.
	lock func(t *tx, actor kernel.Actor, v *T, id string) error
	// siblings returns the rest of a statement, from FROM on, that selects the objects in the same page, or workspace,
	// as one.
	siblings func(v *T) (from string, args []any)

	uniqueNames bool // no two of them have the same name
}

// pageParent is the parent of objects with slugs that belong to pages. A change of one changes its page.
func pageParent[T any](table string, page func(*T) *string) parent[T] {
	return parent[T]{
		list: func(ctx context.Context, s *Store, actor kernel.Actor, in string) (string, []any, error) {
			p, err := s.pageOf(ctx, actor, in)
			return `FROM ` + table + ` WHERE page_id = $1`, []any{p.ID}, err
		},
		find: func(actor kernel.Actor, in, ref string) (string, []any, error) {
			where, args := objectOf(actor, in, ref)
			return where, args, nil
		},
		begin: func(t *tx, actor kernel.Actor, in string, v *T) error {
			p, err := t.pageBySlug(actor, in)
			if err != nil {
				return err
			}
			*page(v) = p.ID
			return t.bumpVersion(p.ID)
		},
		lock:     func(t *tx, _ kernel.Actor, v *T, _ string) error { return t.bumpVersion(*page(v)) },
		siblings: func(v *T) (string, []any) { return `FROM ` + table + ` WHERE page_id = $1`, []any{*page(v)} },
	}
}

// withoutSlugs returns the parent of objects that have no slugs.
func withoutSlugs[T any](p parent[T]) parent[T] {
	find := p.find
	p.find = func(actor kernel.Actor, in, ref string) (string, []any, error) {
		if kernel.ValidSlug(ref) {
			return "", nil, kernel.ErrNotFound
		}
		return find(actor, in, ref)
	}
	return p
}

// workspaceParent is the parent of objects that decide who is notified of alerts. Their changes wait for each other.
// prefix is the prefix of their ids, if they also have slugs and names; "": they have none.
func workspaceParent[T any](table, prefix string, read, change rights.Operation, workspace func(*T) *string) parent[T] {
	lock := func(t *tx, actor kernel.Actor) error {
		if err := change.CheckLimit(actor); err != nil {
			return err
		}
		return t.lockMutex(mutexAlerts)
	}
	return parent[T]{
		uniqueNames: prefix != "",
		list: func(_ context.Context, _ *Store, actor kernel.Actor, _ string) (string, []any, error) {
			return `FROM ` + table + ` WHERE workspace_id = $1`, []any{actor.WorkspaceID}, read.CheckLimit(actor)
		},
		find: func(actor kernel.Actor, _, ref string) (string, []any, error) {
			condition := `id = $2`
			if prefix != "" {
				condition = refersTo(ref, prefix, 2)
			}
			return `WHERE workspace_id = $1 AND ` + condition, []any{actor.WorkspaceID, ref}, read.CheckLimit(actor)
		},
		begin: func(t *tx, actor kernel.Actor, _ string, v *T) error {
			*workspace(v) = actor.WorkspaceID
			return lock(t, actor)
		},
		lock: func(t *tx, actor kernel.Actor, _ *T, _ string) error { return lock(t, actor) },
		siblings: func(v *T) (string, []any) {
			return `FROM ` + table + ` WHERE workspace_id = $1`, []any{*workspace(v)}
		},
	}
}

// refersTo returns a condition on the object of a workspace to which a reference in parameter n refers: its id, its
// slug or its name. The object with the slug comes first.
func refersTo(ref, prefix string, n int) string {
	if strings.HasPrefix(ref, prefix) {
		return fmt.Sprintf(`id = $%d`, n)
	}
	return fmt.Sprintf(`(slug = $%[1]d OR name = $%[1]d) ORDER BY CASE WHEN slug = $%[1]d THEN 0 ELSE 1 END LIMIT 1`, n)
}
