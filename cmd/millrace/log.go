package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"
)

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// logFlags say what is logged and how.
type logFlags struct {
	LogLevel  string `help:"debug, info, warn or error; also per component: info,kafka=warn." default:"info" placeholder:"LEVEL"`
	LogFormat string `help:"text or json; text on a terminal, else json." enum:"auto,text,json" default:"auto"`
}

// logger makes the log of the process, on the error stream.
func (f logFlags) logger(s *streams) (*slog.Logger, error) {
	levels, err := parseLevels(f.LogLevel)
	if err != nil {
		return nil, err
	}
	options := &slog.HandlerOptions{Level: slog.LevelDebug}
	var h slog.Handler
	if f.LogFormat == "text" || f.LogFormat == "auto" && s.terminal {
		h = slog.NewTextHandler(s.err, options)
	} else {
		h = slog.NewJSONHandler(s.err, options)
	}
	return slog.New(levelHandler{h, levels, levels.main}), nil
}

// levels are the least important records that are kept.
type levels struct {
	main slog.Level
	by   map[string]slog.Level // by component
}

func parseLevels(text string) (levels, error) {
	l := levels{by: map[string]slog.Level{}}
	for part := range strings.SplitSeq(text, ",") {
		component, word, named := strings.Cut(strings.TrimSpace(part), "=")
		if !named {
			component, word = "", component
		}
		var level slog.Level
		if !slices.Contains([]string{"debug", "info", "warn", "error"}, strings.ToLower(word)) || level.UnmarshalText([]byte(word)) != nil {
			return l, fmt.Errorf("'--log-level': '%s' is not a level; write debug, info, warn or error, also per component: info,kafka=warn", part)
		}
		if named {
			l.by[component] = level
		} else {
			l.main = level
		}
	}
	return l, nil
}

// levelHandler drops records below the level of their component, which is the attribute of that name of their logger.
type levelHandler struct {
	slog.Handler
	levels levels
	level  slog.Level
}

// Enabled implements slog.Handler.
func (h levelHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level }

// WithAttrs implements slog.Handler.
func (h levelHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := h
	c.Handler = h.Handler.WithAttrs(attrs)
	for _, a := range attrs {
		if a.Key == "component" {
			if level, ok := h.levels.by[a.Value.String()]; ok {
				c.level = level
			}
		}
	}
	return c
}

// WithGroup implements slog.Handler.
func (h levelHandler) WithGroup(name string) slog.Handler {
	c := h
	c.Handler = h.Handler.WithGroup(name)
	return c
}
