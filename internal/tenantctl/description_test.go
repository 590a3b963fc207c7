package tenantctl

import (
	"strings"
	"testing"
)

func TestLongTextsAreBrokenButCommandsAreNot(t *testing.T) {
	d := newDescription("Tenant %s.", "contoso")
	d.add("short", "two  spaces stay")
	d.add("long", "%s", strings.TrimSpace(strings.Repeat("word ", 25)))
	d.add("next", "%stenantctl purge contoso", strings.Repeat("word ", 25))
	d.add("empty", "")
	d.list("list", []string{"a", "b"})
	var b strings.Builder
	must(t, d.write(&b))
	words := func(n int) string { return strings.TrimSpace(strings.Repeat("word ", n)) }
	want := "Tenant contoso.\n" +
		"  short  two  spaces stay\n" +
		"  long   " + words(20) + "\n" +
		"         " + words(5) + "\n" +
		"  next   " + words(25) + " tenantctl purge contoso\n" +
		"  list   a\n" +
		"         b\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}
