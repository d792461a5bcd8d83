package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"millrace/server"
)

type queryCommand struct {
	engineFlags
	SQL     string `arg:"" optional:"" name:"sql" help:"Statements to run; several are separated by semicolons."`
	File    string `short:"f" help:"File with the statements, - for the standard input." placeholder:"FILE"`
	Format  string `help:"table, csv, json, jsonl or vertical." enum:"table,csv,json,jsonl,vertical" default:"table"`
	DataDir string `help:"Folder of a stopped server, to use its databases and views. Default: none." placeholder:"DIR"`
}

// Help is shown by millrace query --help.
func (queryCommand) Help() string {
	return `Examples:

  millrace query "SELECT count(*) FROM read_kafka(bootstrapServers => 'broker:9092', subscribe => 'orders')"
  millrace query --format jsonl -f report.sql > report.jsonl

With several statements, json writes an array for each result, one after the other; jsonl writes the rows of all.

Without --data-dir nothing is kept: a table, view or user is there for the statements that follow. What was made in vain is named in a warning at the end.

The exit code is 1 when a statement fails; statements after it are not run. Errors and warnings go to the error stream. So does a
line that shows progress, when that is a terminal.`
}

// Run implements the command.
func (c *queryCommand) Run(ctx context.Context, s *streams) (err error) {
	text, err := c.text()
	if err != nil {
		return err
	}
	cfg, err := c.config()
	if err != nil {
		return err
	}
	cfg.DataDir = c.DataDir
	srv, err := server.Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.Close()) }()
	stdout, stderr := s.out, s.err
	if s.terminal {
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		bar := startProgress(s.err, tick.C, srv.Progress)
		defer bar.close()
		stderr = bar.above(s.err)
		if f, ok := s.out.(*os.File); ok && isTerminal(f) {
			stdout = bar.above(s.out)
		}
	}
	out := bufio.NewWriterSize(stdout, 64<<10)
	// What came before an error is shown.
	defer func() { err = errors.Join(err, out.Flush()) }()
	return srv.Query(ctx, text, newSink(c.Format, out, stderr))
}

func (c *queryCommand) text() (string, error) {
	switch {
	case c.SQL != "" && c.File != "":
		return "", errors.New("give statements or '-f', not both")
	case c.SQL != "":
		return c.SQL, nil
	case c.File == "":
		return "", errors.New(`nothing to run: millrace query "SELECT …", or -f FILE`)
	case c.File == "-":
		data, err := io.ReadAll(os.Stdin)
		return string(data), err
	default:
		data, err := os.ReadFile(c.File)
		if err != nil {
			err = fmt.Errorf("'-f': %w", err)
		}
		return string(data), err
	}
}
