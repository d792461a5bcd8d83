package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/rawbytes"
	"github.com/knadh/koanf/v2"

	"millrace/internal/option"
)

// environment is that of the process, KEY=value.
type environment []string

const (
	envPrefix = "MILLRACE_"
	// secretPrefix names the secrets that secret() reads; they are no settings.
	secretPrefix = "MILLRACE_SECRET_"
	// keyVariable is the key that --key-file names a file of. It is no flag: the key would show in the list of processes.
	keyVariable = "MILLRACE_KEY"
	// passwordVariable is the password of --store, no flag for the same reason.
	passwordVariable = "MILLRACE_STORE_PASSWORD"
)

// settings are the values from outside the command line: the environment before the file.
type settings struct {
	env  map[string]string // by flag name
	file map[string]string // by flag name
}

// BeforeResolve reads both sources; kong asks it once the flags of the command line are known. A name that no flag has is an error: a setting with
// a typing mistake must not be ignored.
func (c *cli) BeforeResolve(ctx *kong.Context, environ environment) error {
	names := flagNames(ctx.Model)
	s := settings{env: map[string]string{}, file: map[string]string{}}
	for _, e := range environ {
		key, value, _ := strings.Cut(e, "=")
		if !strings.HasPrefix(key, envPrefix) || strings.HasPrefix(key, secretPrefix) || key == keyVariable || key == passwordVariable {
			continue
		}
		name := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(key, envPrefix)), "_", "-")
		if !slices.Contains(names, name) {
			return unknown("environment variable '"+key+"'", name, names, func(n string) string {
				return envPrefix + strings.ToUpper(strings.ReplaceAll(n, "-", "_"))
			})
		}
		s.env[name] = value
	}
	path := s.env["config"]
	for _, p := range ctx.Path {
		if p.Flag != nil && p.Flag.Name == "config" {
			path, _ = ctx.FlagValue(p.Flag).(string)
		}
	}
	if path != "" {
		if err := s.read(path, names); err != nil {
			return err
		}
	}
	ctx.AddResolver(s)
	return nil
}

func flagNames(app *kong.Application) []string {
	var names []string
	_ = kong.Visit(app, func(node kong.Visitable, next kong.Next) error { // the visitor gives no error
		if f, ok := node.(*kong.Flag); ok && f.Name != "help" {
			names = append(names, f.Name)
		}
		return next(nil)
	})
	slices.Sort(names)
	return slices.Compact(names)
}

func unknown(what, name string, names []string, spell func(string) string) error {
	if near := option.Nearest(name, names); near != "" {
		return fmt.Errorf("%s is no setting: did you mean '%s'?", what, spell(near))
	}
	return fmt.Errorf("%s is no setting: millrace serve --help lists them", what)
}

// read takes the settings of a YAML file. Keys are the names of flags, with - or _.
func (s settings) read(path string, names []string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("'--config': %w", err)
	}
	k := koanf.New("\x00") // no key has parts
	if err := k.Load(rawbytes.Provider(data), yaml.Parser()); err != nil {
		return fmt.Errorf("'--config': %s: %w", path, err)
	}
	for key, value := range k.Raw() {
		name := strings.ReplaceAll(strings.ToLower(key), "_", "-")
		if !slices.Contains(names, name) || name == "config" {
			return unknown(fmt.Sprintf("'--config': %s: key '%s'", path, key), name, names, func(n string) string { return n })
		}
		text, err := scalar(value)
		if err != nil {
			return fmt.Errorf("'--config': %s: key '%s': %w", path, key, err)
		}
		s.file[name] = text
	}
	return nil
}

// scalar is a value as it would be written on the command line.
func scalar(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			text, err := scalar(v[i])
			if err != nil {
				return "", err
			}
			parts[i] = text
		}
		return strings.Join(parts, ","), nil
	case map[string]any, map[any]any:
		return "", fmt.Errorf("a value or a list is expected, found a map")
	default:
		return fmt.Sprint(v), nil
	}
}

// Validate implements kong.Resolver.
func (s settings) Validate(*kong.Application) error { return nil }

// Resolve implements kong.Resolver.
func (s settings) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if v, ok := s.env[flag.Name]; ok {
		return v, nil
	}
	if v, ok := s.file[flag.Name]; ok {
		return v, nil
	}
	return nil, nil
}
