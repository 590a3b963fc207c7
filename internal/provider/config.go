package provider

import (
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

// providerModel is the provider block.
type providerModel struct {
	accountModel
	Accounts     map[string]accountModel `tfsdk:"accounts"`
	CatalogTable types.String            `tfsdk:"catalog_table"`
	ReadOnly     types.Bool              `tfsdk:"read_only"`
}

// accountModel is one account in the provider block.
type accountModel struct {
	ConnectionString types.String `tfsdk:"connection_string"`
	AccountName      types.String `tfsdk:"account_name"`
	AccountKey       types.String `tfsdk:"account_key"`
	SASToken         types.String `tfsdk:"sas_token"`
	Entra            *entraModel  `tfsdk:"entra"`
	Endpoint         types.String `tfsdk:"endpoint"`
	AllowHTTP        types.Bool   `tfsdk:"allow_http"`
	MaxConcurrency   types.Int64  `tfsdk:"max_concurrency"`
	RequestTimeout   types.String `tfsdk:"request_timeout"`
	Retry            *retryModel  `tfsdk:"retry"`
}

// retryModel is how often and when a request is sent again.
type retryModel struct {
	MaxAttempts types.Int64  `tfsdk:"max_attempts"`
	MinDelay    types.String `tfsdk:"min_delay"`
	MaxDelay    types.String `tfsdk:"max_delay"`
}

// limits are the account's. Durations were validated; one that is none counts as left out.
func (m accountModel) limits() tablestorage.Limits {
	duration := func(s types.String) time.Duration {
		d, err := time.ParseDuration(s.ValueString())
		if err != nil {
			return 0
		}
		return d
	}
	l := tablestorage.Limits{MaxConcurrency: int(m.MaxConcurrency.ValueInt64()), RequestTimeout: duration(m.RequestTimeout)}
	if r := m.Retry; r != nil {
		l.MaxAttempts, l.MinDelay, l.MaxDelay = int(r.MaxAttempts.ValueInt64()), duration(r.MinDelay), duration(r.MaxDelay)
	}
	return l
}

// entraModel is how to sign in through Microsoft Entra.
type entraModel struct {
	TenantID                  types.String `tfsdk:"tenant_id"`
	ClientID                  types.String `tfsdk:"client_id"`
	ClientSecret              types.String `tfsdk:"client_secret"`
	ClientCertificatePath     types.String `tfsdk:"client_certificate_path"`
	ClientCertificatePassword types.String `tfsdk:"client_certificate_password"`
	OIDCToken                 types.String `tfsdk:"oidc_token"`
	OIDCTokenFilePath         types.String `tfsdk:"oidc_token_file_path"`
	UseMSI                    types.Bool   `tfsdk:"use_msi"`
	UseCLI                    types.Bool   `tfsdk:"use_cli"`
	Authority                 types.String `tfsdk:"authority"`
}

// isEmpty says whether nothing at all is given.
func (m accountModel) isEmpty() bool {
	return m.Entra == nil && m.ConnectionString.IsNull() && m.AccountName.IsNull() && m.AccountKey.IsNull() &&
		m.SASToken.IsNull() && m.Endpoint.IsNull()
}

func (m accountModel) config() tablestorage.AccountConfig {
	c := tablestorage.AccountConfig{
		ConnectionString: m.ConnectionString.ValueString(),
		Name:             m.AccountName.ValueString(),
		Key:              m.AccountKey.ValueString(),
		SAS:              m.SASToken.ValueString(),
		Endpoint:         m.Endpoint.ValueString(),
		AllowHTTP:        m.AllowHTTP.ValueBool(),
		Limits:           m.limits(),
	}
	if e := m.Entra; e != nil {
		c.Entra = &tablestorage.EntraConfig{
			TenantID:                  e.TenantID.ValueString(),
			ClientID:                  e.ClientID.ValueString(),
			ClientSecret:              e.ClientSecret.ValueString(),
			ClientCertificatePath:     e.ClientCertificatePath.ValueString(),
			ClientCertificatePassword: e.ClientCertificatePassword.ValueString(),
			OIDCToken:                 e.OIDCToken.ValueString(),
			OIDCTokenFile:             e.OIDCTokenFilePath.ValueString(),
			UseManagedIdentity:        e.UseMSI.ValueBool(),
			UseCLI:                    e.UseCLI.ValueBool(),
			Authority:                 e.Authority.ValueString(),
		}
	}
	return c
}

// unknownAttributes returns the places of a configuration whose values are not known yet, written as in HCL, such as
// accounts["premium"].account_key.
func unknownAttributes(config tftypes.Value) []string {
	var unknown []string
	// The walk itself cannot fail: the callback does not.
	_ = tftypes.Walk(config, func(p *tftypes.AttributePath, v tftypes.Value) (bool, error) {
		if v.IsKnown() {
			return true, nil
		}
		unknown = append(unknown, hclPath(p))
		return false, nil
	})
	return unknown
}

// hclPath writes a path as a person would in HCL.
func hclPath(p *tftypes.AttributePath) string {
	var b strings.Builder
	for _, step := range p.Steps() {
		switch step := step.(type) {
		case tftypes.AttributeName:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(string(step))
		case tftypes.ElementKeyString:
			fmt.Fprintf(&b, "[%q]", string(step))
		default:
			b.WriteString("[…]")
		}
	}
	return b.String()
}
