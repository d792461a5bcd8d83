// Command millrace is SQL on Kafka over the MySQL protocol, in one binary.
//
//	millrace serve            the server
//	millrace demo             the server with an embedded broker, sample topics and a tour
//	millrace query "SELECT …" statements without a server
//	millrace version          also --version; millrace help COMMAND is millrace COMMAND --help
//
// Everything it does is in package server; here are the flags, where else their values may come from (settings.go), and the exit code.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
)

// version is set by the linker.
var version = "dev"

// cli is the command line. Every flag may also be given as MILLRACE_NAME_OF_FLAG or as name-of-flag in the YAML file.
type cli struct {
	Config string `help:"YAML file with settings, named like the flags." placeholder:"FILE"`

	Serve   serveCommand   `cmd:"" help:"Run the server."`
	Demo    demoCommand    `cmd:"" help:"Run the server with an embedded broker and sample topics, and show what it does."`
	Query   queryCommand   `cmd:"" help:"Run SQL in this process, without a server."`
	Version versionCommand `cmd:"" help:"Print the version."`
}

const about = `SQL on Kafka over the MySQL protocol.

  millrace serve
  mysql --host 127.0.0.1 --port 3307 --user root main
  mysql> SELECT value::string:user_id, count(*) FROM read_kafka(bootstrapServers => 'broker:9092', subscribe => 'orders') GROUP BY 1;

Settings come from flags, then from the environment (--data-dir is MILLRACE_DATA_DIR), then from the file of --config (data-dir: …).`

// streams are where a command reads and writes.
type streams struct {
	out, err io.Writer
	// terminal: err is one.
	terminal bool
}

type versionCommand struct{}

// Run implements the command.
func (versionCommand) Run(s *streams) error {
	_, err := fmt.Fprintln(s.out, "millrace", version)
	return err
}

func main() {
	// The zone of the process is UTC whatever TZ says, so that times mean the same on every machine.
	time.Local = time.UTC
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Environ(), &streams{os.Stdout, os.Stderr, isTerminal(os.Stderr)}))
}

// flagsElsewhere are flags of other servers → ours.
var flagsElsewhere = map[string]string{"port": "listen", "host": "listen", "bind": "listen", "address": "listen", "http-port": "http", "datadir": "data-dir"}

// flagMeant names our flag in the place of one that other servers have, and says why the demo lacks one of serve; kong itself finds those that are misspelled.
func flagMeant(args []string, message string) string {
	if slices.Contains(args, "demo") && strings.HasPrefix(message, "unknown flag --data-dir") {
		return ": the demo keeps nothing; millrace serve --data-dir DIR keeps what it is given"
	}
	for theirs, ours := range flagsElsewhere {
		if name, _, _ := strings.Cut(strings.TrimPrefix(message, "unknown flag --"), ","); name == theirs && !strings.Contains(message, "did you mean") {
			return ", did you mean \"--" + ours + "\"?"
		}
	}
	return ""
}

// run parses the command line, runs the command and gives the exit code: 0, or 1 with the reason on the error stream.
func run(ctx context.Context, args, environ []string, s *streams) (code int) {
	var c cli
	exited := false
	parser, err := kong.New(&c, kong.Name("millrace"), kong.Description(about), kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Writers(s.out, s.err), kong.Exit(func(n int) { exited, code = true, n }), kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(s),
		kong.Bind(environment(environ)))
	switch {
	case len(args) == 0: // a stranger's first call
		args = []string{"--help"}
	case args[0] == "help":
		args = append(slices.Clone(args[1:]), "--help")
	case len(args) == 1 && args[0] == "--version":
		args = []string{"version"}
	}
	if err == nil {
		var parsed *kong.Context
		if parsed, err = parser.Parse(args); exited {
			return code
		}
		if err == nil {
			err = parsed.Run()
		}
	}
	var failed *kong.ParseError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &failed):
		fmt.Fprintf(s.err, "millrace: %v%s\n(millrace --help lists commands and flags)\n", err, flagMeant(args, err.Error()))
	default:
		fmt.Fprintf(s.err, "millrace: %v\n", err)
	}
	return 1
}
