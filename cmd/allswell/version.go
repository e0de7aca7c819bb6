package main

import "github.com/allswell/allswell/internal/buildinfo"

type versionCommand struct {
	JSON bool `name:"json" help:"Print JSON, for programs."`
}

func (cmd *versionCommand) Run(c *console) error {
	v := buildinfo.Read()
	if cmd.JSON {
		return printer{c, true}.raw(v)
	}
	c.printf("allswell %s", v.Version)
	if v.Revision != "" {
		c.printf(" (%s, %s)", v.Revision, v.Time)
	}
	c.printf(", %s, %s\n", v.Go, v.Platform)
	return nil
}
