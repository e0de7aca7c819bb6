package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/allswell/allswell/internal/store/database"
)

// listQuery is a statement that selects a list. load adds the limits of one page.
type listQuery[T any] struct {
	scan    func(database.Row) (T, error)
	columns string
	from    string // from FROM to the end of WHERE
	args    []any  // the parameters of from
	order   string
	fill    func(*session, []T) error // loads fields that are not in the rows; nil: none
}

// load returns one page of the list and the total number of rows, from the same snapshot.
func (q listQuery[T]) load(ctx context.Context, s *Store, r Pagination) ([]T, int, error) {
	type result struct {
		rows  []T
		total int64
	}
	out, err := read(ctx, s, func(c *session) (out result, err error) {
		out.total, err = database.One(c.Session, database.ScanInt, `SELECT count(*) `+q.from, q.args...)
		if err != nil {
			return
		}
		statement := `SELECT ` + q.columns + ` ` + q.from + ` ` + q.order + limit(len(q.args))
		out.rows, err = database.Query(c.Session, q.scan, statement,
			slices.Concat(q.args, []any{r.PerPage, r.offset()})...)
		if err == nil && q.fill != nil {
			err = q.fill(c, out.rows)
		}
		return
	})
	return out.rows, int(out.total), err
}

// limit is the end of a statement that already has n parameters.
func limit(n int) string { return fmt.Sprintf(` LIMIT $%d OFFSET $%d`, n+1, n+2) }
