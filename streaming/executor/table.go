package executor

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"millrace/internal/column"
	"millrace/internal/kafka"
	"millrace/internal/scan"
	"millrace/internal/sqlerr"
	"millrace/streaming/checkpoint"
	"millrace/streaming/schedule"
	"millrace/streaming/store"
)

// Config is what a Table needs.
type Config struct {
	// Name is for the log and for messages, which call the table a Noun: TableNoun unless it is given.
	Name, Noun string
	// ID is the table in the store; ErrorsID, which it owns, takes its bad records.
	ID, ErrorsID store.TableID
	Store        store.Store
	// Owner is who holds leases in this process: a name that no other process has.
	Owner string
	Pool  *kafka.Pool
	// Compile makes the query; it is called when the table begins to run, and again after a fault.
	Compile func(ctx context.Context) (Query, error)
	// Evolve makes the definition and the table in the store have the columns of the newest schema; Compile then does, too. It is called by the owner. nil where nothing evolves.
	Evolve   func(ctx context.Context) error
	Settings Settings
	// Paused tables wait for Resume. Held says why, where nobody has paused the table.
	Paused bool
	Held   error
	// Refreshes is how many refreshes were asked for before. A table that reads in runs knows from the store which of them are through.
	Refreshes int64
	Log       *slog.Logger
	// Active counts tables of the process that are caught up and get records; commits are spaced by it. It may be nil.
	Active *Pace
	// Clock is that of schedules, nil for the machine's.
	Clock Clock
	// Retry is the longest wait between two attempts (30 s); TruncatedAfter is for how long a log may end before the table's position until that is a loss (30 s).
	Retry, TruncatedAfter time.Duration
}

// Table is a streaming table that runs. Its methods may be called from any goroutine.
type Table struct {
	Config
	name string
	log  *slog.Logger

	cancel context.CancelFunc
	done   chan struct{}
	// wake holds a token when what the table shall do has changed.
	wake chan struct{}

	asking sync.Mutex // held while brokers are asked for idle

	unwritten unwritten

	mu       sync.Mutex
	settings Settings
	paused   bool
	held     error
	// wanted counts refreshes that were asked for; served is how many of them are through, of a manual table.
	wanted, served int64
	// looked is how many of the refreshes that were asked for came before the owner last learned, without an error, what the topics hold.
	looked int64
	// holder has the table's lease, as far as that is known; "" for nobody. waiting counts those who wait for a change.
	holder  string
	waiting int
	// theirs is what another server that had the lease said last.
	theirs    told
	state     State
	reason    string
	stateErr  error
	since     time.Time
	loaded    bool
	positions map[store.Partition]store.Position // replaced, never changed
	ends      map[store.Partition]int64          // nil when they are not known
	newest    map[store.Partition]int64
	totals    totals
	written   int64      // rows of all batches
	tallies   []Tally    // of the table's expectations, since it is empty
	history   []Progress // the newest, of which the one at oldest is replaced next
	oldest    int
	mirrored  Mirrored
	// commits and fresh are Latencies.
	commits, fresh Histogram
	idle           logBounds
	// evolves says that the next to compile a query of a table that stops for columns takes the newest.
	evolves   bool
	changed   chan struct{} // closed when any of these changes
	interrupt context.CancelFunc
	// run is the run that is under way, and runBatches the number of batches before it; runs is the last one that has ended. due is when the schedule has the next.
	run        Run
	runBatches int64
	runs       runRecord
	due        time.Time

	// What follows belongs to the owner.
	lease  store.Lease
	number int64 // of the last commit
	// standing says that another server had the table a moment ago, and read is the number of the last event that was read from the store meanwhile.
	standing bool
	read     int64
	// said is the state that was last put into the table's log.
	said   State
	schema *store.Schema
	record record
	// output takes the rows of a flow while it works, nil for a table.
	output Output
	// rows are those of the batch that is computed, flown those of the one whose commit goes on meanwhile (flight.go).
	rows, flown column.Batch
	columns     []column.Field // of the query
	checker     checker
	quality     quality
	badLog      badLog
	fields      []scan.Field // to gather
	request     scan.Request // what the query asks of a source
	// followed is what the query says of newer schemas.
	followed Evolution
	// perRow is about how many bytes the rows of one offset take.
	perRow float64
	// truncated is since when a log ends before the table's position.
	truncated time.Time
	lastBatch time.Time
	// armed is the schedule that due is of, seen when the clock was looked at last. polled is when a schedule that wants something new may look again.
	armed  *schedule.Schedule
	seen   time.Time
	polled time.Time
	// madeUp is the due time of the run that was last looked at for what was missed before it. passed counts skipped runs that the log does not have yet, which passNoted is about.
	madeUp    time.Time
	passed    int
	passNoted time.Time
}

