package tableserver

import (
	"crypto/tls"
	"errors"
	"path/filepath"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/certs"
)

// HTTPS says which certificate the server shows.
type HTTPS struct {
	// CertFile and KeyFile are a PEM certificate chain and its key. Both empty: a certificate is made and kept in Dir.
	CertFile, KeyFile string
	// Dir keeps what is made; "" is the folder tls in Options.Dir, and needs that.
	Dir string
	// Hosts are names and addresses for a certificate that is made, besides those of this machine for itself.
	Hosts []string
}

// checkHTTPS says what is wrong with the options.
func (o Options) checkHTTPS() error {
	h := o.HTTPS
	switch {
	case h == nil:
		return nil
	case (h.CertFile == "") != (h.KeyFile == ""):
		return errors.New("a certificate needs its key, and a key its certificate: give both files or none")
	case h.CertFile == "" && h.Dir == "" && o.Dir == "":
		return errors.New("nowhere to keep a generated certificate: give a folder for it, or a certificate and its key")
	}
	return nil
}

// openHTTPS finds the certificate. The data folder is locked by now.
func (s *Server) openHTTPS(o Options) error {
	h := o.HTTPS
	if h == nil {
		return nil
	}
	var c tls.Certificate
	var err error
	if h.CertFile != "" {
		c, err = certs.Load(h.CertFile, h.KeyFile, time.Now())
	} else {
		dir := h.Dir
		if dir == "" {
			dir = filepath.Join(o.Dir, "tls")
		}
		c, s.caFile, err = certs.Generate(dir, h.Hosts, time.Now())
	}
	s.tls = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{c}, NextProtos: []string{"http/1.1"}}
	return err
}

// CAFile returns the path of the certificate that clients need to trust; "" if none was made.
func (s *Server) CAFile() string { return s.caFile }
