package auth

import (
	"net/http"
	"strings"
	"time"
)

// firstDelegation is the first version of user delegation keys and SAS for tables (reference §7.6).
const firstDelegation = "2025-07-05"

// maxDelegation is how long a user delegation key lives at most.
const maxDelegation = 7 * 24 * time.Hour

// delegationService is the sks of keys for tables; unconfirmed (reference §7.6).
const delegationService = "t"

// DelegationKeyRequest is what a principal asks for.
type DelegationKeyRequest struct {
	Start, Expiry time.Time // cut to seconds; a zero Start is now
	// DelegatedTenant is the directory of the user to whom the SAS may be bound; "" for the principal's own.
	DelegatedTenant string
}

// DelegationKey is a key with which a principal signs SAS in its own name. Of the fields nothing is secret but Value.
type DelegationKey struct {
	ObjectID, TenantID string // of the principal
	Start, Expiry      string // in the form of times in a SAS
	Service, Version   string
	DelegatedTenant    string
	value              Key
}

// Value returns the key in base64, for the answer to its principal only.
func (k DelegationKey) Value() string { return k.value.Reveal() }

// DelegationKey makes the user delegation key for the principal of a grant that AllowTables let have one. version is
// the x-ms-version of the request. A refusal is an *Error; its code is known from blobs and unconfirmed for tables.
func (a *Authenticator) DelegationKey(g *Grant, asked DelegationKeyRequest, version string) (DelegationKey, error) {
	now := a.clock()
	if asked.Start.IsZero() { // it may be left out, and is now then
		asked.Start = now
	}
	start, expiry := asked.Start.UTC().Truncate(time.Second), asked.Expiry.UTC().Truncate(time.Second)
	switch {
	case g.scheme != Bearer:
		return DelegationKey{}, authenticationFailed("Only a bearer token can ask for a user delegation key.")
	case version < firstDelegation:
		return DelegationKey{}, badValue("InvalidHeaderValue", "The value for one of the HTTP headers is not in the correct format.",
			"User delegation keys for tables need x-ms-version "+firstDelegation+" or newer.")
	case !start.Before(expiry), !now.Before(expiry), expiry.After(now.Add(maxDelegation)):
		return DelegationKey{}, badValue("InvalidXmlNodeValue", "The value for one of the XML nodes is not in the correct format.",
			"Expiry must lie after Start and within 7 days from now.")
	case asked.DelegatedTenant != "" && !guidForm.MatchString(asked.DelegatedTenant):
		return DelegationKey{}, badValue("InvalidXmlNodeValue", "The value for one of the XML nodes is not in the correct format.",
			"DelegatedUserTid must be the id of a directory.")
	}
	k := DelegationKey{ObjectID: g.principal.ObjectID, TenantID: g.principal.TenantID, Start: start.Format(delegationTime),
		Expiry: expiry.Format(delegationTime), Service: delegationService, Version: version, DelegatedTenant: strings.ToLower(asked.DelegatedTenant)}
	key, _ := a.key(g.account) // there is a grant, so there is the account
	k.value = k.derive(g.account, key)
	return k, nil
}

const delegationTime = "2006-01-02T15:04:05Z"

func badValue(code, message, detail string) *Error {
	return &Error{Status: http.StatusBadRequest, Code: code, Message: message, Detail: detail, FrontDoor: true}
}

// derive computes the secret from the account's key and every other field, so that the server keeps no keys and a SAS
// that changes a field has another one. What it signs begins with a NUL, as nothing does that a client gets signed:
// no signature can be taken for a key. Unlike in Azure, a new account key ends the delegation keys too.
func (k DelegationKey) derive(account string, key Key) Key {
	return NewKey(key.mac(strings.Join([]string{"\x00user delegation key", account, k.ObjectID, k.TenantID, k.Start, k.Expiry,
		k.Service, k.Version, k.DelegatedTenant}, "\n")))
}

