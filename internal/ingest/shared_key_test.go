package ingest

import (
	"strings"
	"testing"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

func TestAKeyOfTwoTenantsNamesNeither(t *testing.T) {
	d := newDirectory("orders", []catalog.TenantRecord{
		{Tenant: tenancy.Tenant{ID: "x1", Key: "Shared Key"}}, {Tenant: tenancy.Tenant{ID: "x2", Key: "Shared Key"}},
	})
	found, _, err := d.find("Shared Key")
	if err == nil || found != nil || !strings.Contains(err.Error(), `"x1"`) || !strings.Contains(err.Error(), `"x2"`) {
		t.Errorf("found %v, %v; want an error that names both", found, err)
	}
	if found, _, err := d.find("x1"); err != nil || found == nil || found.ID != "x1" {
		t.Errorf("by id: %v, %v", found, err)
	}
}
