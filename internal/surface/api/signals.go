package api

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/resource/rights"
	"github.com/allswell/allswell/internal/shared/optional"
	"github.com/allswell/allswell/internal/store"
	"github.com/allswell/allswell/internal/surface/web"
)

var signalRoutes = []route{
	{"GET", "/api/v1/monitors/{monitorId}/pings", rights.MonitorRead, (*api).listPings, operation{
		id:      "listPings",
		summary: "List the pings and signals of a monitor's job, newest first.",
		text: "The last 1,000 of 90 days, unless the server keeps them shorter or longer. Send `next_cursor` as " +
			"`cursor`, with the same kind, for the older ones: no entry is missing or listed twice, even while new " +
			"ones arrive.",
		query: []parameter{
			{name: "kind", schema: ref("SignalKind"),
				text: "Only pings or signals of this kind, of the last 1,000 of all kinds."},
		},
		returns: part("Signal", "list", "^[0-9a-f]+-[0-9a-f]+$"),
	}},
	{"GET", "/api/v1/monitors/{monitorId}/pings/{pingId}/body", rights.MonitorRead, (*api).getPingBody, operation{
		id:      "getPingBody",
		summary: "Get the end of the output that a signal brought.",
		returns: one("SignalBody", "The output."),
	}},
}

type signalJSON struct {
	ID         string             `json:"id"`
	ReceivedAt string             `json:"received_at"`
	Kind       monitor.SignalKind `json:"kind"`
	ExitCode   *int               `json:"exit_code"`
	Duration   *float64           `json:"duration"` // seconds
	RunID      *string            `json:"run_id"`
	Address    *string            `json:"address"`
	UserAgent  string             `json:"user_agent"`
	BodySize   int                `json:"body_size"`
	BodyCut    bool               `json:"body_cut"`
}

func newSignalJSON(s monitor.Signal) signalJSON {
	out := signalJSON{
		ID: s.ID, ReceivedAt: kernel.FormatTime(s.ReceivedAt), Kind: s.Kind, ExitCode: s.ExitCode,
		RunID: optional.Ptr(s.RunID), Address: optional.Ptr(s.Address), UserAgent: s.UserAgent,
		BodySize: s.OutputSize, BodyCut: s.OutputCut,
	}
	if s.Duration != nil {
		out.Duration = new(s.Duration.Seconds())
	}
	return out
}

// signalCursor returns the position in a list that the parameter cursor names: a time and a number, in hexadecimal.
func signalCursor(q *web.Query) (at store.SignalCursor) {
	cursor := q.Text("cursor")
	if cursor == "" {
		return at
	}
	time, number, ok := strings.Cut(cursor, "-")
	var badTime, badNumber error
	at.At, badTime = strconv.ParseInt(time, 16, 64)
	at.Number, badNumber = strconv.ParseInt(number, 16, 64)
	if !ok || badTime != nil || badNumber != nil || at.At < 1 || at.Number < 0 {
		q.Add("cursor", "must be the next_cursor of a response")
	}
	return at
}

// listPings lists the pings and signals of a monitor, newest first.
func (a *api) listPings(c *call) (store.Response, error) {
	q := web.ParseQuery(c.URL.RawQuery)
	f := store.SignalFilter{Kind: web.Choice(q, "kind", monitor.HistoryKinds), Before: signalCursor(q)}
	limit := q.Integer("limit", defaultPerPage, 1, maxPerPage)
	if err := q.Check(); err != nil {
		return store.Response{}, err
	}
	signals, next, err := a.store.Signals(c.Context(), c.actor(), c.PathValue("monitorId"), f, limit)
	if err != nil {
		return store.Response{}, err
	}
	cursor := ""
	if next.At != 0 {
		cursor = fmt.Sprintf("%x-%x", next.At, next.Number)
	}
	return cursorResponse(signals, newSignalJSON, cursor)
}

type signalBodyJSON struct {
	ID       string `json:"id"`
	Encoding string `json:"encoding"`
	Body     string `json:"body"`
	Cut      bool   `json:"cut"`
}

func newSignalBodyJSON(s monitor.Signal) signalBodyJSON {
	if !utf8.Valid(s.Output) {
		return signalBodyJSON{s.ID, "base64", base64.StdEncoding.EncodeToString(s.Output), s.OutputCut}
	}
	return signalBodyJSON{s.ID, "utf-8", string(s.Output), s.OutputCut}
}

// getPingBody returns the output that a signal carried.
func (a *api) getPingBody(c *call) (store.Response, error) {
	s, err := a.store.Signal(c.Context(), c.actor(), c.PathValue("monitorId"), c.PathValue("pingId"))
	return resourceResponse(s, err, newSignalBodyJSON)
}

type incidentNoteJSON struct {
	ID        string `json:"id"`
	ExitCode  *int   `json:"exit_code"`
	Output    string `json:"output"`
	CreatedAt string `json:"created_at"`
}

func newIncidentNoteJSON(n monitor.IncidentNote) incidentNoteJSON {
	return incidentNoteJSON{n.ID, n.ExitCode, n.Output, kernel.FormatTime(n.CreatedAt)}
}

// listIncidentNotes lists how the job of an incident failed, oldest first.
func (a *api) listIncidentNotes(c *call) (store.Response, error) {
	return serveList(c, newIncidentNoteJSON, func(r store.Pagination) ([]monitor.IncidentNote, int, error) {
		return a.store.IncidentNotes(c.Context(), c.actor(), c.PathValue("incidentId"), r)
	})
}
