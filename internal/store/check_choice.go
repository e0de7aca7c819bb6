package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/store/database"
)

// choicePage is how many due checks are looked at together, and maxChoicePages how often. What is due behind them is
// chosen next time.
const (
	choicePage     = 1000
	maxChoicePages = 50
)

// chosenChecks are the ids of monitors whose checks a replica claims.
type chosenChecks struct{ retries, due []string }

// candidateCheck is a check that is due.
type candidateCheck struct {
	monitorID, workspaceID, host string
	at                           int64 // when it was due
}

// checkChoice chooses checks for the places that a replica has.
type checkChoice struct {
	claim             CheckClaim
	left              int             // how many more may be chosen
	hosts, workspaces map[string]bool // that have no place; a host after its workspace and a space
}

func newCheckChoice(c CheckClaim) *checkChoice {
	return &checkChoice{c, c.Limit, make(map[string]bool), make(map[string]bool)}
}

// add chooses a check if there is a place for it. Otherwise it notes that its workspace has none at its host, or none
// at all.
func (c *checkChoice) add(check candidateCheck) bool {
	host := check.workspaceID + " " + check.host
	if c.left <= 0 || c.hosts[host] || c.workspaces[check.workspaceID] {
		return false
	}
	if c.claim.Place != nil {
		shares, keys := c.claim.Place(check.workspaceID, check.host)
		switch {
		case shares.Fit(keys...):
			shares.Take(keys...)
		case c.claim.Full(check.workspaceID):
			c.workspaces[check.workspaceID] = true
			return false
		default:
			c.hosts[host] = true
			return false
		}
	}
	c.left--
	return true
}

// chooseChecks chooses due checks: first checks that another replica could not decide, and of each kind the checks that
// have been due longest.
func (c *session) chooseChecks(claim CheckClaim) (chosen chosenChecks, err error) {
	choice := newCheckChoice(claim)
	chosen.retries, err = c.choose(choice, "retry_at",
		checkRetryable, withoutLocation(claim.Location), withoutReplica(claim.Replica))
	if err != nil {
		return chosen, err
	}
	chosen.due, err = c.choose(choice, "due_at", `due_at <= $1`)
	return chosen, err
}

// choose chooses checks that satisfy a condition, where $1 is now and $2 and following are args. It looks at them page
// by page, and skips checks whose host or workspace has no place.
func (c *session) choose(choice *checkChoice, column, condition string, args ...any) (chosen []string, err error) {
	n := 1 + len(args)
	statement := fmt.Sprintf(`SELECT monitor_id, workspace_id, host, %[1]s FROM checks WHERE %[2]s
		AND (%[1]s, monitor_id) > ($%[3]d, $%[4]d)
		AND workspace_id || ' ' || host NOT IN EACH($%[5]d) AND workspace_id NOT IN EACH($%[6]d)
		ORDER BY %[1]s, monitor_id LIMIT $%[7]d`, column, condition, n+1, n+2, n+3, n+4, n+5)
	var last candidateCheck
	for range maxChoicePages {
		if choice.left <= 0 {
			break
		}
		all := append(append([]any{millis(c.Now)}, args...), last.at, last.monitorID,
			list(slices.Collect(maps.Keys(choice.hosts))), list(slices.Collect(maps.Keys(choice.workspaces))),
			choicePage)
		page, err := database.Query(c.Session, func(row database.Row) (d candidateCheck, err error) {
			err = row.Scan(&d.monitorID, &d.workspaceID, &d.host, &d.at)
			return
		}, statement, all...)
		if err != nil {
			return nil, err
		}
		for _, d := range page {
			if last = d; choice.add(d) {
				chosen = append(chosen, d.monitorID)
			}
		}
		if len(page) < choicePage {
			break
		}
	}
	return chosen, nil
}

// CheckHost is the host of a claimed check, which its probe has computed.
type CheckHost struct {
	ClaimedCheck
	Host     string
	Returned bool // the replica has no place for it, so the check is due again
}

// SaveCheckHosts saves the hosts of claimed checks, and makes returned checks due. It leaves out checks whose
// configuration has changed meanwhile.
func (s *Store) SaveCheckHosts(ctx context.Context, hosts []CheckHost) error {
	if len(hosts) == 0 {
		return nil
	}
	return writeOnly(ctx, s, func(t *tx) error {
		t.skipBeforeReturn = true
		for some := range slices.Chunk(hosts, rowsPerInsert) {
			if err := t.saveCheckHosts(some); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *tx) saveCheckHosts(hosts []CheckHost) error {
	var values []string
	var args []any
	for _, h := range hosts {
		var due, retry time.Time
		if h.Returned && h.Retry {
			retry = h.DueAt
		} else if h.Returned {
			due = h.DueAt
		}
		n := len(args)
		args = append(args, h.MonitorID, h.Version, h.Host, millis(due), millis(retry))
		values = append(values,
			fmt.Sprintf(`($%d, CAST($%d AS BIGINT), $%d, CAST($%d AS BIGINT), CAST($%d AS BIGINT))`, n+1, n+2, n+3, n+4,
				n+5))
	}
	_, err := t.Exec(`WITH given (id, version, host, due, retry) AS (VALUES `+strings.Join(values, ", ")+`)
		UPDATE checks SET host = given.host, due_at = CASE WHEN given.due < due_at THEN given.due ELSE due_at END,
			retry_at = coalesce(given.retry, retry_at) FROM given WHERE monitor_id = given.id
			AND checks.version = given.version`, args...)
	return err
}
