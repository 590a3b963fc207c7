package tenantctl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/access"
)

const sasHelp = `Give a tenant's application access to exactly the tenant's keys, for a short time: a shared access signature for each logical
table, with the range that the tenant has claimed. It is signed with the account key, or with a user delegation key where the
account is configured with Entra.

The tokens are secrets. They go to standard output, or with --out to a file for its owner alone (mode 0600), which always holds
JSON; standard output then says what they are for, without them. A token cannot be taken back by itself: it ends at its expiry,
or when the key that signed it is rotated.

A token is for where the tenant is now. After a move it opens the old place; ask again when the catalog's epoch is greater.
Tokens to write are refused while a move holds the tenant's writes. Let a move wait for as long as your tokens live
(migrate --drain TTL), so that none to write is alive when it reads the source for the last time.

Tokens for a shared table are refused where the server does not hold them to their range, as Azurite does not: there they would
reach every tenant of the table. A probe finds out, once; it changes nothing.

EXIT STATUS
  0    done
  1    error, or there are no tokens for the tenant, with the reason
  2    the command line or the configuration is wrong
  5    writes are held by a move, or the service is unreachable or busy; try again later
  130  interrupted`

type sasOptions struct {
	Permissions     []string
	Tables          []string
	TTL             time.Duration
	IP              string
	Out             string
	AllowUnenforced bool
}

func (o *sasOptions) addFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&o.Permissions, "permissions", []string{string(access.Read)}, "what they allow: `LIST` of read, add, update, delete; an upsert needs add,update")
	f.StringSliceVar(&o.Tables, "tables", nil, "`LIST` of logical tables; all of the tenant's, if it is left out")
	f.DurationVar(&o.TTL, "ttl", access.DefaultTTL, fmt.Sprintf("how long the tokens live: `TIME` of at most %v", access.MaxTTL))
	f.StringVar(&o.IP, "ip", "", "the only IPv4 `ADDRESS` that may use them, or FIRST-LAST")
	f.StringVar(&o.Out, "out", "", "write them to `FILE` as JSON, for its owner alone; a file that is there is replaced")
	f.BoolVar(&o.AllowUnenforced, "allow-unenforced-ranges", false, "also where the server does not hold tokens to their range: for tests against Azurite")
}

func newSASCommand(env *environment) *cobra.Command {
	var o sasOptions
	cmd := &cobra.Command{
		Use:     "sas TENANT",
		Short:   "Issue tokens that reach one tenant's entities and no other's",
		Long:    sasHelp,
		Example: "  tenantctl sas contoso --permissions read,add,update --ttl 15m --out contoso-token.json",
		Args:    oneTenant,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runSAS(cmd.Context(), env, o, args[0])
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}

func runSAS(ctx context.Context, env *environment, o sasOptions, tenant string) error {
	permissions, err := access.ParsePermissions(o.Permissions)
	if err != nil {
		return &usageError{err, "tenantctl sas"}
	}
	if o.Out != "" {
		if err := checkPrivateFile(o.Out); err != nil {
			return &usageError{err, "tenantctl sas"}
		}
	}
	services, err := env.open()
	if err != nil {
		return err
	}
	grant, err := services.issuer().Issue(ctx, access.Request{TenantID: tenant, Tables: o.Tables, Permissions: permissions, TTL: o.TTL,
		IPRange: o.IP, AllowUnenforcedRanges: o.AllowUnenforced})
	if err != nil {
		return err
	}
	document := grant.Reveal()
	if o.Out == "" {
		return write(env, document, func(w io.Writer) error { return writeGrant(w, grant) })
	}
	if err := writePrivateFile(o.Out, document); err != nil {
		return err
	}
	written := sasResult{Tenant: grant.TenantID, Epoch: grant.Epoch, Permissions: document.Permissions, Expiry: grant.Expiry, File: o.Out}
	return write(env, written, func(w io.Writer) error { return writeGrantFile(w, grant, o.Out) })
}

// sasResult is the JSON result where the tokens went to a file.
type sasResult struct {
	Tenant      string    `json:"tenant"`
	Epoch       int64     `json:"epoch"`
	Permissions []string  `json:"permissions"`
	Expiry      time.Time `json:"expiry"`
	File        string    `json:"file"`
}

// issuer signs tokens.
func (s services) issuer() *access.Issuer {
	return &access.Issuer{Catalog: s.catalog, Accounts: s.accounts}
}

// describeGrant says what tokens are for, and hands each one's description to more.
func describeGrant(g *access.Grant, more func(*description, access.Token)) *description {
	d := newDescription("Tenant %s: %s, until %s, epoch %d.", g.TenantID, g.Permissions, stamp(g.Expiry), g.Epoch)
	for _, t := range g.Tokens {
		d.add(t.Logical, "%v, keys %s", t.Placement, t.Placement.Range)
		d.add("url", "%s", t.Placement.URL)
		more(d, t)
	}
	return d
}

// writeGrant writes tokens for people, in the open.
func writeGrant(w io.Writer, g *access.Grant) error {
	return describeGrant(g, func(d *description, t access.Token) {
		d.add("sas token", "%s", t.SAS.Reveal())
		d.add("connection string", "%s", t.ConnectionString())
	}).write(w)
}

// writeGrantFile says which file holds the tokens.
func writeGrantFile(w io.Writer, g *access.Grant, file string) error {
	d := describeGrant(g, func(*description, access.Token) {})
	d.add("file", "%s", file)
	return d.write(w)
}

// checkPrivateFile refuses a place that writePrivateFile could not write to.
func checkPrivateFile(name string) error {
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		dir, err := os.Stat(filepath.Dir(name))
		if err == nil && !dir.IsDir() {
			err = fmt.Errorf("%s is no folder", filepath.Dir(name))
		}
		return err
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("--out %s: it is there, and no file", name)
	}
	return nil
}

// writePrivateFile writes v as JSON to a file that only its owner may read. It is whole from the moment that it is there, and
// a reader of the one before keeps that.
func writePrivateFile(name string, v any) (err error) {
	f, err := os.CreateTemp(filepath.Dir(name), ".tenantctl-*") // made with mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s: %w", name, err)
			_ = os.Remove(f.Name())
		}
	}()
	encoder := json.NewEncoder(f)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := errors.Join(encoder.Encode(v), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
