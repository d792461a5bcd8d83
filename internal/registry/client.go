package registry

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/sr"

	"millrace/internal/sqlerr"
)

// Latest stands for a subject's newest version.
const Latest = -1

// Client asks one registry. It is safe for use by several goroutines.
type Client struct {
	config    Config
	urls      []*sr.Client
	transport *http.Transport

	base    context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	byID      flights[id, *Schema]
	bySubject flights[version, *Schema]

	mu     sync.Mutex
	ids    map[id]*Schema
	known  map[version]*Schema // never of Latest
	absent map[id]time.Time    // until when an id counts as unknown
	first  int                 // the URL that answered last
	// silent is the error of a registry that did not answer in time, and silentUntil for how long nobody waits for it again.
	silent      error
	silentUntil time.Time
}

// id names a schema: by number, or by guid where that is not empty.
type id struct {
	number int
	guid   string
}

// version is one of a subject.
type version struct {
	subject string
	number  int
}

const (
	// absentFor is how long an id that the registry does not know is not asked for again: a schema may be registered after a record was met that
	// names it, and a topic full of wrong ids must not become a flood of requests.
	absentFor = 5 * time.Second
	// silentFor is how long a registry that let somebody wait in vain is not asked again: a statement may ask several times, and there are many statements.
	silentFor = 5 * time.Second
	// maxAbsent and maxKnown bound the caches: ids come from records.
	maxAbsent = 10_000
	maxKnown  = 10_000

	firstPause = 50 * time.Millisecond
	maxPause   = 2 * time.Second
	// soonFor bounds the tries for what hardly passes. A statement may ask twice, and somebody waits for its error.
	soonFor = 2 * time.Second
)

// New makes a client. Nothing is asked before it is needed. The errors are kinds for wrong options.
func New(config Config) (*Client, error) {
	config, err := config.complete()
	if err != nil {
		return nil, err
	}
	c := &Client{config: config, ids: map[id]*Schema{}, known: map[version]*Schema{}, absent: map[id]time.Time{}}
	httpClient, transport := config.httpClient()
	c.transport = transport
	for _, u := range config.URLs {
		options := []sr.ClientOpt{sr.URLs(u), sr.HTTPClient(httpClient), sr.UserAgent("millrace")}
		if config.User != "" {
			options = append(options, sr.BasicAuth(config.User, config.Password))
		}
		if config.Token != "" {
			options = append(options, sr.BearerToken(config.Token))
		}
		one, err := sr.NewClient(options...)
		if err != nil {
			return nil, fmt.Errorf("schema registry client: %w", err)
		}
		c.urls = append(c.urls, one)
	}
	c.base, c.cancel = context.WithCancel(context.Background())
	return c, nil
}

// Close ends running requests, waits for them, and closes connections. Nothing else may be called from then on, but Close again.
func (c *Client) Close() {
	c.cancel()
	c.running.Wait()
	c.transport.CloseIdleConnections()
}

// URL is the base URL that is asked first, without credentials.
func (c *Client) URL() string { return c.config.URLs[0] }

// SchemaByID returns the schema with an id, with its references. *UnknownID means that there is none. Schemas are kept for good.
func (c *Client) SchemaByID(ctx context.Context, number int) (*Schema, error) {
	return c.schema(ctx, id{number: number}, func(ctx context.Context, at *sr.Client) (sr.Schema, error) { return at.SchemaByID(ctx, number) })
}

// SchemaByGUID is SchemaByID for the GUID of a schema, in the form 8-4-4-4-12 of hexadecimal digits. The Schema's ID is 0: a schema of a GUID has one in each context of a registry.
func (c *Client) SchemaByGUID(ctx context.Context, guid string) (*Schema, error) {
	return c.schema(ctx, id{guid: guid}, func(ctx context.Context, at *sr.Client) (sr.Schema, error) {
		got, err := at.SchemaByGUID(ctx, guid)
		return got.Schema, err
	})
}

// noGUIDs is the error of a registry that does not know schemas by GUID: it says nothing about the one that was asked for.
func (c *Client) noGUIDs(err error) error {
	return sqlerr.New(sqlerr.RegistryProtocol, "schema registry '%s' does not know schemas by GUID", c.URL()).WithCause(err).
		WithHint("records name their schema by GUID in a header, which takes a registry that has /schemas/guids, or serializers that write ids")
}

