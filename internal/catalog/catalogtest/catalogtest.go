// Package catalogtest is the suite that every catalog.Document must pass.
package catalogtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"millrace/internal/catalog"
)

// Backend is a kind of Document to test.
type Backend struct {
	// Place makes a place for one document and gives what opens it, which may be called again when the former Document is closed, and before if Shared.
	Place func(t *testing.T) (open func() (catalog.Document, error))
	// Shared says that several may have it open at once.
	Shared bool
}

// Run tests a backend.
func Run(t *testing.T, b Backend) {
	for _, c := range []struct {
		name   string
		test   func(*testing.T, func(*testing.T) catalog.Document)
		shared bool
	}{
		{"a new one is empty", isEmpty, false},
		{"what was replaced is read", isRead, false},
		{"an unchanged one is not read again", isKnown, false},
		{"it survives reopening", survives, false},
		{"another version is not replaced", comparesAndSets, false},
		{"large and binary content", keepsBytes, false},
		{"a catalog keeps its state", keepsState, false},
		{"one sees what another has written", seesOthers, true},
		{"one of many wins each version", oneWins, true},
		{"catalogs lose no change of each other", loseNothing, true},
		{"a change that another made impossible fails", failsOnTheNewState, true},
	} {
		if c.shared && !b.Shared {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			open := b.Place(t)
			c.test(t, func(t *testing.T) catalog.Document {
				t.Helper()
				d, err := open()
				if err != nil {
					t.Fatal(err)
				}
				return d
			})
		})
	}
}

func read(t *testing.T, d catalog.Document, known int64) ([]byte, int64) {
	t.Helper()
	content, version, err := d.Read(context.Background(), known)
	if err != nil {
		t.Fatal(err)
	}
	return content, version
}

func replace(t *testing.T, d catalog.Document, from int64, content string) {
	t.Helper()
	if err := d.Replace(context.Background(), from, []byte(content)); err != nil {
		t.Fatal(err)
	}
}

