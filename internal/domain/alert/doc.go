// Package alert decides who of the people on call is notified of what, when and on which channel. It consists of types
// and rules that take the time as an argument; it knows neither the database nor the services that take messages.
//
// An [Alert] is the thread of one problem, such as an outage of a monitor, from its beginning to its end. A [Rule] says
// which alerts are sent to which channels. The store keeps a [Progress] for each open alert and rule that matches it,
// and when it is due asks [Rule.Advance] what to do. What a channel is to be sent is a [Notice]; all notices that wait
// for a channel are sent together as one [Message], so that many problems at once are never a storm.
package alert