type totals struct {
	batches, rows, records, bytes, bad int64
	last                               time.Time
}

// New makes a table that does nothing until Start.
func New(c Config) *Table {
	if c.Retry <= 0 {
		c.Retry = 30 * time.Second
	}
	if c.TruncatedAfter <= 0 {
		c.TruncatedAfter = 30 * time.Second
	}
	if c.Clock == nil {
		c.Clock = wall{}
	}
	if c.Noun == "" {
		c.Noun = TableNoun
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	t := &Table{Config: c, name: c.Name, log: c.Log, done: make(chan struct{}), wake: make(chan struct{}, 1), changed: make(chan struct{}), settings: c.Settings.withDefaults(), wanted: c.Refreshes, served: c.Refreshes,
		paused: c.Paused, held: c.Held, commits: newHistogram(commitBounds), fresh: newHistogram(freshBounds), evolves: true, state: Starting, since: time.Now(), newest: map[store.Partition]int64{}}
	if c.Paused {
		t.state, t.stateErr = Paused, c.Held
		if c.Held != nil {
			t.reason = c.Held.Error()
		}
	}
	return t
}

// Start starts the owner. It is called once.
func (t *Table) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	t.cancel = cancel
	go func() {
		defer close(t.done)
		t.own(ctx)
	}()
}

// Stop ends the owner and waits for it. A commit under way is finished, anything else dropped. It may be called again.
func (t *Table) Stop() {
	if t.cancel == nil {
		return
	}
	t.cancel()
	<-t.done
}

// Stopped reports whether the table was stopped.
func (t *Table) Stopped() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// command changes what the table shall do, and makes the owner look.
func (t *Table) command(change func()) {
	t.mu.Lock()
	change()
	interrupt := t.interrupt
	t.mu.Unlock()
	if interrupt != nil {
		interrupt()
	}
	signal(t.wake)
}

// PauseSoon stops reading. It does not wait.
func (t *Table) PauseSoon() { t.command(func() { t.paused, t.held = true, nil }) }

// Pause stops reading, and returns when the owner has stopped.
func (t *Table) Pause(ctx context.Context) error {
	t.PauseSoon()
	for {
		now := t.watch()
		if now.state == Paused {
			return nil
		}
		if err := t.wait(ctx, now); err != nil {
			return err
		}
	}
}

// Resume goes on after a pause, or after a failure.
func (t *Table) Resume() {
	t.command(func() {
		t.paused, t.held, t.evolves = false, nil, true
		t.retried()
		t.state, t.reason, t.stateErr, t.since = Starting, "", nil, time.Now()
	})
}

// Set changes the settings.
func (t *Table) Set(s Settings) { t.command(func() { t.settings = s.withDefaults() }) }

