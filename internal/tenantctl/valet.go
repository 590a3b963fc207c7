package tenantctl

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/valet"
)

const valetHelp = `Serve tokens over HTTP: a caller shows a JWT, and is answered with the tokens of the tenant that one of its claims names, as
tenantctl sas issues them. POST /v1/tenants/TENANT/tokens takes {"scope": "read" or "write", "tables": [...]}; GET /healthz answers
while the service runs. Only RS256 and ES256 count, with an issuer, an audience and an expiry. A tenant that the caller may not
have and one that is not there answer alike. Tokens to write are refused while a move holds the tenant's writes.

--rules FILE says whom it believes, in JSON:

  {"issuer": "https://login.example.com", "audience": "orders", "jwks_file": "jwks.json",
   "tenant_claim": "tenant", "scope_claim": "scope", "tenants": {"Contoso Ltd": "contoso"},
   "ttl": "15m", "tenant_ttl": {"contoso": "5m"}}

Without tenants the claim's value is the tenant's id. Rules and keys are read once, at the start.

Standard output is the audit log, one JSON object a line: who, tenant, scope, expiry; never a token. The service keeps nothing, so
several may run side by side. Without --cert it listens on this machine alone.

EXIT STATUS
  0    stopped by a signal
  1    error
  2    the command line, the configuration or the rules are wrong`

type valetOptions struct{ Listen, Rules, Cert, Key string }

func (o *valetOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.Listen, "listen", "127.0.0.1:8080", "`ADDRESS` to listen on")
	f.StringVar(&o.Rules, "rules", "", "whom to believe: JSON `FILE`")
	f.StringVar(&o.Cert, "cert", "", "serve https with the certificates of `FILE` (PEM)")
	f.StringVar(&o.Key, "key", "", "their private key: `FILE` (PEM)")
}

func newValetCommand(env *environment) *cobra.Command {
	var o valetOptions
	cmd := &cobra.Command{
		Use:     "valet --rules FILE",
		Short:   "Serve tenants' tokens to authenticated callers over HTTP",
		Long:    valetHelp,
		Example: "  tenantctl valet --rules valet.json --listen 0.0.0.0:8443 --cert valet.pem --key valet.key",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runValet(cmd.Context(), env, o)
		},
	}
	o.addFlags(cmd.Flags())
	requireFlags(cmd, "rules")
	return cmd
}

func runValet(ctx context.Context, env *environment, o valetOptions) error {
	rules, err := valet.ReadConfig(o.Rules)
	if err != nil {
		return &configError{err}
	}
	services, err := env.open()
	if err != nil {
		return err
	}
	server, err := valet.New(rules, services.issuer(), slog.New(slog.NewJSONHandler(env.process.Stdout, nil)))
	if err != nil {
		return &configError{err}
	}
	listener, err := o.listen()
	if err != nil {
		return err
	}
	env.say(fmt.Sprintf("listening on %s", listener.Addr()))
	return server.Serve(ctx, listener)
}

// listen opens the address, for https if there are certificates. JWTs and tokens never travel in the open.
func (o valetOptions) listen() (net.Listener, error) {
	if (o.Cert == "") != (o.Key == "") {
		return nil, &usageError{errors.New("give --cert and --key together"), "tenantctl valet"}
	}
	l, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return nil, err
	}
	if o.Cert == "" {
		if tcp, ok := l.Addr().(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
			err := &usageError{fmt.Errorf("%s is not this machine alone: give --cert and --key, as tokens must not travel in the open", o.Listen), "tenantctl valet"}
			return nil, errors.Join(err, l.Close())
		}
		return l, nil
	}
	pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
	if err != nil {
		return nil, errors.Join(&configError{err}, l.Close())
	}
	return tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}), nil
}
