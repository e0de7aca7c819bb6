// Package web contains code that the HTTP surfaces share. A [Handler] returns its error, and only [Fail] turns errors
// into responses and log lines. [ReadBody] and [ParseQuery] read input strictly and within limits, and report all
// errors together. A [Document] is a response that is compressed once and served many times.
package web