// wait waits for a change of what was seen, or for the end of ctx or of the table, which is an error.
func (t *Table) wait(ctx context.Context, since seen) error {
	t.mu.Lock()
	t.waiting++
	stands := t.holder != "" && t.holder != t.Owner
	t.mu.Unlock()
	if stands {
		signal(t.wake) // it looks more often now
	}
	defer func() {
		t.mu.Lock()
		t.waiting--
		t.mu.Unlock()
	}()
	select {
	case <-since.changed:
		return nil
	case <-t.done:
		return sqlerr.New(sqlerr.ServerGone, "%s '%s' was stopped", t.Noun, t.name)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Await waits until the table has read up to target, offset by offset of each partition, and has looked at its topics since the refresh of that number, 0 for
// none: positions beyond the target may be those of a topic that is gone. A table that fails, is paused, or is stopped, is an error.
func (t *Table) Await(ctx context.Context, refresh int64, target map[store.Partition]int64) error {
	for {
		now := t.watch()
		if now.positions != nil && now.looked >= refresh && checkpoint.Reached(now.positions, target) {
			return nil
		}
		switch now.state {
		case Failed:
			return now.err
		case Paused:
			return sqlerr.New(sqlerr.TableState, "%s '%s' is paused", t.Noun, t.name).WithHint("ALTER %s … RESUME lets it read on", strings.ToUpper(t.Noun))
		}
		if err := t.wait(ctx, now); err != nil {
			return err
		}
	}
}

// Refresh makes a manual table read what there is now, and any other look at its topics, also when it has failed. It does not wait. n is the number of the refresh, for
// Await: they count up over all servers.
func (t *Table) Refresh(n int64) {
	t.command(func() {
		t.wanted, t.evolves = max(t.wanted, n), true
		t.retried()
		if t.state == Failed {
			t.state, t.reason, t.stateErr, t.since = Starting, "", nil, time.Now()
		}
	})
}

// Progress lists the newest batches, oldest first.
func (t *Table) Progress() []Progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Concat(t.history[t.oldest:], t.history[:t.oldest])
}

func sortPartitions(list []PartitionStatus) {
	slices.SortFunc(list, func(a, b PartitionStatus) int {
		return cmp.Or(strings.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition.Partition, b.Partition.Partition))
	})
}

// applied takes a commit over into what others see.
func (t *Table) applied(st step, p Progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.positions = checkpoint.Apply(t.positions, st.moves)
	for part, ms := range st.newest {
		t.newest[part] = max(t.newest[part], ms)
	}
	t.commits.observe(p.Duration.Commit)
	if st.oldest > 0 {
		t.fresh.observe(time.Since(time.UnixMilli(st.oldest)))
	}
	t.totals.batches++
	t.totals.rows += p.Rows
	t.totals.records += p.Records
	t.totals.bytes += p.Bytes
	t.totals.bad += p.Bad
	t.totals.last = time.Now()
	if len(t.history) < historySize {
		t.history = append(t.history, p)
	} else {
		t.history[t.oldest] = p
		t.oldest = (t.oldest + 1) % historySize
	}
	t.tallies, t.written = slices.Clone(t.record.Expectations), t.record.Rows
	close(t.changed)
	t.changed = make(chan struct{})
}

// historySize is how many batches Progress lists.
const historySize = 32

// position gives where the table is.
func (t *Table) position() map[store.Partition]store.Position {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.positions
}

func (t *Table) setting() Settings {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.settings
}

// restore learns from the store where the table is. Only the owner calls it.
func (t *Table) restore(ctx context.Context) error {
	c, err := t.Store.Checkpoint(ctx, t.ID)
	if err != nil {
		return err
	}
	if err := t.record.decode(c.Progress); err != nil {
		return err
	}
	t.number = c.Number
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tallies, t.written, t.runs = slices.Clone(t.record.Expectations), t.record.Rows, t.record.Run
	if t.settings.Manual && t.record.Loaded {
		t.loaded, t.served = true, t.record.Served
	}
	if t.record.Last > 0 {
		t.totals.last = time.UnixMilli(t.record.Last)
	}
	t.positions = maps.Clone(c.Positions)
	if t.positions == nil {
		t.positions = map[store.Partition]store.Position{}
	}
	return nil
}
