package archive

import (
	"encoding/binary"
	"math/bits"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// content is a set of entities: how many, and the sum of the SHA-256 digests of their canonical forms modulo 2^256. It does
// not depend on their order. Equal sums of sets that differ do not occur by chance; they can be made on purpose, by
// someone who could as well have written to both places.
type content struct {
	count int64
	sum   [4]uint64 // the least significant limb first
}

func (c *content) add(e *edm.Entity) {
	d := e.Digest(e.Key())
	var carry uint64
	for i := range c.sum {
		end := len(d) - 8*i
		c.sum[i], carry = bits.Add64(c.sum[i], binary.BigEndian.Uint64(d[end-8:end]), carry)
	}
	c.count++
}
