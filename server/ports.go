package server

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// portsFile tells other programs where the server listens, since --listen 127.0.0.1:0 lets the system choose: DATA_DIR/ports.json, an
// object of names and addresses. It is there while the server is ready and removed on exit.
type portsFile struct{ path string }

// writePorts replaces the file in one step: a reader sees nothing or everything.
func writePorts(dir string, ports map[string]string) (portsFile, error) {
	p := portsFile{filepath.Join(dir, "ports.json")}
	data, err := json.Marshal(ports)
	if err != nil {
		return p, err
	}
	temp := p.path + ".new"
	if err := os.WriteFile(temp, append(data, '\n'), 0o644); err != nil {
		return p, err
	}
	return p, os.Rename(temp, p.path)
}

func (p portsFile) remove() error {
	if err := os.Remove(p.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
