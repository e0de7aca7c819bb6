package main

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/allswell/allswell/internal/resource"
)

// TestClientIsCurrent checks that the client has been generated from today's descriptions and enumerations.
func TestClientIsCurrent(t *testing.T) {
	for name, generate := range map[string]func() ([]byte, error){
		"resources_generated.go": func() ([]byte, error) { return generate(resource.Descriptions) },
		"enums_generated.go":     func() ([]byte, error) { return generateEnums("../../domain") },
	} {
		want, err := generate()
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile("../../../client/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s: run go generate ./client (-generated +client):\n%s", name, diff)
		}
	}
}
