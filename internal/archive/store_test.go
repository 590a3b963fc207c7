package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/acctest"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

// blobStore returns a store in the Blob service of Azurite.
func blobStore(t *testing.T, server *acctest.Server, path string) Store {
	t.Helper()
	s, err := OpenStore(server.Endpoint+"/"+acctest.DefaultAccount+"/"+path, accountsOf(server))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func accountsOf(server *acctest.Server) Accounts {
	return func(storage string) (tablestorage.Account, error) {
		key, ok := server.Accounts[storage]
		if !ok {
			return tablestorage.Account{}, fmt.Errorf("storage account %s is not configured", storage)
		}
		return tablestorage.AccountConfig{Name: storage, Key: key}.Account()
	}
}

// A folder and a Blob container keep the same contract.
func TestStoresAreAlike(t *testing.T) {
	server := acctest.StartAzuriteBlob(t)
	stores := map[string]Store{
		"folder":    NewFolder(filepath.Join(t.TempDir(), "a", "b")),
		"container": blobStore(t, server, "archives"),
		"prefix":    blobStore(t, server, "archives/contoso-000002/"),
	}
	for name, s := range stores {
		t.Run(name, func(t *testing.T) {
			if names, err := s.List(t.Context()); err != nil || len(names) != 0 && name != "container" {
				t.Errorf("an absent place lists %q, %v", names, err)
			}
			if _, err := s.Get(t.Context(), "x", 10); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("an absent file: %v", err)
			}
			data := bytes.Repeat([]byte("0123456789"), 1000)
			for range 2 { // the second overwrites
				if err := s.Put(t.Context(), "x", data); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := s.Get(t.Context(), "x", int64(len(data))); err != nil || !bytes.Equal(got, data) {
				t.Errorf("read %d bytes, %v", len(got), err)
			}
			if _, err := s.Get(t.Context(), "x", int64(len(data))-1); !errors.Is(err, errTooLong) {
				t.Errorf("too long: %v", err)
			}
			if names, err := s.List(t.Context()); err != nil || !slices.Contains(names, "x") {
				t.Errorf("lists %q, %v", names, err)
			}
			if err := s.Remove(t.Context(), "x"); err != nil {
				t.Error(err)
			}
			if _, err := s.Get(t.Context(), "x", 10); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a removed file: %v", err)
			}
			a := keep(t, s, placement(bucketed, "contoso"), orders(t, bucketed, "contoso", few+1))
			if r, err := a.Check(t.Context(), silent{}); err != nil || r.Entities != few+1 || r.Files != 2 {
				t.Errorf("archive: %+v, %v", r, err)
			}
		})
	}
}

func TestFilesOfAnArchiveAreForTheirOwner(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "archive")
	keep(t, NewFolder(dir), placement(bucketed, "contoso"), orders(t, bucketed, "contoso", 1))
	for path, want := range map[string]fs.FileMode{dir: 0o700, filepath.Join(dir, manifestName): 0o600, filepath.Join(dir, chunkName("orders", 0)): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

func TestBlobAddressesAreRead(t *testing.T) {
	for address, want := range map[string][3]string{
		"https://contoso.blob.core.windows.net/archives":          {"https://contoso.blob.core.windows.net", "contoso", "archives"},
		"https://contoso.blob.core.windows.net/archives/a/b/":     {"https://contoso.blob.core.windows.net", "contoso", "archives/a/b"},
		"http://127.0.0.1:10000/devstoreaccount1/archives/a":      {"http://127.0.0.1:10000/devstoreaccount1", "devstoreaccount1", "archives/a"},
		"http://azurite:10000/devstoreaccount1/archives":          {"http://azurite:10000/devstoreaccount1", "devstoreaccount1", "archives"},
		"https://contoso.z1.blob.storage.azure.net/archives/2026": {"https://contoso.z1.blob.storage.azure.net", "contoso", "archives/2026"},
	} {
		base, storage, path, err := splitBlobAddress(address)
		if got := [3]string{base, storage, path}; err != nil || got != want {
			t.Errorf("%s: %q, %v", address, got, err)
		}
	}
}

// No message may show a secret, and none may be asked for where every user of the machine can see it.
func TestBlobAddressesThatCannotBeUsedAreRefused(t *testing.T) {
	server := &acctest.Server{Accounts: map[string]string{"contoso": tablestorage.DevelopmentKey}}
	for address, want := range map[string]string{
		"https://contoso.blob.core.windows.net/archives?sv=2020&sig=SECRET": "without a SAS",
		"https://me:SECRET@contoso.blob.core.windows.net/archives":          "without a SAS or a user name",
		"https://contoso.blob.core.windows.net/":                            "write it like https://",
		"https://fabrikam.blob.core.windows.net/archives":                   "storage account fabrikam is not configured",
		"http://contoso.blob.example.com/archives":                          "plain http",
		"https://%zz": "not a URL",
	} {
		_, err := OpenStore(address, accountsOf(server))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := OpenStore("", nil); err == nil {
		t.Error("no place is a place")
	}
}

func TestErrorOfTheBlobServiceShowsNoSignature(t *testing.T) {
	account, err := tablestorage.AccountConfig{Name: "contoso", SAS: "sv=2020&sig=SECRET"}.Account()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("x-ms-error-code", "AuthenticationFailed")
		w.WriteHeader(http.StatusForbidden)
	}))
	defer server.Close()
	for _, address := range []string{"http://127.0.0.1:1/contoso/archives", server.URL + "/contoso/archives"} {
		s, err := OpenStore(address, func(string) (tablestorage.Account, error) { return account, nil })
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := contextOfSeconds(t)
		defer cancel()
		if _, err = s.List(ctx); err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
