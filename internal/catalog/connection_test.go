package catalog

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func testKey(t *testing.T, fill byte) *Key {
	t.Helper()
	k, err := ParseKey(hex.EncodeToString(bytes.Repeat([]byte{fill}, KeySize)))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestKeysAreReadInEveryWriting(t *testing.T) {
	raw := bytes.Repeat([]byte{0xfb, 0xff}, KeySize/2)
	want := ""
	for _, text := range []string{hex.EncodeToString(raw), strings.ToUpper(hex.EncodeToString(raw)), base64.StdEncoding.EncodeToString(raw) + "\n", base64.RawStdEncoding.EncodeToString(raw),
		base64.URLEncoding.EncodeToString(raw), "  " + base64.RawURLEncoding.EncodeToString(raw)} {
		k, err := ParseKey(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if want == "" {
			want = k.ID()
		}
		if k.ID() != want {
			t.Errorf("%q is another key", text)
		}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
			if out := fmt.Sprintf(verb, k); out != "key "+want {
				t.Errorf("%s shows %s", verb, out)
			}
		}
	}
	for _, bad := range []string{"", "hunter2", hex.EncodeToString(raw[1:]), base64.StdEncoding.EncodeToString(append(raw, 1)), strings.Repeat("z", 64)} {
		if _, err := ParseKey(bad); err == nil || bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestSealedSettingsSurviveAndAreUnreadable(t *testing.T) {
	dir := t.TempDir()
	key := testKey(t, 1)
	options := map[string]string{"bootstrapServers": "broker-of-secret:9092", "sasl.password": "hunter2"}
	c := open(t, dir)
	conn := Connection{Name: "Prod", Type: "kafka", Hosts: []string{"broker:9092"}}
	if err := conn.Seal(KindConnection, options, key); err != nil {
		t.Fatal(err)
	}
	if err := c.Update(func(s *State) error { s.SetNamed(KindConnection, conn); return nil }); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(dir, "catalog.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"hunter2", "broker-of-secret", base64.StdEncoding.EncodeToString([]byte("hunter2"))} {
		if bytes.Contains(file, []byte(text)) {
			t.Errorf("the file holds %s", text)
		}
	}
	again := open(t, dir)
	got, ok := again.Named(KindConnection, "pROD")
	if !ok {
		t.Fatal("it is gone")
	}
	if _, ok := again.Named(KindCredential, "prod"); ok {
		t.Error("a connection is found as a credential")
	}
	opened, err := got.Open(KindConnection, key)
	if diff := cmp.Diff(options, opened); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

func TestASealFitsOnlyWhereItWasPut(t *testing.T) {
	key := testKey(t, 1)
	c := Connection{Name: "prod", Type: "kafka", Hosts: []string{"a:1"}}
	if err := c.Seal(KindCredential, map[string]string{"sasl.password": "hunter2"}, key); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(Connection) (map[string]string, error){
		"no key":      func(c Connection) (map[string]string, error) { return c.Open(KindCredential, nil) },
		"another key": func(c Connection) (map[string]string, error) { return c.Open(KindCredential, testKey(t, 2)) },
		"kind":        func(c Connection) (map[string]string, error) { return c.Open(KindConnection, key) },
		"name":        func(c Connection) (map[string]string, error) { c.Name = "other"; return c.Open(KindCredential, key) },
		"hosts": func(c Connection) (map[string]string, error) {
			c.Hosts = []string{"evil:1"}
			return c.Open(KindCredential, key)
		},
		"bit": func(c Connection) (map[string]string, error) {
			c.Sealed = bytes.Clone(c.Sealed)
			c.Sealed[len(c.Sealed)-1] ^= 1
			return c.Open(KindCredential, key)
		},
		"short": func(c Connection) (map[string]string, error) {
			c.Sealed = c.Sealed[:5]
			return c.Open(KindCredential, key)
		},
	} {
		if got, err := change(c); err == nil || got != nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := c.Open(KindCredential, nil); !errors.Is(err, ErrNoKey) {
		t.Error(err)
	}
	if _, err := c.Open(KindCredential, testKey(t, 2)); !errors.Is(err, ErrOtherKey) {
		t.Error(err)
	}
}

func TestSealsDifferEachTime(t *testing.T) {
	key := testKey(t, 1)
	if bytes.Equal(key.Seal([]byte("x"), nil), key.Seal([]byte("x"), nil)) {
		t.Error("two seals of the same are the same")
	}
}
