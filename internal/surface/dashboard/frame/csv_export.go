package frame

import (
	"fmt"
	"net/http"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/shared/fair"
)

// Limits of exports.
const (
	ExportStep     = 500 // rows that are read, and kept in memory, at a time
	MaxExports     = 16  // at a time, half of them for one workspace
	ExportsPerUser = 4
	exportWait     = 5 * time.Second
	waitingExports = 64
)

// ExportKeys returns the keys by which users and workspaces share the places of exports.
func ExportKeys(userID, workspaceID string) []fair.Key {
	return []fair.Key{fair.User(userID).AtMost(ExportsPerUser), fair.Workspace(workspaceID)}
}

// errExports means that too many lists are being downloaded.
var errExports = fmt.Errorf("%w: too many lists are being downloaded", kernel.ErrBusy)

func newExports() *fair.Pool { return fair.NewPool(MaxExports, waitingExports) }

// CSVExport is a list that is downloaded as CSV.
type CSVExport[T any] struct {
	Name, File string // name is for the log
	Header     []string
	Row        func(T) []string
	ID         func(T) string
	// returns up to ExportStep rows before an id, and whether there are more; "": the first rows
	Read  func(before string) ([]T, bool, error)
	Begin func() error // is called before the first byte is sent; nil: nothing
}

// SendCSV answers with the whole list; a HEAD request gets only the header fields. If not all of the list can be read,
// the download breaks off, so that an incomplete list is noticed.
func SendCSV[T any](r *Request, e CSVExport[T]) error {
	// The place is held until the end, because rows are in memory while a slow client reads them.
	end, ok := r.Exports.Within(r.Context(), exportWait, ExportKeys(r.SignedIn.User.ID, r.SignedIn.WorkspaceID)...)
	if !ok {
		return errExports
	}
	defer end()
	list, more, err := e.Read("")
	if err != nil {
		return err
	}
	r.W.Header().Set("Content-Type", "text/csv; charset=utf-8")
	r.W.Header().Set("Content-Disposition", `attachment; filename="`+e.File+`"`)
	if r.Method == http.MethodHead {
		return nil
	}
	if e.Begin != nil {
		if err := e.Begin(); err != nil {
			return err
		}
	}
	controller := http.NewResponseController(r.W)
	// The read deadline would cancel the request. An error means that there is no deadline.
	controller.SetReadDeadline(time.Time{})
	for rows := [][]string{e.Header}; ; rows = nil {
		for _, item := range list {
			rows = append(rows, e.Row(item))
		}
		if err := kernel.WriteCSV(r.W, rows); err != nil || !more {
			return nil // a client that has gone away needs no answer
		}
		controller.SetWriteDeadline(time.Now().Add(time.Minute)) // for the next step; an error means that there is none
		if list, more, err = e.Read(e.ID(list[len(list)-1])); err != nil {
			r.Log.WarnContext(r.Context(), "exporting "+e.Name+" failed", "error", err)
			panic(http.ErrAbortHandler)
		}
	}
}
