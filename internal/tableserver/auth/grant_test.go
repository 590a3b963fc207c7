package auth

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

var allOperations = []Operation{GetServiceProperties, SetServiceProperties, GetServiceStats, GetUserDelegationKey,
	QueryTables, CreateTable, DeleteTable, GetTableACL, SetTableACL, QueryEntities, GetEntity, InsertEntity, UpdateEntity,
	MergeEntity, InsertOrReplaceEntity, InsertOrMergeEntity, DeleteEntity}

func isEntityOperation(op Operation) bool { return op >= QueryEntities }

// allow asks the grant as a handler of the operation does.
func allow(g *Grant, op Operation, table string) error {
	if isEntityOperation(op) {
		return g.AllowEntities(op, table)
	}
	return g.AllowTables(op)
}

func grantOf(t testing.TB, query string) *Grant {
	t.Helper()
	g, err := newTestAuthenticator(t, nil).Authenticate(sasRequest(query), DevelopmentAccount)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestSharedKeyMayDoEverythingButAskForADelegationKey(t *testing.T) {
	for _, op := range allOperations {
		err := allow(&Grant{scheme: SharedKey}, op, "orders")
		if (err != nil) != (op == GetUserDelegationKey) {
			t.Errorf("operation %d: %v", op, err)
		}
	}
}

// The rows of the operation table in reference §7.5: what each operation answers to a token with the letters.
func TestAccountTokensReachWhatTheirLettersSay(t *testing.T) {
	const types, letters = "AuthorizationResourceTypeMismatch", "AuthorizationPermissionMismatch"
	for _, c := range []struct {
		op           Operation
		srt, sp      string
		want, reason string
	}{
		{GetServiceProperties, "s", "r", "", ""}, {GetServiceProperties, "co", "r", types, ""},
		{GetServiceProperties, "sco", "wdlacup", letters, ""},
		{SetServiceProperties, "s", "w", "", ""}, {SetServiceProperties, "s", "rdlacup", letters, ""},
		{GetServiceStats, "s", "r", "", ""},
		{QueryTables, "s", "l", "", "documentation"}, {QueryTables, "c", "l", "", "Azurite"}, {QueryTables, "o", "l", types, ""},
		{QueryTables, "sco", "rwdacup", letters, "Azurite lets r pass"},
		{CreateTable, "c", "c", "", ""}, {CreateTable, "c", "w", "", ""}, {CreateTable, "c", "rdlaup", letters, ""}, {CreateTable, "so", "c", types, ""},
		{DeleteTable, "c", "d", "", ""}, {DeleteTable, "c", "w", letters, ""},
		{QueryEntities, "o", "r", "", ""}, {QueryEntities, "sc", "r", types, ""}, {QueryEntities, "o", "wdlacup", letters, ""},
		{GetEntity, "o", "r", "", ""},
		{InsertEntity, "o", "a", "", ""}, {InsertEntity, "o", "rwdlcup", letters, ""},
		{InsertOrReplaceEntity, "o", "au", "", ""}, {InsertOrReplaceEntity, "o", "ua", "", ""},
		{InsertOrReplaceEntity, "o", "rwdlacp", letters, "a alone"}, {InsertOrMergeEntity, "o", "rwdlcup", letters, "u alone"},
		{InsertOrMergeEntity, "o", "au", "", ""},
		{UpdateEntity, "o", "u", "", ""}, {UpdateEntity, "o", "rwdlacp", letters, ""}, {MergeEntity, "o", "u", "", ""},
		{DeleteEntity, "o", "d", "", ""}, {DeleteEntity, "o", "rwlacup", letters, ""},
		{GetTableACL, "sco", "rwdlacup", "AuthorizationFailure", "no SAS ever"},
		{SetTableACL, "sco", "rwdlacup", "AuthorizationFailure", "no SAS ever"},
		{GetUserDelegationKey, "sco", "rwdlacup", "AuthenticationFailed", "bearer only"},
	} {
		g := grantOf(t, accountToken(t, "se=2026-07-01&ss=t&srt="+c.srt+"&sp="+c.sp))
		if got := codeOf(t, allow(g, c.op, "any")); got != c.want {
			t.Errorf("operation %d with srt=%s sp=%s gives %q, want %q (%s)", c.op, c.srt, c.sp, got, c.want, c.reason)
		}
	}
}

func TestTableTokensReachWhatTheirLettersSay(t *testing.T) {
	needed := map[Operation]string{QueryEntities: "r", GetEntity: "r", InsertEntity: "a", UpdateEntity: "u", MergeEntity: "u",
		InsertOrReplaceEntity: "au", InsertOrMergeEntity: "au", DeleteEntity: "d"} // reference §7.5
	for bits := 1; bits < 16; bits++ {
		sp := ""
		for i, letter := range "raud" {
			if bits&(1<<i) != 0 {
				sp += string(letter)
			}
		}
		g := grantOf(t, tableToken(t, "se=2026-07-01&sp="+sp))
		for _, op := range allOperations {
			want := "AuthorizationFailure" // tables, ACL and service are out of reach
			switch {
			case op == GetUserDelegationKey:
				want = "AuthenticationFailed"
			case isEntityOperation(op):
				want = ""
				for _, letter := range needed[op] {
					if !strings.ContainsRune(sp, letter) {
						want = "AuthorizationPermissionMismatch"
					}
				}
			}
			if got := codeOf(t, allow(g, op, "ORDERS")); got != want {
				t.Errorf("operation %d with sp=%s gives %q, want %q", op, sp, got, want)
			}
			if isEntityOperation(op) && codeOf(t, g.AllowEntities(op, "orders2")) != "AuthenticationFailed" {
				t.Errorf("operation %d of another table is allowed", op)
			}
		}
		if g.AllowTables(GetEntity) == nil || g.AllowEntities(SetTableACL, "orders") == nil {
			t.Error("the wrong question is answered with yes")
		}
	}
}

func TestRefusalsHaveTheTextsOfTheService(t *testing.T) {
	g := grantOf(t, tableToken(t, "se=2026-07-01&sp=r&spk=b"))
	for _, c := range []struct {
		err        error
		code, text string
	}{ // reference §8.4; JSON when asked for (§8.3)
		{g.AllowEntities(InsertEntity, "orders"), "AuthorizationPermissionMismatch",
			"This request is not authorized to perform this operation using this permission."},
		{g.AllowKey(edm.Key{PartitionKey: "a"}), "AuthorizationFailure", "This request is not authorized to perform this operation."},
		{g.AllowTables(CreateTable), "AuthorizationFailure", "This request is not authorized to perform this operation."},
		{grantOf(t, accountToken(t, "ss=t&srt=s&sp=r&se=2026-07-01")).AllowEntities(GetEntity, "orders"),
			"AuthorizationResourceTypeMismatch", "This request is not authorized to perform this operation using this resource type."},
	} {
		var refusal *Error
		if !errors.As(c.err, &refusal) || refusal.Status != http.StatusForbidden || refusal.FrontDoor ||
			refusal.Code != c.code || refusal.Message != c.text {
			t.Errorf("got %+v, want %s: %s", c.err, c.code, c.text)
		}
	}
	if g.Scheme().String() != "SAS" || SharedKey.String() != "AccountKey" {
		t.Error("names of schemes are wrong")
	}
}
