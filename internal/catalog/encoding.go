package catalog

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// FormatVersion is raised when an older program could not read, or would lose, what a newer one writes.
const FormatVersion = 1

// envelope is the content of a document: {"format": 1, "sha256": "…", "catalog": {…}}. The sum covers the bytes of catalog without insignificant space, so
// that one damaged on disk is told from one written by a version that knows more.
type envelope struct {
	Format  int             `json:"format"`
	SHA256  string          `json:"sha256"`
	Catalog json.RawMessage `json:"catalog"`
}

func sum(payload []byte) string {
	s := sha256.Sum256(payload)
	return hex.EncodeToString(s[:])
}

// encode renders a state as the content of a document.
func encode(s State) ([]byte, error) {
	payload, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	return json.MarshalIndent(envelope{Format: FormatVersion, SHA256: sum(payload), Catalog: payload}, "", " ")
}

// decode reads the content of a document, nil for none. The error says which of three things is wrong: a newer format, damage, or content of no known shape.
func decode(where string, data []byte) (State, error) {
	if data == nil {
		return State{Databases: map[string]Database{}}, nil
	}
	var e envelope
	if err := json.Unmarshal(data, &e); err != nil {
		return State{}, fmt.Errorf("%s is damaged (%d bytes, %w): restore it from a backup, or move it away to start with an empty catalog", where, len(data), err)
	}
	if e.Format > FormatVersion {
		return State{}, fmt.Errorf("%s was written by a newer millrace (format %d, this program reads up to %d): use that version or a newer one", where, e.Format, FormatVersion)
	}
	if e.Format < 1 {
		return State{}, fmt.Errorf("%s is not a catalog of millrace: it has no format number", where)
	}
	var payload bytes.Buffer
	if err := json.Compact(&payload, e.Catalog); err != nil {
		return State{}, fmt.Errorf("%s is damaged: %w", where, err)
	}
	if got := sum(payload.Bytes()); got != e.SHA256 {
		return State{}, fmt.Errorf("%s is damaged: its checksum is %.12s…, the content's is %.12s…; restore it from a backup", where, e.SHA256, got)
	}
	var s State
	dec := json.NewDecoder(&payload)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return State{}, fmt.Errorf("%s has content that this version does not know: %w", where, err)
	}
	if s.Databases == nil {
		s.Databases = map[string]Database{}
	}
	return s, nil
}
