package server

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dolthub/go-mysql-server/sql"

	"millrace/internal/memory"
	"millrace/internal/scan"
)

// scanLog knows the scans that run and the last ones that ended. information_schema.kafka_scans, SHOW PROCESSLIST and the progress bar show it.
type scanLog struct {
	mu      sync.Mutex
	last    uint64
	running map[*observed]bool
	// ended is a ring: the oldest is at next once it is full.
	ended []scanRecord
	next  int
}

// scansKept is the number of ended scans that are remembered.
const scansKept = 256

// scanRecord is what is known of a scan.
type scanRecord struct {
	id         uint64
	connection uint32
	statement  uint64
	user       string
	// topics are the names of those that it reads, with commas between them.
	topics string
	// endless is set for a STREAM: there is no end to measure progress by.
	endless  bool
	state    scanState
	started  time.Time
	finished time.Time // zero while it runs
	stats    scan.Stats
	// memory is what the scan holds now, peak the most that it held, spilled what it wrote to disk for want of more.
	memory, peak, spilled int64
	// badRecords, badFields and dropped are what was met of bad data.
	badRecords, badFields, dropped int64
	err                            string
}

// scanState is how far a scan has come.
type scanState string

const (
	scanPlanned   scanState = "planned"   // what it reads is fixed
	scanRunning   scanState = "running"   // it reads
	scanFinished  scanState = "finished"  // all was read, or as much as its LIMIT wanted
	scanStopped   scanState = "stopped"   // the statement needed no more
	scanCancelled scanState = "cancelled" // the statement was killed, timed out, or its client went away
	scanFailed    scanState = "failed"
)

// observed is a scan that is in the log of scans, and that is counted when it ends.
type observed struct {
	scan.Source
	engine    *engine
	held      *memory.Budget
	faults    *scan.Faults
	statement context.Context
	once      sync.Once

	mu     sync.Mutex // guards record
	record scanRecord
}

// observe puts a scan into the log and counts what it reads: for the process, and for the session whose statement it belongs to.
func (e *engine) observe(ctx *sql.Context, src scan.Source, req scan.Request) scan.Source {
	e.metrics.scans.running.Inc()
	o := &observed{Source: src, engine: e, held: req.Memory, faults: req.Faults, statement: ctx.Context, record: scanRecord{
		connection: ctx.Session.ID(), statement: ctx.Pid(), user: ctx.Session.Client().User, topics: topicsOf(src.Splits()), state: scanPlanned, started: time.Now(),
		endless: slices.ContainsFunc(src.Splits(), func(s scan.Split) bool { return s.Range.To == math.MaxInt64 }),
	}}
	l := &e.scans
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	o.record.id = l.last
	if l.running == nil {
		l.running = map[*observed]bool{}
	}
	l.running[o] = true
	return o
}

// topicsOf names the topics of splits, some of them where there are many.
func topicsOf(splits []scan.Split) string {
	const most = 10
	var names []string
	for _, s := range splits {
		if n := len(names); n == 0 || names[n-1] != s.Topic {
			names = append(names, s.Topic)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ",")
}

// Run implements scan.Source.
func (o *observed) Run(ctx context.Context, newSink func(lane int) (scan.Sink, error)) error {
	o.set(scanRunning, nil)
	err := o.Source.Run(ctx, newSink)
	switch {
	case err == nil:
		o.set(scanFinished, nil)
	case o.statement.Err() != nil:
		o.set(scanCancelled, context.Cause(o.statement))
	case ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx))):
		o.set(scanStopped, nil)
	default:
		o.set(scanFailed, err)
	}
	return err
}

// longestScanError bounds the text of an error in the log: it may quote a record.
const longestScanError = 500

func scanError(err error) string {
	text := firstLine(err.Error())
	if r := []rune(text); len(r) > longestScanError {
		text = string(r[:longestScanError]) + "…"
	}
	return text
}

func (o *observed) set(state scanState, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.record.state != scanFailed { // else the statement has failed before it, and it ends for that
		o.record.state = state
		if err != nil {
			o.record.err = scanError(err)
		}
	}
	if state != scanRunning {
		o.record.finished = time.Now()
	}
}

// Close implements scan.Source.
func (o *observed) Close() {
	o.once.Do(func() {
		e := o.engine
		r := o.now()
		if r.finished.IsZero() { // it never ran
			r.state, r.finished = scanStopped, time.Now()
		}
		e.metrics.scans.add(r.stats, r.peak)
		e.metrics.scans.addFaults(o.faults)
		if x, ok := e.sessions.Load(r.connection); ok {
			x.(*session).scanned.add(r.statement, r.stats)
		}
		e.scans.end(o, r)
	})
	o.Source.Close()
}

// now is the record with the present counts.
func (o *observed) now() scanRecord {
	o.mu.Lock()
	defer o.mu.Unlock()
	r := o.record
	r.stats = o.Source.Stats()
	r.memory, r.peak, r.spilled = o.held.Used(), o.held.Peak(), o.held.Spilled()
	for _, format := range o.faults.Formats() {
		f := o.faults.Of(format)
		r.badRecords += f.Records.Load()
		r.badFields += f.Fields.Load()
		r.dropped += f.Dropped.Load()
	}
	return r
}

func (l *scanLog) end(o *observed, r scanRecord) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.running, o)
	if len(l.ended) < scansKept {
		l.ended = append(l.ended, r)
		return
	}
	l.ended[l.next] = r
	l.next = (l.next + 1) % scansKept
}

// fail notes that a statement failed. Its scans failed too, though they may know only that nobody wants more of them.
func (l *scanLog) fail(statement uint64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.ended {
		l.ended[i].fail(statement, err)
	}
	for o := range l.running {
		o.mu.Lock()
		o.record.fail(statement, err)
		o.mu.Unlock()
	}
}

func (r *scanRecord) fail(statement uint64, err error) {
	if r.statement == statement && r.state != scanFailed && r.state != scanCancelled {
		r.state, r.err = scanFailed, scanError(err)
	}
}

// list gives the scans that which selects, the oldest first.
func (l *scanLog) list(which func(*scanRecord) bool) []scanRecord {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []scanRecord
	for i := range l.ended {
		if which(&l.ended[i]) {
			out = append(out, l.ended[i])
		}
	}
	for o := range l.running {
		if r := o.now(); which(&r) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b scanRecord) int { return int(int64(a.id) - int64(b.id)) })
	return out
}
