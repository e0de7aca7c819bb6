// Package web is what the HTTP faces share. A [Handler] returns its error, and
// [Fail] is the one place that turns an error into a response and a log line.
// [ReadBody], [ParseObject] and [ParseQuery] read what strangers send: within
// limits, strictly, and naming everything that is wrong at once.
package web
