package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/oasdiff/yaml"
)

// object is a part of a YAML document.
type object = map[string]any

// at returns the value at a path of keys, in which a number is an index of a list; nil if there is none.
func at(value any, path ...any) any {
	for _, key := range path {
		switch v := value.(type) {
		case object:
			name, _ := key.(string)
			value = v[name]
		case []any:
			n, ok := key.(int)
			if !ok || n >= len(v) {
				return nil
			}
			value = v[n]
		default:
			return nil
		}
	}
	return value
}

// documents parses a YAML file and returns its documents by kind.
func documents(t *testing.T, path string) map[string]object {
	t.Helper()
	byKind := make(map[string]object)
	for _, text := range strings.Split(read(t, path), "\n---\n") {
		var o object
		if _, err := yaml.Unmarshal([]byte(text), &o, yaml.DecodeOpts{}); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		kind, _ := o["kind"].(string)
		byKind[kind] = o
	}
	return byKind
}

// check reports every path of a document that does not have the wanted value.
func check(t *testing.T, document object, want map[string]any) {
	t.Helper()
	for path, wanted := range want {
		var keys []any
		for _, key := range strings.Split(path, "/") {
			if key == "0" {
				keys = append(keys, 0)
			} else {
				keys = append(keys, key)
			}
		}
		if diff := cmp.Diff(wanted, at(document, keys...)); diff != "" {
			t.Errorf("%s of %s: -want +got\n%s", path, document["kind"], diff)
		}
	}
}

const container = "spec/template/spec/containers/0/"

var labels = object{"app.kubernetes.io/name": "allswell"}

// podFields are the fields that all workloads have.
var podFields = map[string]any{
	"metadata/name":                                     "allswell",
	"spec/selector/matchLabels":                         labels,
	"spec/template/metadata/labels":                     labels,
	"spec/template/spec/automountServiceAccountToken":   false,
	"spec/template/spec/terminationGracePeriodSeconds":  30.0,
	"spec/template/spec/securityContext/runAsNonRoot":   true,
	"spec/template/spec/securityContext/runAsUser":      65532.0,
	"spec/template/spec/securityContext/runAsGroup":     65532.0,
	"spec/template/spec/securityContext/seccompProfile": object{"type": "RuntimeDefault"},
	container + "securityContext": object{
		"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
		"capabilities": object{"drop": []any{"ALL"}},
	},
	container + "ports":                    []any{object{"name": "http", "containerPort": 8080.0}},
	container + "startupProbe/httpGet":     object{"path": "/readyz", "port": "http"},
	container + "livenessProbe/httpGet":    object{"path": "/healthz", "port": "http"},
	container + "readinessProbe/httpGet":   object{"path": "/readyz", "port": "http"},
	container + "resources/limits/memory":  "512Mi",
	container + "envFrom/0/secretRef/name": "allswell",
	"spec/template/spec/volumes/0":         object{"name": "tmp", "emptyDir": object{}},
}

// workloads are the manifests, with the number of their documents and the fields of the workload.
var workloads = map[string]struct {
	kind  string
	kinds int
	want  map[string]any
}{
	"kubernetes/sqlite.yaml": {"StatefulSet", 2, map[string]any{
		"spec/replicas":    1.0, // SQLite has one server
		"spec/serviceName": "allswell",
		"spec/template/spec/securityContext/fsGroup": 65532.0,
		container + "volumeMounts": []any{
			object{"name": "data", "mountPath": "/data"}, object{"name": "tmp", "mountPath": "/tmp"},
		},
		"spec/volumeClaimTemplates/0/metadata/name":    "data",
		"spec/volumeClaimTemplates/0/spec/accessModes": []any{"ReadWriteOnce"},
	}},
	"kubernetes/postgresql.yaml": {"Deployment", 3, map[string]any{
		"spec/replicas":               3.0,
		"spec/strategy/rollingUpdate": object{"maxUnavailable": 0.0, "maxSurge": 1.0},
		// required: it has the database
		container + "envFrom/0":         object{"secretRef": object{"name": "allswell"}},
		container + "lifecycle/preStop": object{"sleep": object{"seconds": 5.0}},
		container + "volumeMounts":      []any{object{"name": "tmp", "mountPath": "/tmp"}},
		"spec/template/spec/topologySpreadConstraints/0/labelSelector/matchLabels": labels,
	}},
}

