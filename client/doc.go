// Package client is a client of the Allswell API.
//
//	c, err := client.New("https://status.example.com", token, client.Options{})
//	if err != nil {
//		return err
//	}
//	page, err := c.CreatePage(ctx, client.NewPage{Name: "Acme", Slug: "acme"})
//
// A [Client] has one method for each operation of the API, named like the operation in the OpenAPI document. Methods
// that create a resource take a struct such as [NewPage]; methods that change one take a struct such as [PageChange],
// in which fields that are nil are not changed. Every resource keeps the JSON that the server sent; see [Meta].
//
// # Lists
//
// Methods such as [Client.ListPages] return a [List], which is read from the server while it is iterated:
//
//	for page, err := range c.ListPages().All(ctx) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(page.Name)
//	}
//
// # Errors
//
// If the server refuses a request, the error is an [*Error] with the HTTP status, a machine-readable code, and for
// invalid requests the fields that are wrong, as sentences and as data ([Error.Problems]). It matches one of the
// variables such as [ErrNotFound]:
//
//	if errors.Is(err, client.ErrNotFound) { … }
//
// If there is no answer, the error is a [*NetworkError], which reports whether the request may have been executed.
//
// # Retries
//
// If the server cannot be reached or is busy, a call is retried up to [Options].Retries times and within its deadline,
// unless a retry could repeat its effect. GET, PUT and DELETE requests can be retried, and POST requests, because they
// carry an Idempotency-Key. A PATCH request is retried only if the failed one changed nothing. Waiting times grow, are
// randomized, and respect Retry-After.
package client

//go:generate go run ../internal/resource/clientgen
