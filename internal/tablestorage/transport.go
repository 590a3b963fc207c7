package tablestorage

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// dialTimeout is how long one try waits for a connection.
const dialTimeout = 10 * time.Second

// newHTTPClient pools enough connections for a parallel copy, gives up on silent hosts after seconds, and follows no
// redirects: the table service has none, so one comes from something else.
func newHTTPClient() *http.Client {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}
	return &http.Client{
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         dialer.DialContext,
			ForceAttemptHTTP2:   true,
			MaxIdleConnsPerHost: 64,
			IdleConnTimeout:     60 * time.Second,
			TLSHandshakeTimeout: dialTimeout,
			TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// defaultRetry fills the fields of retry that are zero. The service ends a request after 30 s, so a try may take a
// little longer than that; six tries are spread over about half a minute.
func defaultRetry(o policy.RetryOptions) policy.RetryOptions {
	if o.MaxRetries == 0 {
		o.MaxRetries = 5
	}
	if o.TryTimeout == 0 {
		o.TryTimeout = 60 * time.Second
	}
	if o.RetryDelay == 0 {
		o.RetryDelay = 500 * time.Millisecond
	}
	if o.MaxRetryDelay == 0 {
		o.MaxRetryDelay = 20 * time.Second
	}
	return o
}

// wasSent says whether a request that failed in transport may have reached the service.
func wasSent(err error) bool {
	var op *net.OpError
	if errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect") {
		return false
	}
	var dns *net.DNSError
	return !errors.As(err, &dns) && !isPermanent(err)
}

// isPermanent says whether trying again cannot help: the host's certificate is refused, or a client speaks https to
// a plain http port.
func isPermanent(err error) bool {
	var verification *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var hostname x509.HostnameError
	var record tls.RecordHeaderError
	return errors.As(err, &verification) || errors.As(err, &authority) || errors.As(err, &hostname) ||
		errors.As(err, &record)
}
