package catalog

import "time"

// SetClock makes the catalog go by another clock.
func (c *Catalog) SetClock(now func() time.Time) { c.now = now }