func TestKubernetes(t *testing.T) {
	for path, workload := range workloads {
		t.Run(path, func(t *testing.T) {
			all := documents(t, path)
			if len(all) != workload.kinds {
				t.Errorf("%d documents, want %d", len(all), workload.kinds)
			}
			check(t, all[workload.kind], podFields)
			check(t, all[workload.kind], workload.want)
			check(t, all["Service"], map[string]any{"spec/selector": labels, "spec/ports/0/targetPort": "http"})
			if budget, ok := all["PodDisruptionBudget"]; ok {
				check(t, budget, map[string]any{"spec/maxUnavailable": 1.0, "spec/selector/matchLabels": labels})
			}
		})
	}
}

func TestCompose(t *testing.T) {
	var o object
	if _, err := yaml.Unmarshal([]byte(read(t, "compose.yaml")), &o, yaml.DecodeOpts{}); err != nil {
		t.Fatal(err)
	}
	check(t, o, map[string]any{
		"services/allswell/image":     "ghcr.io/allswell/allswell:latest",
		"services/allswell/volumes/0": "data:/data",
		"services/allswell/ports/0":   "127.0.0.1:8080:8080",
		"services/allswell/read_only": true,
		"services/allswell/cap_drop":  []any{"ALL"},
		"services/allswell/restart":   "unless-stopped",
		"volumes":                     object{"data": nil},
	})
}

// TestSettingsExist checks that every setting that a file of deploy names is in the list of settings.
func TestSettingsExist(t *testing.T) {
	manual := read(t, "../docs/settings.md")
	for _, path := range []string{
		"packages/allswell.env", "compose.yaml", "kubernetes/sqlite.yaml", "kubernetes/postgresql.yaml",
	} {
		names := regexp.MustCompile(`ALLSWELL_[A-Z_]+`).FindAllString(read(t, path), -1)
		if len(names) == 0 {
			t.Errorf("%s names no settings", path)
		}
		for _, name := range names {
			if !strings.Contains(manual, "- `"+name+"`") {
				t.Errorf("%s names %s, which docs/settings.md does not", path, name)
			}
		}
	}
}

// needs skips a test if a program is not installed, or ends it if the variable is 1.
func needs(t *testing.T, program, variable string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		if os.Getenv(variable) == "1" {
			t.Fatal(err)
		}
		t.Skip("skipped: ", err)
	}
}

// TestUnits checks every systemd unit with systemd itself, if it is installed.
func TestUnits(t *testing.T) {
	needs(t, "systemd-analyze", "ALLSWELL_TEST_REQUIRE_SAMPLES")
	var units []string
	err := filepath.WalkDir(".", func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".service") {
			units = append(units, path)
		}
		return err
	})
	if err != nil || len(units) < 2 {
		t.Fatalf("the units are %q: %v", units, err)
	}
	command := regexp.MustCompile(`(?m)^ExecStart=\S+`)
	for _, name := range units {
		t.Run(name, func(t *testing.T) {
			// The program is not installed here; true is.
			path := filepath.Join(t.TempDir(), "allswell.service")
			err := os.WriteFile(path, []byte(command.ReplaceAllString(read(t, name), "ExecStart=/bin/true")), 0o644)
			if err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command("systemd-analyze", "verify", "--man=no", path).CombinedOutput()
			if err != nil || strings.Contains(string(out), "allswell.service") {
				t.Errorf("systemd-analyze verify: %v\n%s", err, out)
			}
			// The exposure is at most 2.0 of 10.
			out, err = exec.Command(
				"systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager", path,
			).CombinedOutput()
			if err != nil {
				t.Errorf("systemd-analyze security: %v\n%s", err, out)
			}
		})
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestReleaseWorkflow checks that the workflow of a release only calls .ci/release, which runs on any machine.
func TestReleaseWorkflow(t *testing.T) {
	var o object
	_, err := yaml.Unmarshal([]byte(read(t, "../.github/workflows/release.yml")), &o, yaml.DecodeOpts{})
	if err != nil {
		t.Fatal(err)
	}
	var runs []any
	steps, _ := at(o, "jobs", "release", "steps").([]any)
	for _, step := range steps {
		if run := at(step, "run"); run != nil {
			runs = append(runs, run)
		}
	}
	if diff := cmp.Diff([]any{`.ci/release --publish "$GITHUB_REF_NAME"`}, runs); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
