package signin_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/account"
	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/surface/dashboard/dashboardtest"
	"github.com/allswell/allswell/internal/surface/dashboard/signin"
	"github.com/allswell/allswell/internal/surface/signin/openid"
	"github.com/allswell/allswell/test/nodeclient"
)

// certifiedProvider runs npm's oidc-provider, which the OpenID Foundation has certified. Everybody can sign in with any
// password, and is in the group ops. It writes its address.
const certifiedProvider = `
import { createServer } from "node:http";
import Provider from "oidc-provider";
console.warn = console.info = () => {};
const [base] = process.argv.slice(-1);
const server = createServer().listen(0, "127.0.0.1", () => {
  const issuer = "http://127.0.0.1:" + server.address().port;
  const provider = new Provider(issuer, {
    clients: [{
      client_id: "allswell", client_secret: "hunter2 & co", redirect_uris: [base + "/admin/oidc/callback"],
      post_logout_redirect_uris: [base + "/admin/sign-in"],
    }],
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"], groups: ["groups"] },
    findAccount: (ctx, id) => ({
      accountId: id,
      claims: () => ({ sub: id, email: id + "@example.com", email_verified: true, name: "The " + id, groups: ["ops"] }),
    }),
    pkce: { required: () => true },
    cookies: { keys: ["only for this test"] },
  });
  server.on("request", provider.callback());
  console.log(issuer);
});
`

// formAction and formPrompt find what a form of the provider sends.
var (
	formAction = regexp.MustCompile(`<form[^>]* action="([^"]*)"`)
	formPrompt = regexp.MustCompile(`name="prompt" value="([^"]*)"`)
)

// TestCertifiedProviderInJavaScript signs in at npm's oidc-provider as a person does: with its forms.
func TestCertifiedProviderInJavaScript(t *testing.T) {
	dashboardtest.OnEachEngine(t, func(s *dashboardtest.Site) {
		p := newAcmePerson(s)
		v := s.Visitor()
		v.Wants(p.through(v, "/admin/oidc/start?next=/admin/members"), http.StatusSeeOther, "/admin/members")
		v.Wants(v.Get("/admin/members"), http.StatusOK, "The grace", "grace@example.com", "Owner")

		// The provider remembers the person, but asks again before a dangerous change.
		p.forms = 0
		v.Wants(p.through(v, "/admin/oidc/start"), http.StatusSeeOther, "/admin")
		if p.forms != 0 {
			s.Errorf("%d forms at the second sign-in", p.forms)
		}
		v.Wants(p.through(v, "/admin/oidc/start?confirm=1"), http.StatusOK, "press Continue")
		if p.forms == 0 {
			s.Error("the provider does not ask for a new proof of identity")
		}
		v.Wants(v.Post("/admin/members/invite", "email", "bob@example.com", "role", "viewer"), http.StatusCreated)
		v.Wants(v.Post("/admin/sign-out"), http.StatusSeeOther, "signed_out")
		out := v.Wants(v.Get("/admin/sign-in?signed_out=1"), http.StatusOK, p.issuer+"/session/end?client_id=allswell")
		link := regexp.MustCompile(`href="(` + regexp.QuoteMeta(p.issuer) + `[^"]*)"`).FindStringSubmatch(out.Text)
		response, err := p.client.Get(strings.ReplaceAll(link[1], "&amp;", "&"))
		if err != nil {
			s.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(body), "sign-out") {
			s.Errorf("the provider's sign-out: %s, %v, %s", response.Status, err, body)
		}
	})
}

// acmePerson is a person whom the provider Acme knows, and who answers its forms.
type acmePerson struct {
	*dashboardtest.Site
	issuer string
	client *http.Client // follows the provider's redirects until they lead back
	forms  int          // how many forms were answered
}

// newAcmePerson lets people of the provider Acme sign in.
func newAcmePerson(s *dashboardtest.Site) *acmePerson {
	s.Helper()
	issuer := nodeclient.Start(s.T, "oidc-provider", certifiedProvider, s.Base)
	s.Dashboard.SignIn.SingleSignOn = signin.SingleSignOn{
		ProviderName: "Acme",
		Rules: account.SignInRules{
			Groups: map[string]kernel.Role{"ops": kernel.RoleOwner}, CreateAccounts: true,
		},
	}
	s.Dashboard.SignIn.SingleSignOn.Provider = openid.New(openid.Config{
		Issuer: issuer, ClientID: "allswell", ClientSecret: "hunter2 & co",
		Scopes: []string{"email", "profile", "groups"}, GroupsClaim: "groups",
		RedirectURL: s.Base + signin.OIDCCallbackPath,
	})
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.Fatal(err)
	}
	client := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.String(), s.Base) {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	return &acmePerson{Site: s, issuer: issuer, client: client}
}

// through signs in with the provider, and returns the answer when its redirects lead back.
func (p *acmePerson) through(v *dashboardtest.Visitor, start string) dashboardtest.Answer {
	p.Helper()
	response, err := p.client.Get(v.Wants(v.Get(start), http.StatusSeeOther, p.issuer).Header.Get("Location"))
	for range 5 {
		if err != nil {
			p.Fatal(err)
		}
		body, errBody := io.ReadAll(response.Body)
		response.Body.Close()
		if errBody != nil {
			p.Fatal(errBody)
		}
		if path, ok := strings.CutPrefix(response.Header.Get("Location"), p.Base); ok {
			return v.Get(path)
		}
		action, prompt := formAction.FindSubmatch(body), formPrompt.FindSubmatch(body)
		if action == nil || prompt == nil {
			p.Fatalf("%s shows no form: %s", response.Request.URL, body)
		}
		p.forms++
		response, err = p.client.PostForm(string(action[1]), url.Values{
			"prompt": {string(prompt[1])}, "login": {"grace"}, "password": {"x"},
		})
	}
	p.Fatal("the provider does not lead back")
	return dashboardtest.Answer{}
}
