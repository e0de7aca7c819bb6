package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/command/console"
	"github.com/allswell/allswell/internal/domain/kernel"
)

// putFlags is embedded by the commands that create or replace a resource.
type putFlags struct {
	IfMatch    string `placeholder:"ETAG" xor:"condition" help:"Replace only the version with this entity tag, which show --etag prints; * is any version."`
	CreateOnly bool   `xor:"condition" help:"Fail if it exists."`
}

// options returns the preconditions of the request.
func (f putFlags) options() (options []client.CallOption) {
	if f.IfMatch != "" {
		options = append(options, client.IfMatch(f.IfMatch))
	}
	if f.CreateOnly {
		options = append(options, client.IfNoneMatch())
	}
	return options
}

// explain describes a failed precondition. It returns all other errors unchanged.
func (f putFlags) explain(err error, what string) error {
	refused := (*client.Error)(nil)
	switch {
	case !errors.As(err, &refused) || refused.Code != client.CodePrecondition:
		return err
	case f.CreateOnly:
		return fmt.Errorf("nothing was changed: the %s exists (--create-only)", what)
	}
	return fmt.Errorf("nothing was changed: the %s does not exist or does not have the entity tag (--if-match)", what)
}

// tagged is a resource with an entity tag.
type tagged interface {
	sent
	ETag() string
	Created() bool
}

// putResource creates or replaces a resource, such as "page acme", and prints whether that changed anything, by
// comparing the entity tags before and after.
func putResource[T tagged](
	c *commandContext, f putFlags, what string, get func() (T, error), put func(...client.CallOption) (T, error),
) error {
	before := ""
	if !c.JSON {
		switch v, err := get(); {
		case err == nil:
			before = v.ETag()
		case !errors.Is(err, client.ErrNotFound):
			return err
		}
	}
	v, err := put(f.options()...)
	return object(c, v, f.explain(err, what), func(v T) {
		switch {
		case v.Created():
			c.Printf("Created the %s.\n", what)
		case v.ETag() == before:
			c.Printf("The %s is unchanged.\n", what)
		default:
			c.Printf("Changed the %s.\n", what)
		}
	})
}

// putDescribed is putResource for an object of the workspace that is given by its slug or id, with what read describes.
func putDescribed[T tagged, N any](
	c *commandContext, f putFlags, noun, prefix, ref string, read func() (N, error),
	get func(context.Context, string, ...client.CallOption) (T, error),
	put func(context.Context, string, N, ...client.CallOption) (T, error),
) error {
	if err := checkRef(ref, noun, prefix); err != nil {
		return err
	}
	n, err := read()
	if err != nil {
		return err
	}
	return putResource(c, f, noun+" "+console.Visible(ref),
		func() (T, error) { return get(c.Ctx, ref) },
		func(options ...client.CallOption) (T, error) { return put(c.Ctx, ref, n, options...) })
}

// checkRef returns a usage error unless given is a slug, or an id that begins with prefix.
func checkRef(given, noun, prefix string) error {
	if strings.HasPrefix(given, prefix) || kernel.ValidSlug(given) {
		return nil
	}
	return console.UsageErrorf("the %s %q is neither a slug (a-z, 0-9 and hyphens, at most %d) nor an id", noun, given,
		kernel.MaxSlugLength)
}

// etagFlag is embedded by the commands that show a resource with an entity tag.
type etagFlag struct {
	ETag bool `name:"etag" help:"Print only the entity tag, for --if-match of put."`
}

// printETag prints the entity tag of a resource. If err is not nil, it returns err.
func printETag(c *commandContext, v interface{ ETag() string }, err error) error {
	if err == nil {
		c.Printf("%s\n", console.Visible(v.ETag()))
	}
	return err
}
