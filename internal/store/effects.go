package store

import (
	"cmp"
	"maps"
	"slices"

	"github.com/allswell/allswell/internal/domain/monitor"
)

// effect is what happens after the commit of a transaction.
type effect struct {
	kind    effectKind
	subject string   // what the effect is about: see the kinds
	entry   logEntry // of effectLogEntry
}

// effectKind is a kind of effects. Effects happen in the order of their kinds.
type effectKind int

const (
	effectLiveness          effectKind = iota // of a replica: its liveness record is committed
	effectPageHidden                          // of a page: it was made private
	effectPageChanged                         // of a page
	effectWarning                             // of a monitor.Condition: a warning was added
	effectPingToken                           // of a ping token: it is new, or its monitor was enabled
	effectDeliveriesPending                   // FanOut, ProcessSignUps or ClaimDeliveries has work
	effectAlertsPending                       // AdvanceAlerts or ClaimMessages has work
	effectMaintenanceChange                   // the time of the next transition may have changed
	effectDomainCheckDue                      // a domain is due to be checked
	effectPingBlock                           // the history of pings has another block
	effectLogEntry                            // entry is logged, with the others
)

// addEffect adds an effect with a subject.
func (t *tx) addEffect(kind effectKind, subject string) {
	t.effects = append(t.effects, effect{kind: kind, subject: subject})
}

// signal adds an effect without a subject, which happens once per transaction.
func (t *tx) signal(kind effectKind) {
	if e := (effect{kind: kind}); !slices.Contains(t.effects, e) {
		t.effects = append(t.effects, e)
	}
}

// logAfter adds a message about an object, such as a monitor, that is logged after the commit.
func (t *tx) logAfter(message, kind, id, name string) {
	t.effects = append(t.effects, effect{kind: effectLogEntry, entry: logEntry{message, kind, id, name}})
}

// committed makes the effects of the transaction happen.
func (t *tx) committed() {
	for _, pageID := range slices.Sorted(maps.Keys(t.versions)) {
		t.addEffect(effectPageChanged, pageID)
	}
	slices.SortStableFunc(t.effects, func(a, b effect) int { return cmp.Compare(a.kind, b.kind) })
	var entries []logEntry
	for _, e := range t.effects {
		if e.kind == effectLogEntry {
			entries = append(entries, e.entry)
		} else {
			t.happen(e)
		}
	}
	t.s.writeLogEntries(entries)
}

// happen makes one effect happen, except of effectLogEntry.
func (t *tx) happen(e effect) {
	s := t.s
	switch e.kind {
	case effectLiveness:
		s.lastLiveness.Store(e.subject, t.Now)
	case effectPageHidden:
		callAll(s.onPageHidden, e.subject)
	case effectPageChanged:
		if s.db.Shared() {
			s.pages.learn(pageChange{s.replica, t.changeNumber, e.subject, t.versions[e.subject]}, func(string) {})
		}
		callAll(s.onPageChange, e.subject)
	case effectWarning:
		s.counts.warnings[monitor.Condition(e.subject)].Add(1)
	case effectPingToken:
		callAll(s.onPingToken, e.subject)
	case effectDeliveriesPending:
		signalAll(s.onDeliveriesPending)
	case effectAlertsPending:
		signalAll(s.onAlertsPending)
	case effectMaintenanceChange:
		signalAll(s.onMaintenanceChange)
	case effectDomainCheckDue:
		signalAll(s.onDomainCheckDue)
	case effectPingBlock:
		s.blockAdded()
	}
}

// callAll calls the registered functions for a page or a token.
func callAll(registered []func(string), subject string) {
	for _, f := range registered {
		f(subject)
	}
}

func signalAll(registered []func()) {
	for _, f := range registered {
		f()
	}
}

// logEntry is a message about an object, which is logged after the commit.
type logEntry struct{ message, kind, id, name string }

// writeLogEntries logs the first few entries and the number of the others.
func (s *Store) writeLogEntries(all []logEntry) {
	const limit = 20
	for _, n := range all[:min(len(all), limit)] {
		s.log.Info(n.message, n.kind, n.id, "name", n.name)
	}
	if len(all) > limit {
		s.log.Info("more changes in the same transaction", "count", len(all)-limit)
	}
}
