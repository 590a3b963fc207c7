package catalog

import (
	"context"
	"errors"
	"fmt"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

// A control is a word of the operator to the mover of a migration, which looks for it while it runs. It has a row of its own,
// because the migration's row is the mover's alone.
const controlPrefix = "control|"

func controlName(migrationID, name string) string {
	return fmt.Sprintf("control %q of migration %s", name, migrationID)
}

func controlKey(migrationID, name string) edm.Key {
	return edm.Key{PartitionKey: workPrefix + migrationID, RowKey: controlPrefix + name}
}

// PutControl sets a control of a migration. The text is package migration's own, at most 32 Ki UTF-16 code units.
func (c *Catalog) PutControl(ctx context.Context, migrationID, name, text string) error {
	k := controlKey(migrationID, name)
	w := newRow(k.PartitionKey, k.RowKey)
	w.text("Text", text)
	e, err := w.finish(controlName(migrationID, name))
	if err != nil {
		return err
	}
	c.stamp(e)
	if _, err := c.table.UpsertReplace(ctx, e); err != nil { // the same again does no harm
		return fmt.Errorf("write %s: %w", controlName(migrationID, name), c.noCatalog(err))
	}
	return nil
}

// Control reads a control; ok is whether there is one.
func (c *Catalog) Control(ctx context.Context, migrationID, name string) (text string, ok bool, err error) {
	r, err := c.get(ctx, controlKey(migrationID, name), controlName(migrationID, name))
	if errors.Is(err, ErrNotFound) && !errors.Is(err, ErrNoCatalog) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	text = r.text("Text")
	return text, true, r.failure()
}

// DeleteControl removes a control. One that is not there is no error.
func (c *Catalog) DeleteControl(ctx context.Context, migrationID, name string) error {
	err := c.table.Delete(ctx, controlKey(migrationID, name), tablestorage.AnyETag)
	if err != nil && !errors.Is(err, tablestorage.ErrNotFound) {
		return fmt.Errorf("delete %s: %w", controlName(migrationID, name), c.noCatalog(err))
	}
	return nil
}
