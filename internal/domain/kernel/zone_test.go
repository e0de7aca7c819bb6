package kernel_test

import (
	"testing"

	"github.com/allswell/allswell/internal/domain/kernel"
)

// TestZonesOfAllHosts checks that only names are valid whose zones are the same on every host.
func TestZonesOfAllHosts(t *testing.T) {
	for name, valid := range map[string]bool{
		"UTC": true, "Europe/Berlin": true, "America/Argentina/Buenos_Aires": true, "Etc/GMT+5": true,
		"": false, "Local": false, "localtime": false, "posixrules": false, "Factory": false,
		"right/Europe/Berlin": false, "posix/UTC": false,
		"Europe//Berlin": false, "./UTC": false, "Europe/../UTC": false, "UTC/": false, "/UTC": false,
		"Europe/Nowhere": false,
	} {
		if got := kernel.ValidZone(name); got != valid {
			t.Errorf("%q is valid: %t", name, got)
		}
	}
}
