package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/surface/dashboard/frame"
)

// Limits of the download of a backup.
const (
	backupTimeout   = 10 * time.Minute // for creating it
	backupStep      = 1 << 20          // bytes that are sent before the next deadline
	backupStepLimit = time.Minute
)

// errBackupRunning is the error of a backup while another one is being created or downloaded.
var errBackupRunning = errors.New("another backup is being downloaded")

// downloadBackup sends a consistent copy of the SQLite database. The copy has the data of all workspaces, so the
// visitor must be an owner of every workspace.
func (r *request) downloadBackup() error {
	if r.Store.Shared() {
		return kernel.ErrNotFound
	}
	may, err := r.Store.MayBackUp(r.Context(), r.Actor())
	if err != nil {
		return err
	}
	if !may {
		return frame.ErrForbidden
	}
	if !r.backingUp.TryLock() {
		return errBackupRunning
	}
	defer r.backingUp.Unlock()
	controller := http.NewResponseController(r.W)
	controller.SetWriteDeadline(time.Now().Add(backupTimeout + backupStepLimit)) // an error means that there is none
	// the server's read deadline would cancel the request
	controller.SetReadDeadline(time.Time{})
	ctx, cancel := context.WithTimeout(r.Context(), backupTimeout)
	defer cancel()
	f, remove, err := r.Store.OpenBackup(ctx, r.Actor())
	if err != nil {
		return fmt.Errorf("making a backup: %w", err)
	}
	defer remove()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	r.Log.Log(ctx, slog.LevelInfo, "a backup is being downloaded", "user", r.SignedIn.User.ID, "bytes", info.Size())
	h := r.W.Header()
	h.Set("Content-Type", "application/vnd.sqlite3")
	h.Set("Content-Length", strconv.FormatInt(info.Size(), 10))
	h.Set("Content-Disposition", `attachment; filename="allswell-`+r.Now().UTC().Format("20060102T150405Z")+`.db"`)
	for {
		controller.SetWriteDeadline(time.Now().Add(backupStepLimit))
		if _, err := io.CopyN(r.W, f, backupStep); err == io.EOF {
			return nil
		} else if err != nil {
			panic(http.ErrAbortHandler) // so that an incomplete download is noticed
		}
	}
}

// backupCard is the part of the system screen about backups.
type backupCard struct {
	Download bool   // the visitor may download a backup
	Command  string // the command that backs up PostgreSQL; "": SQLite
}

// newBackupCard returns the card for the visitor.
func (r *request) newBackupCard() (card backupCard, err error) {
	if r.Store.Shared() {
		return backupCard{Command: "pg_dump --format=custom --file=allswell.dump '" + r.Process.Database + "'"}, nil
	}
	card.Download, err = r.Store.MayBackUp(r.Context(), r.Actor())
	return card, err
}
