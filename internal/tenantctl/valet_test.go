package tenantctl

import (
	"context"
	"testing"
)

func TestValetIsNotStartedWithWrongRulesOrInTheOpen(t *testing.T) {
	w := newWorld(t)
	w.file("jwks.json", `{"keys":[{"kty":"EC","crv":"P-256","kid":"one","x":"axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY","y":"T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU"}]}`)
	w.file("rules.json", `{"issuer": "https://issuer", "audience": "orders", "jwks_file": "jwks.json"}`)
	w.file("lax.json", `{"jwks_file": "jwks.json"}`)
	for _, c := range []struct {
		want string
		args []string
	}{
		{"give --rules FILE", nil},
		{"without them anybody's token would count", []string{"--rules", "lax.json"}},
		{"tokens must not travel in the open", []string{"--rules", "rules.json", "--listen", "0.0.0.0:0"}},
		{"give --cert and --key together", []string{"--rules", "rules.json", "--cert", "x.pem"}},
	} {
		wants(t, w.mustRun(exitUsage, append([]string{"valet"}, c.args...)...).stderr, c.want)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	o := w.runWith(stopped, nil, "", "valet", "--rules", "rules.json", "--listen", "127.0.0.1:0", "--config", "accounts.hcl")
	if o.code != exitDone {
		t.Errorf("stopped, it ended with %d: %s", o.code, o.stderr)
	}
	wants(t, o.stderr, "listening on 127.0.0.1:")
}
