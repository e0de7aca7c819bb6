package completion

import "embed"

// scripts are the completion scripts, by the names of the shells.
//
//go:embed scripts
var scripts embed.FS
