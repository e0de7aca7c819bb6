//go:build !linux

package storetest

// memoryFolder returns "", the folder of temporary files.
func memoryFolder() string { return "" }
