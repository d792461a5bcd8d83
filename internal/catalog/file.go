package catalog

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// formatVersion is raised when an older program could not read, or would lose, what a newer one writes.
const formatVersion = 1

// envelope is the file: {"format": 1, "sha256": "…", "catalog": {…}}. The sum covers the bytes of catalog without insignificant space, so
// that a file damaged on disk is told from one written by a version that knows more.
type envelope struct {
	Format  int             `json:"format"`
	SHA256  string          `json:"sha256"`
	Catalog json.RawMessage `json:"catalog"`
}

func sum(payload []byte) string {
	s := sha256.Sum256(payload)
	return hex.EncodeToString(s[:])
}

// encode renders a state as a file.
func encode(s State) ([]byte, error) {
	payload, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	return json.MarshalIndent(envelope{Format: formatVersion, SHA256: sum(payload), Catalog: payload}, "", " ")
}

// decode reads a file. The error says which of three things is wrong: a newer format, damage, or content of no known shape.
func decode(path string, data []byte) (State, error) {
	var e envelope
	if err := json.Unmarshal(data, &e); err != nil {
		return State{}, fmt.Errorf("%s is damaged (%d bytes, %w): restore it from a backup, or move it away to start with an empty catalog", path, len(data), err)
	}
	if e.Format > formatVersion {
		return State{}, fmt.Errorf("%s was written by a newer millrace (format %d, this program reads up to %d): use that version or a newer one", path, e.Format, formatVersion)
	}
	if e.Format < 1 {
		return State{}, fmt.Errorf("%s is not a catalog of millrace: it has no format number", path)
	}
	var payload bytes.Buffer
	if err := json.Compact(&payload, e.Catalog); err != nil {
		return State{}, fmt.Errorf("%s is damaged: %w", path, err)
	}
	if got := sum(payload.Bytes()); got != e.SHA256 {
		return State{}, fmt.Errorf("%s is damaged: its checksum is %.12s…, the content's is %.12s…; restore it from a backup", path, e.SHA256, got)
	}
	var s State
	dec := json.NewDecoder(&payload)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return State{}, fmt.Errorf("%s has content that this version does not know: %w", path, err)
	}
	if s.Databases == nil {
		s.Databases = map[string]Database{}
	}
	return s, nil
}

func readFile(path string) (State, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return State{Databases: map[string]Database{}}, nil
	}
	if err != nil {
		return State{}, err
	}
	return decode(path, data)
}

// replaceFile puts s in the place of the file at path. A crash at any point leaves the old file or the new one, whole: the new content is
// written beside it and forced to disk before the rename, and the rename is forced to disk before the change is reported as done.
func replaceFile(path string, s State) error {
	data, err := encode(s)
	if err != nil {
		return err
	}
	temp := path + ".new"
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}