// schema gives the schema of an id, asked for with request once.
func (c *Client) schema(ctx context.Context, which id, request func(context.Context, *sr.Client) (sr.Schema, error)) (*Schema, error) {
	c.mu.Lock()
	s, until := c.ids[which], c.absent[which]
	c.mu.Unlock()
	if s != nil {
		return s, nil
	}
	if time.Now().Before(until) {
		return nil, &UnknownID{which.number, which.guid}
	}
	return c.byID.do(ctx, c.base, &c.running, which, func(ctx context.Context) (*Schema, error) {
		ctx, cancel := context.WithTimeout(ctx, c.config.Patience)
		defer cancel()
		got, err := ask(ctx, c, request)
		var none *missing
		var other *sqlerr.Error
		switch absent := errors.As(err, &none); {
		case which.guid != "" && (absent && none.path || errors.As(err, &other) && other.Kind == sqlerr.RegistryProtocol):
			return nil, c.noGUIDs(err)
		case absent:
			c.mu.Lock()
			if len(c.absent) >= maxAbsent {
				clear(c.absent)
			}
			c.absent[which] = time.Now().Add(absentFor)
			c.mu.Unlock()
			return nil, &UnknownID{which.number, which.guid}
		case err != nil:
			return nil, err
		}
		s := &Schema{ID: which.number, Type: typeOf(got.Type), Text: got.Schema}
		if s.References, err = c.references(ctx, got.References); err != nil {
			return nil, err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.ids) >= maxKnown {
			clear(c.ids)
		}
		c.ids[which] = s
		return s, nil
	})
}

// SchemaOf returns a version of a subject, with its references; number Latest is the newest, which is asked for each time. A subject or version that does
// not exist is an error of kind RegistryNotFound.
func (c *Client) SchemaOf(ctx context.Context, subject string, number int) (*Schema, error) {
	v := version{subject, number}
	c.mu.Lock()
	s := c.known[v]
	c.mu.Unlock()
	if s != nil {
		return s, nil
	}
	return c.bySubject.do(ctx, c.base, &c.running, v, func(ctx context.Context) (*Schema, error) {
		ctx, cancel := context.WithTimeout(ctx, c.config.Patience)
		defer cancel()
		got, err := c.version(ctx, v)
		if err != nil {
			return nil, err
		}
		s := &Schema{ID: got.ID, Type: typeOf(got.Type), Text: got.Schema.Schema, Subject: subject, Version: got.Version}
		if s.References, err = c.references(ctx, got.References); err != nil {
			return nil, err
		}
		if number != Latest {
			c.mu.Lock()
			defer c.mu.Unlock()
			if len(c.known) >= maxKnown {
				clear(c.known)
			}
			c.known[v] = s
		}
		return s, nil
	})
}

// version asks for one version of a subject, without its references.
func (c *Client) version(ctx context.Context, v version) (sr.SubjectSchema, error) {
	got, err := ask(ctx, c, func(ctx context.Context, at *sr.Client) (sr.SubjectSchema, error) {
		return at.SchemaByVersion(ctx, v.subject, v.number)
	})
	var none *missing
	if errors.As(err, &none) {
		which := fmt.Sprintf("version %d of subject '%s'", v.number, v.subject)
		if v.number == Latest {
			which = fmt.Sprintf("subject '%s'", v.subject)
		}
		return got, sqlerr.New(sqlerr.RegistryNotFound, "schema registry '%s' has no %s", c.URL(), which).WithCause(err).
			WithHint("schema_registry_subjects(…) lists the subjects; a topic's values are by default under its name and '-value'")
	}
	return got, err
}

// Register makes sure that a subject has a schema, and returns its id. One that is there already keeps its id; one that the subject's rules for compatibility do
// not allow is an error of kind RegistryRefused.
func (c *Client) Register(ctx context.Context, subject string, t Type, text string) (int, error) {
	kind := sr.TypeAvro
	switch t {
	case JSONSchema:
		kind = sr.TypeJSON
	case Protobuf:
		kind = sr.TypeProtobuf
	}
	var refused *sr.ResponseError
	id, err := asking(ctx, c, func(ctx context.Context, at *sr.Client) (int, error) {
		id, err := at.RegisterSchema(ctx, subject, sr.Schema{Schema: text, Type: kind}, -1, -1)
		if errors.As(err, &refused) && (refused.StatusCode == http.StatusConflict || refused.StatusCode == http.StatusUnprocessableEntity) {
			return 0, nil // an answer, which another try would not change
		}
		refused = nil
		return id, err
	})
	if refused != nil {
		return 0, sqlerr.New(sqlerr.RegistryRefused, "schema registry '%s' does not take the schema for subject '%s': %s", c.URL(), subject, refused.Message).WithCause(refused)
	}
	return id, err
}

