// Package audience decides which subscribers are notified of events on a page, and how messages reach them.
//
// A [Subscriber] chose a [Channel], such as mail or a webhook, and perhaps some components. Every change that
// subscribers can be notified of writes an [Event]. Each event becomes one [Delivery] per subscriber, and
// [PlanDeliveries] decides which delivery is sent next, which ones it replaces, and what waits for an explanation.
// [SendResult] is the result of an attempt, and decides whether another one follows.
//
// People on call are not subscribers: package alert decides who of them is notified.
package audience
