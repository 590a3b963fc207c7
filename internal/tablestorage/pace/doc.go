// Package pace decides how fast entities may be read and written: a token bucket for each account and for each
// partition, reads and writes apart, whose rate follows the service's answers, under a rate that an operator gives.
//
// It knows nothing of the table protocol and imports nothing of this module. Start with Pacer, then flow (the law of
// rates) and bucket.
package pace
