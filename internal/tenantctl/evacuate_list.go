package tenantctl

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/fleet"
)

// entriesOfTable lists the tenants of ACCOUNT/TABLE, in order of id, and names the evacuation after it.
func entriesOfTable(ctx context.Context, d fleet.Directory, from string, to targetOptions) (string, []fleet.Entry, error) {
	account, table, ok := strings.Cut(from, "/")
	if !ok || account == "" || table == "" || strings.Contains(table, "/") {
		return "", nil, &configError{fmt.Errorf("--from %q: write ACCOUNT/TABLE, such as home/Orders", from)}
	}
	storage, tenants, err := d.TenantsOf(ctx, account, table)
	if err != nil {
		return "", nil, err
	}
	var entries []fleet.Entry
	for _, t := range tenants {
		entries = append(entries, fleet.Entry{TenantID: t.ID, To: to.Model, Account: to.Account})
	}
	return nameOf(storage + "." + table), entries, nil
}

// entriesOfFile reads a plan file and names the evacuation after it. to is for tenants for which it names no model.
func entriesOfFile(file string, to targetOptions) (string, []fleet.Entry, error) {
	src, err := os.ReadFile(file)
	if err != nil {
		return "", nil, &configError{fmt.Errorf("read the plan: %w", err)}
	}
	parse := parseCSVPlan
	if strings.EqualFold(filepath.Ext(file), ".hcl") {
		parse = parseHCLPlan
	}
	entries, err := parse(file, src)
	if err == nil && len(entries) == 0 {
		err = fmt.Errorf("%s: it names no tenant", file)
	}
	for i := range entries {
		if entries[i].To == "" {
			entries[i].To, entries[i].Account = to.Model, cmp.Or(entries[i].Account, to.Account)
		}
		if err == nil && entries[i].To == "" {
			err = fmt.Errorf("%s: tenant %q has no model to go to; name it in the file, or with --to", file, entries[i].TenantID)
		}
	}
	if err != nil {
		return "", nil, &configError{err}
	}
	base := filepath.Base(file)
	return nameOf(strings.TrimSuffix(base, filepath.Ext(base))), entries, nil
}

var notInNames = regexp.MustCompile(`[^a-z0-9._-]+`)

// nameOf makes a name of an evacuation from a text.
func nameOf(text string) string {
	return strings.Trim(notInNames.ReplaceAllString(strings.ToLower(text), "-"), "._-")
}

// parseCSVPlan reads CSV with a header: tenant, to and account, in any order; to and account may be left out.
func parseCSVPlan(file string, src []byte) ([]fleet.Entry, error) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(src, []byte("\ufeff"))))
	r.TrimLeadingSpace = true
	header, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: it is empty", file)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	known := []string{"tenant", "to", "account"}
	for i, name := range header {
		header[i] = strings.TrimSpace(name)
		if !slices.Contains(known, header[i]) || slices.Index(header, header[i]) < i {
			return nil, fmt.Errorf("%s:1: column %q: write a header of tenant, to and account, each once", file, name)
		}
	}
	if !slices.Contains(header, "tenant") {
		return nil, fmt.Errorf("%s:1: there is no column tenant", file)
	}
	var entries []fleet.Entry
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			return entries, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		values := map[string]string{}
		for i, cell := range cells {
			values[header[i]] = strings.TrimSpace(cell)
		}
		e := fleet.Entry{TenantID: values["tenant"], To: values["to"], Account: values["account"]}
		if e.TenantID == "" {
			line, _ := r.FieldPos(0)
			return nil, fmt.Errorf("%s:%d: the cell tenant is empty", file, line)
		}
		entries = append(entries, e)
	}
}

// parseHCLPlan reads blocks tenant "ID" with the attributes to and account.
func parseHCLPlan(file string, src []byte) ([]fleet.Entry, error) {
	parsed, diags := hclsyntax.ParseConfig(src, file, hcl.InitialPos)
	if diags.HasErrors() {
		return nil, configDiagnostic(diags)
	}
	content, diags := parsed.Body.Content(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "tenant", LabelNames: []string{"ID"}}}})
	if diags.HasErrors() {
		return nil, configDiagnostic(diags)
	}
	var entries []fleet.Entry
	for _, block := range content.Blocks {
		body, diags := block.Body.Content(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "to"}, {Name: "account"}}})
		if diags.HasErrors() {
			return nil, configDiagnostic(diags)
		}
		e := fleet.Entry{TenantID: block.Labels[0]}
		d := decoder{file: fmt.Sprintf("%s:%d", file, block.DefRange.Start.Line)}
		for name, into := range map[string]*string{"to": &e.To, "account": &e.Account} {
			a, ok := body.Attributes[name]
			if !ok {
				continue
			}
			v, diags := a.Expr.Value(nil)
			if diags.HasErrors() {
				return nil, configDiagnostic(diags)
			}
			d.text(name, v, into)
		}
		if d.err != nil {
			return nil, d.err
		}
		entries = append(entries, e)
	}
	return entries, nil
}
