package catalog

import (
	"context"
	"errors"
)

// Document is where a catalog is kept: one piece of content with a version, replaced as a whole by compare-and-set. So two processes that change it at
// once cannot lose each other's changes: the one that comes second is told, reads what is there and makes its change anew.
//
// One document for everything is enough, as a catalog is small and changes seldom, and it makes each statement one step however much it touches. catalogtest.Run is the suite
// that every Document must pass.
type Document interface {
	// Read gives the content and its version, which is 0 as long as there is none and counts up by one with each change. When the version is the one that is
	// known already, content is nil; what is read then costs next to nothing, so that it can be asked for often. known is -1 for none. Where a document can lose its last
	// changes, as a database does that a replica without them takes over from, a version may come again with another content, which is then given though its version is known.
	Read(ctx context.Context, known int64) (content []byte, version int64, err error)
	// Replace makes content version from+1. ErrChanged says that from, as it was read, is not the version any more, and nothing has been changed. After any other error the content
	// is the old or the new one, whole.
	Replace(ctx context.Context, from int64, content []byte) error
	// Where says where it is, for messages; it holds no secret.
	Where() string
	// Close gives back what the document holds.
	Close() error
}

// ErrChanged says that somebody else has replaced a document.
var ErrChanged = errors.New("catalog: it was changed by another process")

// memory is a document that is gone with the process.
type memory struct {
	content []byte
	version int64
}

// Read implements Document.
func (m *memory) Read(_ context.Context, known int64) ([]byte, int64, error) {
	if known == m.version {
		return nil, m.version, nil
	}
	return m.content, m.version, nil
}

// Replace implements Document.
func (m *memory) Replace(_ context.Context, from int64, content []byte) error {
	if from != m.version {
		return ErrChanged
	}
	m.content, m.version = content, from+1
	return nil
}

// Where implements Document.
func (m *memory) Where() string { return "the catalog in memory" }

// Close implements Document.
func (m *memory) Close() error { return nil }