// checkDelegationSAS checks a SAS that is signed with a user delegation key. What it allows is less than what the
// principal of the key may do at the time of the request.
func (a *Authenticator) checkDelegationSAS(r *http.Request, account string, key Key, t sasToken) (*Grant, error) {
	if a.entra == nil {
		return nil, authenticationFailed("A user delegation SAS needs the roles of its principal, and this server has none.")
	}
	if err := t.checkDelegation(); err != nil {
		return nil, err
	}
	k, validKey, err := t.delegationKey()
	if err != nil {
		return nil, err
	}
	if err := checkSignature(k.derive(account, key), t, delegationStringToSign(account, t)); err != nil {
		return nil, err
	}
	if !lettersOf(t["sp"], tablePermissionLetters) {
		return nil, authenticationFailed("The field sp has a letter that is not known.")
	}
	start, expiry, err := t.times()
	if err != nil {
		return nil, err
	}
	now := a.clock()
	if err := checkTime(now, start, expiry); err != nil {
		return nil, err
	}
	if err := checkTime(now, validKey[0], validKey[1]); err != nil {
		return nil, err
	}
	if t.boundToUser() {
		if err := a.checkUser(r, account, t); err != nil {
			return nil, err
		}
	}
	return &Grant{scheme: DelegationSAS, account: account, table: strings.ToLower(t["tn"]), permissions: t["sp"], span: t.span(),
		roles: a.entra.roles.of(account, k.ObjectID)}, nil
}

// checkDelegation checks the form of the token: every field that such a SAS needs, and none that it cannot have.
func (t sasToken) checkDelegation() error {
	if err := t.require("tn", "sp", "se", "skoid", "sktid", "skt", "ske", "sks", "skv"); err != nil {
		return err
	}
	switch {
	case t.has("si"):
		return authenticationFailed("A user delegation SAS cannot refer to a stored access policy.")
	case t.has(accountFields...):
		return authenticationFailed("The query has fields of an account SAS and of a user delegation SAS.")
	case t["sv"] < firstDelegation || t["skv"] < firstDelegation:
		return authenticationFailed("A user delegation SAS for a table needs sv and skv " + firstDelegation + " or newer.")
	case t["skdutid"] != "" && !t.boundToUser():
		return authenticationFailed("skdutid needs sduoid.")
	}
	return t.checkRange()
}

// delegationKey returns the key that the token says it is signed with, and from when to when that counts. Its times need
// no other check: the secret of a key that lives for too long was given to nobody.
func (t sasToken) delegationKey() (k DelegationKey, valid [2]time.Time, err error) {
	for i, field := range []string{"skt", "ske"} {
		if valid[i], err = parseSASTime(field, t[field]); err != nil {
			return k, valid, err
		}
	}
	return DelegationKey{ObjectID: strings.ToLower(t["skoid"]), TenantID: strings.ToLower(t["sktid"]),
		Start: valid[0].Format(delegationTime), Expiry: valid[1].Format(delegationTime), Service: t["sks"], Version: t["skv"],
		DelegatedTenant: strings.ToLower(t["skdutid"])}, valid, nil
}

// delegationStringToSign returns the 19 lines that a user delegation SAS for a table signs, without a line end after
// the last. Whether later versions have more lines is unconfirmed (reference §7.6).
func delegationStringToSign(account string, t sasToken) string {
	return t.lines("sp", "st", "se") + "\n/table/" + account + "/" + strings.ToLower(t["tn"]) + "\n" +
		t.lines("skoid", "sktid", "skt", "ske", "sks", "skv", "skdutid", "sduoid", "sip", "spr", "sv", "spk", "srk", "epk", "erk")
}

// checkUser checks that the request comes with a bearer token of the user to whom the SAS is bound. The user needs no
// role. Error codes of the service are unconfirmed.
func (a *Authenticator) checkUser(r *http.Request, account string, t sasToken) error {
	user, err := a.bearer(r, account)
	if err != nil {
		return err
	}
	tenant := t["skdutid"]
	if tenant == "" {
		tenant = t["sktid"]
	}
	if user.ObjectID != strings.ToLower(t["sduoid"]) || user.TenantID != strings.ToLower(tenant) {
		return authenticationFailed("The SAS is bound to another user than the bearer token's.")
	}
	return nil
}