// Subjects lists the subjects.
func (c *Client) Subjects(ctx context.Context) ([]string, error) {
	return asking(ctx, c, func(ctx context.Context, at *sr.Client) ([]string, error) { return at.Subjects(ctx) })
}

// Versions lists the versions of a subject, the oldest first.
func (c *Client) Versions(ctx context.Context, subject string) ([]int, error) {
	return asking(ctx, c, func(ctx context.Context, at *sr.Client) ([]int, error) { return at.SubjectVersions(ctx, subject) })
}

// Compatibility is the level of compatibility that the registry keeps for a subject, its own or the registry's, such as BACKWARD.
func (c *Client) Compatibility(ctx context.Context, subject string) (string, error) {
	return asking(ctx, c, func(ctx context.Context, at *sr.Client) (string, error) {
		for _, s := range []string{subject, sr.GlobalSubject} {
			results := at.Compatibility(sr.WithParams(ctx, sr.DefaultToGlobal), s)
			if len(results) != 1 {
				return "", errors.New("no compatibility in the answer")
			}
			var answer *sr.ResponseError
			if errors.As(results[0].Err, &answer) && answer.StatusCode == http.StatusNotFound && s != sr.GlobalSubject {
				continue // a subject without a level of its own, at a registry that does not know the parameter
			}
			return results[0].Level.String(), results[0].Err
		}
		return "", nil
	})
}

// asking is ask with the patience of the configuration, for what is not cached, and with an error for what does not exist.
func asking[V any](ctx context.Context, c *Client, request func(context.Context, *sr.Client) (V, error)) (V, error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.Patience)
	defer cancel()
	v, err := ask(ctx, c, request)
	var none *missing
	if errors.As(err, &none) {
		err = sqlerr.New(sqlerr.RegistryNotFound, "schema registry '%s': %s", c.URL(), none).WithCause(err)
	}
	return v, err
}

// ask sends a request as try does, unless the registry has just let others wait in vain.
func ask[V any](ctx context.Context, c *Client, request func(context.Context, *sr.Client) (V, error)) (v V, err error) {
	c.mu.Lock()
	first, silent := c.first, c.silent
	if silent != nil && time.Now().After(c.silentUntil) {
		c.silent, silent = nil, nil
	}
	c.mu.Unlock()
	if silent != nil {
		return v, silent
	}
	begin := time.Now()
	v, err = try(ctx, c, first, request)
	if sqlerr.HasKind(err, sqlerr.RegistryTimeout) && time.Since(begin) >= c.config.Timeout { // else the statement had less time
		err = c.wasSilent(err)
	}
	return v, err
}

// try sends a request until a URL answers it or ctx ends, beginning with one of the URLs: once at each, then again after a pause that grows.
func try[V any](ctx context.Context, c *Client, first int, request func(context.Context, *sr.Client) (V, error)) (v V, err error) {
	wait, begin := firstPause, time.Now()
	hopeful := false // a URL of this round may answer later
	for n := 0; ; n++ {
		at := (first + n) % len(c.urls)
		var tried error
		if v, tried = request(ctx, c.urls[at]); tried == nil {
			c.mu.Lock()
			c.first = at
			c.mu.Unlock()
			return v, nil
		}
		switch ended := context.Cause(ctx); {
		case ended == nil:
		case !errors.Is(ended, context.DeadlineExceeded):
			return v, ended
		case err == nil:
			return v, silence(c.config.URLs[at]).WithCause(tried)
		default: // what went wrong before says more than that there was no time left
			return v, err
		}
		next, judged := judge(c.config.URLs[at], tried)
		if err = judged; next == final {
			return v, err
		}
		hopeful = hopeful || next == again
		if at != (first+len(c.urls)-1)%len(c.urls) {
			continue // the next URL at once
		}
		if !hopeful && time.Since(begin) >= soonFor {
			return v, err
		}
		hopeful = false
		if pause(ctx, wait/2+rand.N(wait)) != nil {
			return v, err
		}
		wait = min(2*wait, maxPause)
	}
}

// wasSilent is the error of a registry that takes requests and does not answer; who asks soon gets it at once.
func (c *Client) wasSilent(cause error) error {
	err := sqlerr.New(sqlerr.RegistryTimeout, "schema registry '%s' does not answer within %s", c.URL(), c.config.Patience).WithCause(cause).
		WithHint("'schemaRegistryTimeout' allows more time; no record was judged bad")
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silent, c.silentUntil = err, time.Now().Add(silentFor)
	return err
}
