package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
)

// Address is the provider's address in the registry.
const Address = "registry.terraform.io/aztenancy/aztenancy"

// New returns the constructor of the provider; version stands in its user agent.
func New(version string) func() provider.Provider {
	return func() provider.Provider { return &aztenancyProvider{version: version} }
}

type aztenancyProvider struct{ version string }

func (p *aztenancyProvider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "aztenancy"
	resp.Version = p.version
}

func (p *aztenancyProvider) Schema(context.Context, provider.SchemaRequest, *provider.SchemaResponse) {
	_ = schema.Schema{}
}

func (p *aztenancyProvider) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {
}

func (p *aztenancyProvider) Resources(context.Context) []func() resource.Resource { return nil }

func (p *aztenancyProvider) DataSources(context.Context) []func() datasource.DataSource { return nil }
