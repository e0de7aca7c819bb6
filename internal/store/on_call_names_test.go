package store_test

import (
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/alert"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/resource"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/store/storetest"
)

// TestNamesOfOnCallSchedulesAreUnique checks that two schedules of a workspace cannot have one name.
func TestNamesOfOnCallSchedulesAreUnique(t *testing.T) {
	inWorlds(t, func(w *world) {
		night := alert.OnCall{Name: "Night", Zone: "UTC", HandOverDay: "mon", StartsOn: began}
		made := must(w.OnCallSchedules().Create(w.ctx, w.ws, "", resource.OnCall.From(night)))(w)
		_, err := w.OnCallSchedules().Create(w.ctx, w.ws, "", resource.OnCall.From(night))
		w.refused(err, "name")
		other := must(w.OnCallSchedules().Create(w.ctx, w.otherWorkspace(), "", resource.OnCall.From(night)))(w)
		if made.Slug != "night" || other.Slug != "night" {
			t.Errorf("the slugs are %s and %s", made.Slug, other.Slug)
		}
		night.Name, night.Slug = "Day", made.Slug
		_, err = w.OnCallSchedules().Create(w.ctx, w.ws, "", resource.OnCall.From(night))
		w.refused(err, "slug")
		night.Slug = ""
		day := must(w.OnCallSchedules().Create(w.ctx, w.ws, "", resource.OnCall.From(night)))(w)
		rename := func(id, name string) error {
			_, err := w.OnCallSchedules().Change(w.ctx, w.ws, "", id, func(o *alert.OnCall) error {
				o.Name = name
				return nil
			}, kernel.Precondition{})
			return err
		}
		w.refused(rename(day.ID, "Night"), "name")
		w.ok(rename(made.ID, "Night"))
	})
}

// TestNamesOfOnCallSchedulesTakenAtOnce: when several replicas give schedules one name concurrently, all but one return
// an error about the name. Names with the same slug can be given concurrently.
func TestNamesOfOnCallSchedulesTakenAtOnce(t *testing.T) {
	onPostgres(t, "", func(w *world) {
		replicas := []*store.Store{w.Store, w.replica(), w.replica(), w.replica()}
		errs := make([]error, len(replicas))
		each := func(f func(i int, s *store.Store) error) (refused int) {
			t.Helper()
			var fs []func()
			for i, s := range replicas {
				fs = append(fs, func() { errs[i] = f(i, s) })
			}
			together(fs...)
			for _, err := range errs {
				if err != nil {
					w.refused(err, "name")
					refused++
				}
			}
			return refused
		}
		create := func(s *store.Store, name string) (alert.OnCall, error) {
			return s.OnCallSchedules().Create(w.ctx, w.ws, "", resource.OnCall.From(alert.OnCall{
				Name: name, Zone: "UTC", HandOverDay: "mon", StartsOn: began,
			}))
		}
		if n := each(func(_ int, s *store.Store) error { _, err := create(s, "Night"); return err }); n != 3 {
			t.Errorf("%d creations were refused", n)
		}
		made := make([]alert.OnCall, len(replicas))
		if n := each(func(i int, s *store.Store) (err error) {
			made[i], err = create(s, "Day"+strings.Repeat("!", i))
			return err
		}); n > 0 {
			t.Errorf("of names with the same slug, %d were refused", n)
		}
		if n := each(func(i int, s *store.Store) error {
			_, err := s.OnCallSchedules().Change(w.ctx, w.ws, "", made[i].ID, func(o *alert.OnCall) error {
				o.Name = "Evening"
				return nil
			}, kernel.Precondition{})
			return err
		}); n != 3 {
			t.Errorf("%d names were refused", n)
		}
	})
}

// TestSameNamesOfOnCallSchedules checks that migration 81 gives schedules with the same name different ones.
func TestSameNamesOfOnCallSchedules(t *testing.T) {
	t.Parallel()
	storetest.EachEmpty(t, func(t *testing.T, dsn string) {
		if err := store.MigrateTo(t.Context(), dsn, 80); err != nil {
			t.Fatal(err)
		}
		long := strings.Repeat("x", 255)
		execRaw(t, dsn, `INSERT INTO workspaces (id, name, created_at) VALUES ('ws_1', 'one', 1), ('ws_2', 'two', 1)`)
		execRaw(t, dsn,
			`INSERT INTO on_call (id, workspace_id, slug, name, schedule, calendar_key, created_at, updated_at)
			VALUES ('onc_5', 'ws_1', 'a', 'Night', '{}', 'a', 1, 1), ('onc_4', 'ws_1', 'b', 'Night', '{}', 'b', 2, 1),
			('onc_3', 'ws_1', 'c', 'Night', '{}', 'c', 3, 1), ('onc_2', 'ws_2', 'd', 'Night', '{}', 'd', 4, 1),
				('onc_6', 'ws_1', 'e', 'Day', '{}', 'e', 1, 1), ('onc_7', 'ws_1', 'f', 'Day', '{}', 'f', 2, 1),
				('onc_8', 'ws_1', 'g', 'Day (2)', '{}', 'g', 3, 1),
				('onc_a', 'ws_1', 'h', '`+long+`', '{}', 'h', 1, 1), ('onc_b', 'ws_1', 'i', '`+long+
				`', '{}', 'i', 2, 1)`)
		w := &world{T: t, ctx: t.Context(), Store: storetest.Open(t, dsn, store.Options{})}
		w.expect("names", w.rows(`SELECT id, name FROM on_call ORDER BY id`), "onc_2|Night", "onc_3|Night (3)",
			"onc_4|Night (2)", "onc_5|Night", "onc_6|Day", "onc_7|Day (onc_7)", "onc_8|Day (2)",
			"onc_a|"+long, "onc_b|"+long[:225]+" (onc_b)")
	})
}
