package server

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// runInit runs the SQL of --init-file: a file, or the *.sql files of a folder in the order of their names. It happens at each start, so the
// statements must be ones that may be repeated (IF NOT EXISTS, OR REPLACE). The first error stops the start; it names file and line.
func (s *Server) runInit(ctx context.Context, path string) error {
	files, err := initFiles(path)
	if err != nil {
		return fmt.Errorf("'--init-file': %w", err)
	}
	x := s.local()
	defer x.close()
	if err := x.use(ctx, MainDatabase); err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("'--init-file': %w", err)
		}
		if err := x.script(ctx, file, string(text)); err != nil {
			return err
		}
		s.cfg.Log.Info("init file done", "file", file)
	}
	return nil
}

func initFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	files, err := filepath.Glob(filepath.Join(path, "*.sql"))
	slices.Sort(files)
	return files, err
}

// script runs the statements of a file one by one.
func (x *session) script(ctx context.Context, file, text string) error {
	rest := text
	for !blank(rest) {
		rest = skipBlank(rest)
		at := len(text) - len(rest)
		var first string
		first, rest = splitOne(x, ctx, rest)
		if err := x.query(ctx, first, &discard{}); err != nil {
			return fmt.Errorf("%s:%d: %w", file, 1+strings.Count(text[:at], "\n"), err)
		}
	}
	return nil
}
