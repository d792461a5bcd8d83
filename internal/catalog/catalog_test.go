package catalog

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func sample(s *State) error {
	s.Databases["main"] = Database{Name: "Main", Views: map[string]View{
		"v": {Name: "v", Select: "SELECT value:a::int FROM t", Create: "CREATE VIEW v AS SELECT value:a::int FROM t", SQLMode: "ANSI_QUOTES"},
	}}
	s.Grants = []byte{0, 1, 2, 0xff, '"', '<'}
	return nil
}

func open(t *testing.T, dir string) *Catalog {
	t.Helper()
	c, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestUpdateSurvivesReopen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "yet")
	c := open(t, dir)
	if err := c.Update(sample); err != nil {
		t.Fatal(err)
	}
	want := c.State()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if got := open(t, dir).State(); !cmp.Equal(want, got) {
		t.Errorf("after reopening (-want +got):\n%s", cmp.Diff(want, got))
	}
}

func TestFailedUpdateChangesNothing(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir)
	if err := c.Update(sample); err != nil {
		t.Fatal(err)
	}
	want := c.State()
	refused := errors.New("refused")
	err := c.Update(func(s *State) error {
		delete(s.Databases["main"].Views, "v")
		s.Grants[0] = 9
		return refused
	})
	if !errors.Is(err, refused) {
		t.Fatalf("error %v, want the one of the change", err)
	}
	// A directory where the new file would be written makes writing fail.
	if err := os.Mkdir(filepath.Join(dir, "catalog.json.new"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := c.Update(func(s *State) error { s.Grants = nil; return nil }); err == nil {
		t.Fatal("an update that cannot be written succeeded")
	}
	if got := c.State(); !cmp.Equal(want, got) {
		t.Errorf("content changed (-want +got):\n%s", cmp.Diff(want, got))
	}
}

func TestStateIsACopy(t *testing.T) {
	c := OpenMemory()
	if err := c.Update(sample); err != nil {
		t.Fatal(err)
	}
	s := c.State()
	delete(s.Databases["main"].Views, "v")
	s.Grants[0] = 9
	if got := c.State(); len(got.Databases["main"].Views) != 1 || got.Grants[0] != 0 {
		t.Error("editing a copy changed the catalog")
	}
}

func TestSecondProcessIsKeptOut(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir)
	_, err := Open(dir)
	if err == nil || !strings.Contains(err.Error(), "in use by another process") {
		t.Fatalf("second Open: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, dir)
}

// A crash while the new file is written leaves any prefix of it beside the old one.
func TestTornWriteOfTheNewFileLeavesTheOld(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir)
	if err := c.Update(sample); err != nil {
		t.Fatal(err)
	}
	want := c.State()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	next, err := encode(State{Databases: map[string]Database{}})
	if err != nil {
		t.Fatal(err)
	}
	for n := range next {
		if err := os.WriteFile(filepath.Join(dir, "catalog.json.new"), next[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Open(dir)
		if err != nil {
			t.Fatalf("torn after %d bytes: %v", n, err)
		}
		if got := c.State(); !cmp.Equal(want, got) {
			t.Fatalf("torn after %d bytes: content changed", n)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDamagedFileIsAnError(t *testing.T) {
	s := State{Databases: map[string]Database{}}
	if err := sample(&s); err != nil {
		t.Fatal(err)
	}
	whole, err := encode(s)
	if err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		if _, err := decode("catalog.json", whole[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes were accepted", n, len(whole))
		}
	}
	for i := range whole {
		bad := bytes.Clone(whole)
		bad[i] ^= 0x01
		if got, err := decode("catalog.json", bad); err == nil && !cmp.Equal(got, s) {
			t.Fatalf("a flipped bit in byte %d was accepted and changed the content", i)
		}
	}
}

func TestErrorsOfForeignFiles(t *testing.T) {
	for name, test := range map[string]struct{ content, want string }{
		"newer format":  {`{"format": 2, "sha256": "", "catalog": {}}`, "newer millrace (format 2, this program reads up to 1)"},
		"no format":     {`{"hello": "world"}`, "not a catalog of millrace"},
		"empty file":    {``, "is damaged (0 bytes"},
		"wrong sum":     {`{"format": 1, "sha256": "00", "catalog": {}}`, "checksum"},
		"unknown field": {`{"format": 1, "sha256": "` + sum([]byte(`{"tables":1}`)) + `", "catalog": {"tables": 1}}`, "does not know"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "catalog.json"), []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Open(dir)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "catalog.json") {
				t.Fatalf("error %v, want the path and %q", err, test.want)
			}
			// The lock is given back with the error.
			if err := os.Remove(filepath.Join(dir, "catalog.json")); err != nil {
				t.Fatal(err)
			}
			open(t, dir)
		})
	}
}

func TestClosedCatalogRefusesUpdates(t *testing.T) {
	c := open(t, t.TempDir())
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Update(sample); err == nil {
		t.Error("update after Close succeeded")
	}
	if err := c.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	s := State{Databases: map[string]Database{}}
	if err := sample(&s); err != nil {
		f.Fatal(err)
	}
	whole, err := encode(s)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add([]byte(`{"format": 1, "sha256": "", "catalog": null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := decode("catalog.json", data)
		if err != nil {
			return
		}
		again, err := encode(s)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := decode("catalog.json", again); err != nil || !cmp.Equal(got, s, cmpopts.EquateEmpty()) {
			t.Fatalf("what was read cannot be written and read again: %v", err)
		}
	})
}
