//go:build !race

package server

const lostByPools = 0
