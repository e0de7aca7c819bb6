package main

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/allswell/allswell/internal/resource"
)

// TestClientIsCurrent checks that the client has been generated from today's descriptions.
func TestClientIsCurrent(t *testing.T) {
	want, err := generate(resource.Descriptions)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../../client/resources_generated.go")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("run go generate ./client (-generated +client):\n%s", diff)
	}
}
