// Package alert decides which people on call are notified, when and on which channel. It consists of types and rules
// that take the time as an argument; it knows neither the database nor the services that take messages.
//
// An [Alert] follows one problem, such as an outage of a monitor, from its beginning to its end. A [Rule] says which
// alerts are sent to which channels. For each open alert and each rule that matches it, the store keeps a [Progress],
// and when that is due it asks [Rule.Advance] what to do. A [Notice] is something to be sent to a channel; all notices
// that wait for a channel are sent together as one [Message], so that many problems never cause a storm of messages.
package alert
