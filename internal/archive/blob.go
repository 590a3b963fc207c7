package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

// Accounts gives the configured account with a storage account's own name.
type Accounts func(storage string) (tablestorage.Account, error)

// blobs is a Store under a prefix of a Blob container. Put Blob is atomic, so a file is there whole or not at all. The
// container is created when the first file is written.
type blobs struct {
	container *container.Client
	prefix    string // "" or with a slash at its end
	address   string
}

// newContainer returns the store at https://ACCOUNT.blob.…/CONTAINER[/PREFIX], or of Azurite's form
// http://HOST:PORT/ACCOUNT/CONTAINER[/PREFIX].
func newContainer(address string, accounts Accounts) (Store, error) {
	base, storage, path, err := splitBlobAddress(address)
	if err != nil {
		return nil, err
	}
	name, prefix, _ := strings.Cut(path, "/")
	if prefix = strings.Trim(prefix, "/"); prefix != "" {
		prefix += "/"
	}
	account, err := accounts(storage)
	if err != nil {
		return nil, fmt.Errorf("archive %s: %w", address, err)
	}
	if strings.HasPrefix(base, "http:") && !account.AllowHTTP && !isLoopback(base) {
		return nil, fmt.Errorf("archive %s: it is plain http on another machine, where everyone on the way can read the data: use https, or allow http for the account", address)
	}
	c, err := containerClient(base+"/"+url.PathEscape(name), account)
	if err != nil {
		return nil, fmt.Errorf("archive %s: %w", address, err)
	}
	return &blobs{container: c, prefix: prefix, address: strings.TrimRight(address, "/")}, nil
}

// splitBlobAddress cuts an address into the blob endpoint, the storage account's name, and the path below.
func splitBlobAddress(address string) (base, storage, path string, err error) {
	u, perr := url.Parse(address)
	switch {
	case perr != nil:
		return "", "", "", errors.New("the archive's address is not a URL")
	case u.RawQuery != "" || u.User != nil || u.Fragment != "":
		return "", "", "", fmt.Errorf("archive %s://%s%s: give the address without a SAS or a user name, which everybody could see in the list of processes; the credential is that of the configured account",
			u.Scheme, u.Host, u.Path)
	}
	path = strings.Trim(u.Path, "/")
	base = u.Scheme + "://" + u.Host
	if _, notIP := netip.ParseAddr(u.Hostname()); notIP == nil || !strings.Contains(u.Hostname(), ".") {
		storage, path, _ = strings.Cut(path, "/")
		base += "/" + storage
	} else {
		storage, _, _ = strings.Cut(u.Hostname(), ".")
	}
	if storage == "" || path == "" {
		return "", "", "", fmt.Errorf("archive %s: write it like https://ACCOUNT.blob.core.windows.net/CONTAINER/PREFIX", address)
	}
	return base, storage, path, nil
}

func isLoopback(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	addr, err := netip.ParseAddr(u.Hostname())
	return err == nil && addr.IsLoopback() || u.Hostname() == "localhost" || strings.HasSuffix(u.Hostname(), ".localhost")
}

// containerClient uses the credential of the account.
func containerClient(address string, a tablestorage.Account) (*container.Client, error) {
	switch c := a.Credential.(type) {
	case tablestorage.SharedKey:
		key, err := container.NewSharedKeyCredential(a.Name, c.Key.Reveal())
		if err != nil {
			return nil, fmt.Errorf("the account key of account %q is not base64", a.Name)
		}
		return container.NewClientWithSharedKeyCredential(address, key, nil)
	case tablestorage.SAS:
		return container.NewClientWithNoCredential(address+"?"+c.Token.Reveal(), nil)
	case tablestorage.Entra:
		return container.NewClient(address, c.Token, nil)
	}
	return nil, fmt.Errorf("account %q: unknown kind of credential", a.Name)
}

func (b *blobs) String() string { return b.address }

// Put uploads a blob in one request.
func (b *blobs) Put(ctx context.Context, name string, data []byte) error {
	upload := func() error {
		_, err := b.container.NewBlockBlobClient(b.prefix+name).Upload(ctx, streaming.NopCloser(bytes.NewReader(data)), nil)
		return err
	}
	err := upload()
	if bloberror.HasCode(err, bloberror.ContainerNotFound) {
		if _, err := b.container.Create(ctx, nil); err != nil && !bloberror.HasCode(err, bloberror.ContainerAlreadyExists) {
			return discreet(err)
		}
		err = upload()
	}
	return discreet(err)
}

// Get downloads a blob.
func (b *blobs) Get(ctx context.Context, name string, max int64) ([]byte, error) {
	resp, err := b.container.NewBlobClient(b.prefix+name).DownloadStream(ctx, nil)
	if bloberror.HasCode(err, bloberror.BlobNotFound, bloberror.ContainerNotFound) {
		return nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, discreet(err)
	}
	body := resp.NewRetryReader(ctx, nil)
	data, err := readAtMost(body, max)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return data, fmt.Errorf("the download broke off: %w", err)
	}
	return data, errors.Join(discreet(err), body.Close())
}

// List returns the names of the blobs right below the prefix.
func (b *blobs) List(ctx context.Context) ([]string, error) {
	var names []string
	pages := b.container.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{Prefix: &b.prefix})
	for pages.More() {
		page, err := pages.NextPage(ctx)
		if bloberror.HasCode(err, bloberror.ContainerNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, discreet(err)
		}
		for _, item := range page.Segment.BlobItems {
			if item.Name != nil {
				names = append(names, strings.TrimPrefix(*item.Name, b.prefix))
			}
		}
	}
	return names, nil
}

// Remove deletes a blob.
func (b *blobs) Remove(ctx context.Context, name string) error {
	_, err := b.container.NewBlobClient(b.prefix+name).Delete(ctx, nil)
	return discreet(err)
}

// discreet takes the address, which may hold a SAS, out of an error.
func discreet(err error) error {
	var refused *azcore.ResponseError
	if errors.As(err, &refused) {
		return fmt.Errorf("the Blob service refused it: %s (%d)", refused.ErrorCode, refused.StatusCode)
	}
	var withURL *url.Error
	for errors.As(err, &withURL) {
		err = withURL.Err
	}
	return err
}
