package workspace

import (
	"net/http"
	"slices"
	"time"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/store"
)

// Process describes the serving process, for the system screen.
type Process struct {
	Version, Revision string
	Go, Platform      string
	Database          string // without user and password
	Replica           string
	StartedAt         time.Time
	Settings          []Setting
	RecordedPings     func() float64       // since the start; nil: not counted
	PingWriterBusy    func() time.Duration // total time of their transactions; nil if RecordedPings is nil
}

// Setting is a setting of the serving process.
type Setting struct {
	Name, Value string // Value is "" if not set; for a secret, it only says that one is set
	Source      string // "default", or where the setting comes from
}

// systemScreen is the data of the template system.
type systemScreen struct {
	Process
	store.System
	Pings load // of the last minute
	Peak  load // the highest values of Pings in the last hour

	Backup backupCard

	Operator bool // the member may see the settings and the state of the server
}

// isOperator reports whether the member operates the installation: admins of the default workspace do.
func (r *request) isOperator() bool {
	return r.May(rights.SystemRead) && slices.ContainsFunc(r.SignedIn.Workspaces, func(w account.Workspace) bool {
		return w.ID == r.SignedIn.WorkspaceID && w.Name == account.DefaultWorkspace
	})
}

// showSystem shows the installation: its version, database, replicas, listening gaps and settings. Admins of workspaces
// other than the default one see only the version and the gaps, which concern their monitors.
func (r *request) showSystem() error {
	state, err := r.Store.System(r.Context())
	if err != nil {
		return err
	}
	slices.Reverse(state.Gaps) // newest first
	s := systemScreen{Process: r.Process, System: state}
	if s.Operator = r.isOperator(); !s.Operator {
		s.Process, s.System = Process{Version: r.Process.Version}, store.System{AsOf: state.AsOf, Gaps: state.Gaps}
		return r.Show(http.StatusOK, "system", "System", s)
	}
	if s.Backup, err = r.newBackupCard(); err != nil {
		return err
	}
	s.Pings, s.Peak = r.pings.now(), r.pings.peak()
	return r.Show(http.StatusOK, "system", "System", s)
}
