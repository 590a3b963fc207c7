package auth

import (
	"strings"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/keyspan"
)

// The versions that changed account SAS (Create an account SAS, REST reference).
const (
	firstAccountSAS      = "2015-04-05"
	firstEncryptionScope = "2020-12-06" // one more signed line, ses
)

// The letters of srt and sp. Their order is free: what is signed is the text as given.
const (
	resourceTypeLetters      = "sco"
	accountPermissionLetters = "rwdxylacupitfe" // of all services; tables need only some
)

// checkAccountSAS checks an account SAS. Whether it reaches an operation is asked of the Grant.
func checkAccountSAS(account string, key Key, t sasToken, now time.Time) (*Grant, error) {
	if t["sv"] < firstAccountSAS {
		return nil, authenticationFailed("An account SAS needs sv 2015-04-05 or newer.")
	}
	if err := t.require("ss", "srt", "sp", "se"); err != nil {
		return nil, err
	}
	if err := checkSignature(key, t, accountStringToSign(account, t)); err != nil {
		return nil, err
	}
	if !lettersOf(t["srt"], resourceTypeLetters) || !lettersOf(t["sp"], accountPermissionLetters) {
		return nil, authenticationFailed("The field srt or sp has a letter that is not known.")
	}
	start, expiry, err := t.times()
	if err != nil {
		return nil, err
	}
	if err := checkTime(now, start, expiry); err != nil {
		return nil, err
	}
	if !strings.Contains(t["ss"], "t") {
		return nil, mismatch("AuthorizationServiceMismatch", "service")
	}
	return &Grant{scheme: AccountSAS, account: account, types: t["srt"], permissions: t["sp"], span: keyspan.Whole()}, nil
}

// accountStringToSign returns what an account SAS signs: one line for each field, the last one ended as well.
func accountStringToSign(account string, t sasToken) string {
	text := account + "\n" + t.lines("sp", "ss", "srt", "st", "se", "sip", "spr", "sv") + "\n"
	if t["sv"] >= firstEncryptionScope {
		text += t["ses"] + "\n"
	}
	return text
}

// lettersOf says whether every letter of text is in set.
func lettersOf(text, set string) bool { return strings.Trim(text, set) == "" }
