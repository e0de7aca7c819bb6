// Package cli has the commands that use the API of a running Allswell server, one file for each noun. They see the
// server only through package client.
package cli
