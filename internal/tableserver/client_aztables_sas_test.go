package tableserver_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/acctest"
)

func TestAztablesSetsAccessPoliciesThatTokensObey(t *testing.T) {
	s, service := newAztables(t)
	table, ctx := newTable(t, service, "Orders"), t.Context()
	add(t, table, entity("p", "r", nil))
	start, expiry := time.Now().Add(-time.Hour).UTC().Truncate(time.Second), time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	set := func(permission string) {
		t.Helper()
		acl := []*aztables.SignedIdentifier{{ID: to.Ptr("readers"),
			AccessPolicy: &aztables.AccessPolicy{Start: &start, Expiry: &expiry, Permission: &permission}}}
		if _, err := table.SetAccessPolicy(ctx, &aztables.SetAccessPolicyOptions{TableACL: acl}); err != nil {
			t.Fatal(err)
		}
	}
	set("r")
	r, err := table.GetAccessPolicy(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.SignedIdentifiers) != 1 || *r.SignedIdentifiers[0].ID != "readers" ||
		!r.SignedIdentifiers[0].AccessPolicy.Expiry.Equal(expiry) || *r.SignedIdentifiers[0].AccessPolicy.Permission != "r" {
		t.Errorf("got %+v", r.SignedIdentifiers)
	}
	cred, err := aztables.NewSharedKeyCredential(acctest.DefaultAccount, s.Accounts[acctest.DefaultAccount])
	if err != nil {
		t.Fatal(err)
	}
	query, err := aztables.SASSignatureValues{TableName: "Orders", Identifier: "readers"}.Sign(cred)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := aztables.NewClientWithNoCredential(s.TableEndpoint(acctest.DefaultAccount)+"/Orders?"+query, noRetries())
	if err != nil {
		t.Fatal(err)
	}
	get(t, reader, "p", "r")
	_, err = reader.AddEntity(ctx, body(t, entity("p", "r2", nil)), nil)
	wantError(t, err, http.StatusForbidden, "AuthorizationPermissionMismatch")
	set("a") // revoked for reading
	_, err = reader.GetEntity(ctx, "p", "r", nil)
	wantError(t, err, http.StatusForbidden, "AuthorizationPermissionMismatch")
	add(t, reader, entity("p", "r2", nil))
	if _, err := table.SetAccessPolicy(ctx, nil); err != nil {
		t.Fatal(err)
	}
	_, err = reader.GetEntity(ctx, "p", "r", nil)
	wantError(t, err, http.StatusForbidden, "AuthenticationFailed")
}

func TestAztablesWithAKeyRangeReachesNoOtherTenant(t *testing.T) {
	s, service := newAztables(t)
	table, ctx := newTable(t, service, "Shared"), t.Context()
	for _, pk := range []string{"a", "contoso|00", "contoso|15", "contoso|16", "z"} {
		add(t, table, entity(pk, "r", nil))
	}
	cred, err := aztables.NewSharedKeyCredential(acctest.DefaultAccount, s.Accounts[acctest.DefaultAccount])
	if err != nil {
		t.Fatal(err)
	}
	query, err := aztables.SASSignatureValues{TableName: "Shared", Permissions: "raud", ExpiryTime: time.Now().Add(time.Hour).UTC(),
		StartPartitionKey: "contoso|00", EndPartitionKey: "contoso|15"}.Sign(cred)
	if err != nil {
		t.Fatal(err)
	}
	// aztables signs the range but leaves it out of the URL.
	query += "&" + url.Values{"spk": {"contoso|00"}, "epk": {"contoso|15"}}.Encode()
	contoso, err := aztables.NewClientWithNoCredential(s.TableEndpoint(acctest.DefaultAccount)+"/Shared?"+query, noRetries())
	if err != nil {
		t.Fatal(err)
	}
	if keys, _ := keysOf(t, contoso, nil); !slices.Equal(keys, []string{"contoso|00/r", "contoso|15/r"}) {
		t.Errorf("the tenant reads %v", keys)
	}
	everything := "PartitionKey eq 'a' or PartitionKey gt 'contoso|15' or not (PartitionKey eq 'x')"
	if keys, _ := keysOf(t, contoso, &aztables.ListEntitiesOptions{Filter: &everything, Top: to.Ptr[int32](1)}); len(keys) != 2 {
		t.Errorf("with a filter the tenant reads %v", keys)
	}
	add(t, contoso, entity("contoso|07", "r", nil))
	for _, pk := range []string{"a", "contoso|16", "contoso", "z"} {
		_, err := contoso.GetEntity(ctx, pk, "r", nil)
		wantError(t, err, http.StatusForbidden, "AuthorizationFailure")
		_, err = contoso.AddEntity(ctx, body(t, entity(pk, "new", nil)), nil)
		wantError(t, err, http.StatusForbidden, "AuthorizationFailure")
		_, err = contoso.UpsertEntity(ctx, body(t, entity(pk, "r", nil)), nil)
		wantError(t, err, http.StatusForbidden, "AuthorizationFailure")
		_, err = contoso.DeleteEntity(ctx, pk, "r", nil)
		wantError(t, err, http.StatusForbidden, "AuthorizationFailure")
		_, err = contoso.SubmitTransaction(ctx, []aztables.TransactionAction{
			{ActionType: aztables.TransactionTypeInsertReplace, Entity: body(t, entity(pk, "r", nil))}}, nil)
		wantError(t, err, http.StatusForbidden, "AuthorizationFailure")
	}
	_, err = contoso.GetAccessPolicy(ctx, nil)
	wantError(t, err, http.StatusForbidden, "AuthorizationFailure")
	if keys, _ := keysOf(t, table, nil); len(keys) != 6 {
		t.Errorf("the table holds %v", keys)
	}
}

