package main

import (
	"bytes"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
)

// writeBillOfMaterials writes the list of the modules in the binaries, in the JSON form of CycloneDX.
func (r release) writeBillOfMaterials(modules []module) error {
	self := cyclonedx.Component{
		BOMRef:     "pkg:golang/github.com/allswell/allswell@v" + r.version,
		Type:       cyclonedx.ComponentTypeApplication,
		Name:       "github.com/allswell/allswell",
		Version:    "v" + r.version,
		Licenses:   &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "MIT"}}},
		PackageURL: "pkg:golang/github.com/allswell/allswell@v" + r.version,
		ExternalReferences: &[]cyclonedx.ExternalReference{
			{Type: cyclonedx.ERTypeVCS, URL: "https://github.com/allswell/allswell", Comment: r.revision},
		},
	}
	var components []cyclonedx.Component
	var refs []string
	for _, m := range modules {
		url := "pkg:golang/" + m.path + "@" + m.version
		component := cyclonedx.Component{
			BOMRef: url, Type: cyclonedx.ComponentTypeLibrary, Name: m.path, Version: m.version, PackageURL: url,
			Scope: cyclonedx.ScopeRequired,
		}
		if m.sum != "" {
			component.Properties = &[]cyclonedx.Property{{Name: "go.sum", Value: m.sum}}
		}
		components = append(components, component)
		refs = append(refs, url)
	}
	bom := cyclonedx.NewBOM()
	bom.SerialNumber = "urn:uuid:" + uuid.NewSHA1(uuid.NameSpaceURL, []byte(self.PackageURL+"#"+r.revision)).String()
	bom.Metadata = &cyclonedx.Metadata{Timestamp: r.time.Format(time.RFC3339), Component: &self}
	bom.Components = &components
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: self.BOMRef, Dependencies: &refs}}
	var b bytes.Buffer
	err := cyclonedx.NewBOMEncoder(&b, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom,
		cyclonedx.SpecVersion1_6)
	if err != nil {
		return err
	}
	return r.write("allswell.cdx.json", b.Bytes())
}
