// Package account describes who may use a workspace, and how they prove who they are.
//
// A [Workspace] owns pages, monitors and tokens. A [Token] gives a program access, within a [kernel.Scope] and perhaps
// to some pages only ([PageLimit]). A [User] is a person; as a [Member] of a workspace they have a [kernel.Role]. They
// join by an [Invitation], or through a provider by [SignInRules]. A [Session] is a sign-in with one browser; sensitive
// changes need a fresh proof ([Session.NeedsConfirmation]).
package account