func TestAztablesWithAnAccountTokenManagesTables(t *testing.T) {
	s, service := newAztables(t)
	ctx := t.Context()
	newTable(t, service, "Existing")
	cred, err := aztables.NewSharedKeyCredential(acctest.DefaultAccount, s.Accounts[acctest.DefaultAccount])
	if err != nil {
		t.Fatal(err)
	}
	// ServiceClient.GetAccountSASURL would insist on HTTPS.
	values := aztables.AccountSASSignatureValues{Services: "t", Protocol: aztables.SASProtocolHTTPSandHTTP, ExpiryTime: time.Now().Add(time.Hour).UTC(),
		Permissions:   (&aztables.AccountSASPermissions{Read: true, List: true, Create: true}).String(),
		ResourceTypes: (&aztables.AccountSASResourceTypes{Service: true, Container: true, Object: true}).String()}
	query, err := values.Sign(cred)
	if err != nil {
		t.Fatal(err)
	}
	limited, err := aztables.NewServiceClientWithNoCredential(s.TableEndpoint(acctest.DefaultAccount)+"/?"+query.Encode(), noRetries())
	if err != nil {
		t.Fatal(err)
	}
	newTable(t, limited, "Made")
	if page, err := limited.NewListTablesPager(nil).NextPage(ctx); err != nil || len(page.Tables) != 2 {
		t.Errorf("%d tables, %v", len(page.Tables), err)
	}
	_, err = limited.DeleteTable(ctx, "Existing", nil)
	wantError(t, err, http.StatusForbidden, "AuthorizationPermissionMismatch")
	_, err = limited.NewClient("Existing").AddEntity(ctx, body(t, entity("p", "r", nil)), nil)
	wantError(t, err, http.StatusForbidden, "AuthorizationPermissionMismatch")
}

func TestAztablesIsRefusedWithAnotherKey(t *testing.T) {
	s := acctest.StartServer(t)
	cred, err := aztables.NewSharedKeyCredential(acctest.DefaultAccount, "d3Jvbmc=")
	if err != nil {
		t.Fatal(err)
	}
	service, err := aztables.NewServiceClientWithSharedKey(s.TableEndpoint(acctest.DefaultAccount), cred, noRetries())
	if err != nil {
		t.Fatal(err)
	}
	_, err = service.CreateTable(t.Context(), "Orders", nil)
	wantError(t, err, http.StatusForbidden, "AuthenticationFailed")
	if err != nil && strings.Contains(err.Error(), s.Accounts[acctest.DefaultAccount]) {
		t.Error("the answer shows the key")
	}
}
