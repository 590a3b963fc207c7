package tenancy

import (
	"fmt"
	"strings"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// Placeholder stands for the tenant in the table names of dedicated models.
const Placeholder = "{tenant}"

// tableEscapes writes the characters of a tenant id that a table name cannot hold. The letter z announces an escape and
// is doubled where it stands for itself, so two ids never give one name: "amazon.de" becomes "amazzonz1de".
var tableEscapes = strings.NewReplacer("z", "zz", "-", "z0", ".", "z1", "_", "z2")

// TableName renders a template such as "Orders{tenant}" for a tenant. With one template, different ids give names
// that differ also to the service, which ignores letter case.
func TableName(template, tenantID string) (string, error) {
	if err := checkTemplate(template); err != nil {
		return "", err
	}
	if err := ValidateID(tenantID); err != nil {
		return "", err
	}
	name := strings.Replace(template, Placeholder, tableEscapes.Replace(tenantID), 1)
	if err := edm.ValidateTableName(name); err != nil {
		return "", fmt.Errorf("table name %q (%d characters) from template %q and tenant id %q: %w; a name has 3 to 63 letters and digits "+
			"and begins with a letter, and of an id \"z\", \"-\", \".\" and \"_\" take two characters: shorten the template or the id",
			name, len(name), template, tenantID, err)
	}
	return name, nil
}

// checkTemplate checks that a template holds the placeholder once and otherwise only what a table name may hold.
func checkTemplate(template string) error {
	if strings.Count(template, Placeholder) != 1 {
		return fmt.Errorf("table name template %q must hold %s exactly once, so that each tenant gets a table of its own: write for instance %q",
			template, Placeholder, "Orders"+Placeholder)
	}
	rest := strings.Replace(template, Placeholder, "", 1)
	for _, r := range rest {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') {
			return fmt.Errorf("table name template %q holds %q: beside %s only letters A-Z, a-z and digits may stand in it", template, r, Placeholder)
		}
	}
	if rest != "" && rest[0] >= '0' && rest[0] <= '9' && template[0] != '{' {
		return fmt.Errorf("table name template %q begins with a digit: the service wants a letter", template)
	}
	return nil
}
