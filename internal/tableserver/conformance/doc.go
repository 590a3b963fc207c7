// Package conformance holds tests alone: what the Azure Table service answers, as a table of requests and answers,
// each with the section of the protocol reference and the kind of evidence that it rests on.
//
// The same table runs against this project's server, against Azurite, whose known differences are listed with their
// reasons, and against any account:
//
//	make conformance ENDPOINT='DefaultEndpointsProtocol=https;AccountName=…;AccountKey=…;EndpointSuffix=core.windows.net'
//
// Start with exchange in exchange_test.go; the cases are in the files cases_*_test.go.
package conformance
