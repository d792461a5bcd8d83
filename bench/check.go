package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
)

// tolerated is how far a ratio may surely fall below the recorded one.
const tolerated = 0.9

// runCheck is `bench check`: it measures again what is recorded and fails when something has surely become slower, which is when the 95 % interval
// of the paired ratios lies below 0.9 of the recorded one.
func runCheck(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("check", flag.ExitOnError)
	recorded := fs.String("recorded", "bench/results/latest.json", "what to compare with")
	c := config{only: map[string]bool{}, slopes: false}
	fs.StringVar(&c.binary, "binary", "bin/millrace", "the server")
	fs.StringVar(&c.out, "out", ".build/bench/check", "report, without extension")
	fs.IntVar(&c.pairs, "pairs", 0, "alternating pairs, 0 for as many as recorded")
	fs.Float64Var(&c.seconds, "seconds", 3, "length of a closed loop of P15")
	only := fs.String("only", "", "comma list of measurements; empty for all that are recorded")
	if err := fs.Parse(args); err != nil {
		return err
	}
	b, err := os.ReadFile(*recorded)
	if err != nil {
		return err
	}
	var old report
	if err := json.Unmarshal(b, &old); err != nil {
		return fmt.Errorf("%s: %w", *recorded, err)
	}
	if old.Records == 0 {
		return fmt.Errorf("%s does not say with how many records it was made", *recorded)
	}
	c.records, c.kafka = old.Records, strings.Contains(old.Command, "-kafka")
	if c.pairs == 0 {
		c.pairs = old.Pairs
	}
	for _, m := range old.Measurements {
		if *only == "" {
			c.only[m.ID] = true
		}
	}
	c.choose(*only)
	now := newReport(&c)
	if err := c.measure(ctx, now); err != nil {
		return err
	}
	if err := now.write(c.out); err != nil {
		return err
	}
	return old.check(now)
}

// check compares a new report with this one.
func (r *report) check(now *report) error {
	var failed []error
	for i := range now.Measurements {
		m := &now.Measurements[i]
		old := r.find(m)
		if old == nil {
			fmt.Printf("new       %s %s, %s\n", m.ID, m.Title, m.Variant)
			continue
		}
		text, slower := compare(old, m)
		if slower {
			failed = append(failed, errors.New(text))
			fmt.Println("SLOWER   ", text)
		} else {
			fmt.Println("ok       ", text)
		}
	}
	return errors.Join(failed...)
}

// find is the same measurement in this report.
func (r *report) find(m *measurement) *measurement {
	for i := range r.Measurements {
		if o := &r.Measurements[i]; o.ID == m.ID && o.Title == m.Title && o.Variant == m.Variant && o.Against == m.Against && o.Records == m.Records {
			return o
		}
	}
	return nil
}

// compare tells both ratios and whether now is surely slower. A measurement whose bar is one of CPU is compared by CPU.
func compare(old, now *measurement) (text string, slower bool) {
	was, is := old.ratios(), now.ratios()
	if now.CPUBar > 0 {
		was, is = old.cpuRatios(), now.cpuRatios()
	}
	low, high := interval(is)
	limit := tolerated * middle(was)
	return fmt.Sprintf("%s %s, %s against %s: %.2f× (95 %%: %.2f-%.2f), recorded %.2f×", now.ID, now.Title, now.Variant, now.Against, middle(is), low, high, middle(was)), high < limit
}
