package catalog_test

import (
	"testing"

	"millrace/internal/catalog"
	"millrace/internal/catalog/catalogtest"
)

func TestFileDocument(t *testing.T) {
	catalogtest.Run(t, catalogtest.Backend{Place: func(t *testing.T) func() (catalog.Document, error) {
		dir := t.TempDir()
		return func() (catalog.Document, error) { return catalog.OpenFile(dir) }
	}})
}