func closed(t *testing.T, d interface{ Close() error }) {
	t.Helper()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

func isEmpty(t *testing.T, open func(*testing.T) catalog.Document) {
	d := open(t)
	defer closed(t, d)
	for _, known := range []int64{-1, 0} {
		if content, version := read(t, d, known); content != nil || version != 0 {
			t.Errorf("version %d with %q", version, content)
		}
	}
	if d.Where() == "" {
		t.Error("it is nowhere")
	}
}

func isRead(t *testing.T, open func(*testing.T) catalog.Document) {
	d := open(t)
	defer closed(t, d)
	for i, text := range []string{"one", "two", ""} {
		_, from := read(t, d, -1)
		replace(t, d, from, text)
		if content, version := read(t, d, -1); string(content) != text || content == nil || version != int64(i+1) {
			t.Errorf("version %d with %q, want %d with %q", version, content, i+1, text)
		}
	}
}

func isKnown(t *testing.T, open func(*testing.T) catalog.Document) {
	d := open(t)
	defer closed(t, d)
	replace(t, d, 0, "one")
	if content, version := read(t, d, 1); content != nil || version != 1 {
		t.Errorf("version %d with %q", version, content)
	}
	if content, version := read(t, d, 0); string(content) != "one" || version != 1 {
		t.Errorf("version %d with %q", version, content)
	}
}

func survives(t *testing.T, open func(*testing.T) catalog.Document) {
	d := open(t)
	replace(t, d, 0, "one")
	closed(t, d)
	d = open(t)
	_, version := read(t, d, -1)
	replace(t, d, version, "two")
	closed(t, d)
	d = open(t)
	defer closed(t, d)
	if content, _ := read(t, d, -1); string(content) != "two" {
		t.Errorf("it holds %q", content)
	}
}

func comparesAndSets(t *testing.T, open func(*testing.T) catalog.Document) {
	d := open(t)
	defer closed(t, d)
	replace(t, d, 0, "one")
	for _, from := range []int64{0, 2, -1} {
		if err := d.Replace(context.Background(), from, []byte("x")); !errors.Is(err, catalog.ErrChanged) {
			t.Errorf("from %d: %v", from, err)
		}
	}
	if content, version := read(t, d, -1); string(content) != "one" || version != 1 {
		t.Errorf("version %d with %q", version, content)
	}
}

func keepsBytes(t *testing.T, open func(*testing.T) catalog.Document) {
	d := open(t)
	defer closed(t, d)
	var all []byte
	for i := range 1 << 20 {
		all = append(all, byte(i), byte(i>>8))
	}
	replace(t, d, 0, string(all))
	if content, _ := read(t, d, -1); !bytes.Equal(content, all) {
		t.Errorf("%d bytes came back as %d others", len(all), len(content))
	}
}

func newCatalog(t *testing.T, d catalog.Document) *catalog.Catalog {
	t.Helper()
	c, err := catalog.New(context.Background(), d)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// add makes a database.
func add(c *catalog.Catalog, name string) error {
	return c.Update(func(s *catalog.State) error {
		if _, ok := s.Databases[name]; ok {
			return fmt.Errorf("database %s exists", name)
		}
		s.Databases[name] = catalog.Database{Name: name}
		return nil
	})
}

func keepsState(t *testing.T, open func(*testing.T) catalog.Document) {
	c := newCatalog(t, open(t))
	for _, name := range []string{"a", "b"} {
		if err := add(c, name); err != nil {
			t.Fatal(err)
		}
	}
	closed(t, c)
	c = newCatalog(t, open(t))
	defer closed(t, c)
	if n := len(c.State().Databases); n != 2 {
		t.Errorf("%d databases", n)
	}
}

func seesOthers(t *testing.T, open func(*testing.T) catalog.Document) {
	a, b := newCatalog(t, open(t)), newCatalog(t, open(t))
	defer closed(t, a)
	defer closed(t, b)
	if err := add(a, "a"); err != nil {
		t.Fatal(err)
	}
	if changed, err := b.Refresh(context.Background()); !changed || err != nil {
		t.Errorf("%v, %v", changed, err)
	}
	if len(b.State().Databases) != 1 {
		t.Errorf("it sees %v", b.State().Databases)
	}
	if changed, err := b.Refresh(context.Background()); changed || err != nil {
		t.Errorf("again: %v, %v", changed, err)
	}
}

func oneWins(t *testing.T, open func(*testing.T) catalog.Document) {
	const many, rounds = 4, 10
	docs := make([]catalog.Document, many)
	for i := range docs {
		docs[i] = open(t)
		defer closed(t, docs[i])
	}
	for round := range int64(rounds) {
		var wg sync.WaitGroup
		errs := make([]error, many)
		for i, d := range docs {
			wg.Go(func() { errs[i] = d.Replace(context.Background(), round, fmt.Appendf(nil, "%d by %d", round, i)) })
		}
		wg.Wait()
		content, version := read(t, docs[0], -1)
		won := 0
		for i, err := range errs {
			switch {
			case err == nil:
				won++
				if want := fmt.Sprintf("%d by %d", round, i); string(content) != want {
					t.Errorf("round %d: %q, and %d has won", round, content, i)
				}
			case !errors.Is(err, catalog.ErrChanged):
				t.Errorf("round %d: %v", round, err)
			}
		}
		if won != 1 || version != round+1 {
			t.Fatalf("round %d: version %d, %d have won", round, version, won)
		}
	}
}

func loseNothing(t *testing.T, open func(*testing.T) catalog.Document) {
	const many, each = 3, 8
	var wg sync.WaitGroup
	catalogs := make([]*catalog.Catalog, many)
	for i := range catalogs {
		catalogs[i] = newCatalog(t, open(t))
		defer closed(t, catalogs[i])
	}
	for i, c := range catalogs {
		wg.Go(func() {
			for n := range each {
				if err := add(c, fmt.Sprintf("db_%d_%d", i, n)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, c := range catalogs {
		if _, err := c.Refresh(context.Background()); err != nil {
			t.Fatal(err)
		}
		if n := len(c.State().Databases); n != many*each {
			t.Errorf("%d databases", n)
		}
	}
}

func failsOnTheNewState(t *testing.T, open func(*testing.T) catalog.Document) {
	a, b := newCatalog(t, open(t)), newCatalog(t, open(t))
	defer closed(t, a)
	defer closed(t, b)
	if err := add(a, "a"); err != nil {
		t.Fatal(err)
	}
	if err := add(b, "a"); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("made it twice: %v", err)
	}
	if _, ok := b.State().Databases["a"]; !ok {
		t.Error("the state is the old one")
	}
}
