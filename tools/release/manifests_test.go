package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	compose "github.com/compose-spec/compose-go/v2/types"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// TestKubernetesManifests decodes the manifests as the API server of Kubernetes does with --validate=strict: unknown
// fields, repeated fields and values of a wrong type are errors.
func TestKubernetesManifests(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, corev1.AddToScheme, policyv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	decode := func(text []byte) (kinds []string, err error) {
		for documents := yaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(text))); ; {
			document := make([]byte, len(text))
			n, err := documents.Read(document)
			if errors.Is(err, io.EOF) {
				return kinds, nil
			} else if err != nil {
				return kinds, err
			}
			_, kind, err := decoder.Decode(document[:n], nil, nil)
			if err != nil {
				return kinds, err
			}
			kinds = append(kinds, kind.Kind)
		}
	}
	for name, want := range map[string][]string{
		"sqlite.yaml":     {"Service", "StatefulSet"},
		"postgresql.yaml": {"Service", "PodDisruptionBudget", "Deployment"},
	} {
		text, err := os.ReadFile(filepath.Join("../../deploy/kubernetes", name))
		if err != nil {
			t.Fatal(err)
		}
		if kinds, err := decode(text); err != nil || !slices.Equal(kinds, want) {
			t.Errorf("%s: %q, %v", name, kinds, err)
		}
		for _, wrong := range [][2]string{{"replicas:", "replica:"}, {"periodSeconds: 10", "periodSeconds: often"}} {
			if _, err := decode(bytes.ReplaceAll(text, []byte(wrong[0]), []byte(wrong[1]))); err == nil {
				t.Errorf("%s with %s is accepted", name, wrong[1])
			}
		}
	}
}

// TestComposeFile loads the file for Docker Compose as Docker Compose does.
func TestComposeFile(t *testing.T) {
	load := func(text []byte, env map[string]string) (*compose.Project, error) {
		return loader.LoadWithContext(t.Context(), compose.ConfigDetails{
			WorkingDir: t.TempDir(), ConfigFiles: []compose.ConfigFile{{Filename: "compose.yaml", Content: text}},
			Environment: env,
		}, func(o *loader.Options) { o.SetProjectName("allswell", true) })
	}
	text, err := os.ReadFile("../../deploy/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	project, err := load(text, map[string]string{"ALLSWELL_BASE_URL": "https://status.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	service, err := project.GetService("allswell")
	if err != nil {
		t.Fatal(err)
	}
	if got := service.Environment["ALLSWELL_BASE_URL"]; got == nil || *got != "https://status.example.com" {
		t.Errorf("ALLSWELL_BASE_URL is %v", got)
	}
	if _, err := load(bytes.ReplaceAll(text, []byte("restart:"), []byte("restarts:")), nil); err == nil {
		t.Error("an unknown key is accepted")
	}
}
