package dashboard

import (
	"fmt"
	"net/http"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/fair"
)

// Limits of exports.
const (
	exportStep     = 500 // rows that are read, and kept in memory, at a time
	maxExports     = 16  // at a time, half of them for one workspace
	exportsPerUser = 4
	exportWait     = 5 * time.Second
	waitingExports = 64
)

// exportKeys returns who shares the places of exports with others.
func exportKeys(userID, workspaceID string) []fair.Key {
	return []fair.Key{fair.User(userID).AtMost(exportsPerUser), fair.Workspace(workspaceID)}
}

// errExports means that too many lists are being downloaded.
var errExports = fmt.Errorf("%w: too many lists are being downloaded", kernel.ErrBusy)

func newExports() *fair.Pool { return fair.NewPool(maxExports, waitingExports) }

// csvExport is a list that is downloaded as CSV.
type csvExport[T any] struct {
	name, file string // name is for the log
	header     []string
	row        func(T) []string
	id         func(T) string
	// returns the exportStep rows before an id, and whether there are more; "": the first ones
	read  func(before string) ([]T, bool, error)
	begin func() error // is called before the first byte is sent; nil: nothing
}

// sendCSV answers with the whole list, or only with the header fields of that answer. If the list cannot all be read,
// the download breaks off, so that nothing is missing silently.
func sendCSV[T any](v *visit, e csvExport[T]) error {
	// The place is held until the end, because the rows are kept while a slow client reads them.
	end, ok := v.exports.Within(v.r.Context(), exportWait, exportKeys(v.in.User.ID, v.in.WorkspaceID)...)
	if !ok {
		return errExports
	}
	defer end()
	list, more, err := e.read("")
	if err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	v.w.Header().Set("Content-Disposition", `attachment; filename="`+e.file+`"`)
	if v.r.Method == http.MethodHead {
		return nil
	}
	if e.begin != nil {
		if err := e.begin(); err != nil {
			return err
		}
	}
	controller := http.NewResponseController(v.w)
	// net/http cancels the request when it expires; an error means that there is none
	controller.SetReadDeadline(time.Time{})
	for rows := [][]string{e.header}; ; rows = nil {
		for _, item := range list {
			rows = append(rows, e.row(item))
		}
		if err := kernel.WriteCSV(v.w, rows); err != nil || !more {
			return nil // a client that has gone away needs no answer
		}
		controller.SetWriteDeadline(time.Now().Add(time.Minute)) // for the next step; an error means that there is none
		if list, more, err = e.read(e.id(list[len(list)-1])); err != nil {
			v.log.WarnContext(v.r.Context(), "exporting "+e.name+" failed", "error", err)
			panic(http.ErrAbortHandler)
		}
	}
}
