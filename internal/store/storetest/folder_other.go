//go:build !linux

package storetest

// clusterFolder is where clusters keep their files: the folder of temporary files.
func clusterFolder() string { return "" }
