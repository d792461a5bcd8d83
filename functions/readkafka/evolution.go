package readkafka

import (
	"context"
	"maps"

	"millrace/internal/decode"
	"millrace/internal/decode/ddl"
	"millrace/internal/decode/framed"
	"millrace/internal/registry"
	"millrace/internal/sqlerr"
)

// The columns of a streaming table are those of one version of a subject in a schema registry, or those that a sample of the records had, for as long as the table has them: a plan that
// is made again, after a restart say, must not have others because somebody has registered a schema meanwhile, or because the first records are gone. So whoever plans such a query hands in
// what was found before, and is told what was used.

// Schemas are the versions of subjects that a query takes its columns of, and the columns that samples had. They belong to one plan.
type Schemas struct {
	pinned, used map[string]int
	samples      map[string]string
}

// NewSchemas makes plans use these versions of subjects, and these columns in the place of samples; other subjects are taken as they are now, and other samples are read.
func NewSchemas(pinned map[string]int, samples map[string]string) *Schemas {
	s := &Schemas{pinned: pinned, used: map[string]int{}, samples: map[string]string{}}
	maps.Copy(s.samples, samples)
	return s
}

// Used are the versions that were used, nil for none.
func (s *Schemas) Used() map[string]int {
	if len(s.used) == 0 {
		return nil
	}
	return maps.Clone(s.used)
}

// Samples are the columns of keys and values, by these words, that samples had; nil for none. They are written as ddl.Text does.
func (s *Schemas) Samples() map[string]string {
	if len(s.samples) == 0 {
		return nil
	}
	return maps.Clone(s.samples)
}

// sampled gives the columns that a sample of keys or values had before.
func (s *Schemas) sampled(of part) ([]ddl.Column, bool) {
	if s == nil || s.samples[string(of)] == "" {
		return nil, false
	}
	columns, err := ddl.Parse(s.samples[string(of)])
	return columns, err == nil
}

// sample keeps the columns that a sample had, if they can be written down: names that differ in nothing but case, for one, have no list of columns.
func (s *Schemas) sample(of part, columns []ddl.Column) {
	if s == nil {
		return
	}
	text := ddl.Text(columns)
	if again, err := ddl.Parse(text); err == nil && ddl.Text(again) == text {
		s.samples[string(of)] = text
	}
}

type schemasKey struct{}

// WithSchemas makes plans under the context use s.
func WithSchemas(ctx context.Context, s *Schemas) context.Context {
	return context.WithValue(ctx, schemasKey{}, s)
}

func schemasOf(ctx context.Context) *Schemas {
	s, _ := ctx.Value(schemasKey{}).(*Schemas)
	return s
}

// versionOf is the version of a subject to plan with, 0 for the latest.
func (s *Schemas) versionOf(subject string) int {
	if s == nil {
		return 0
	}
	return s.pinned[subject]
}

func (s *Schemas) use(subject string, version int) {
	if s != nil {
		s.used[subject] = version
	}
}

// The words of schemaEvolution.
const (
	EvolutionNone    = "none"
	EvolutionAdds    = "add_columns"
	EvolutionRestart = "restart"
)

// evolving ends a read at the first record whose schema is not yet known, when its subject has a newer version than that of the columns. Nothing is lost by that: the records
// of a run that fails are read again, with the columns of then.
type evolving struct {
	framed.Writers
	writers
	subject  string
	id       uint32
	version  int
	followed string
}

// evolves makes w do so when a streaming table asks for it.
func (n *Node) evolves(ctx context.Context, w framed.Writers, s *registry.Schema, subject string, a registryArgs) framed.Writers {
	if schemasOf(ctx) == nil || n.format.Evolution == EvolutionNone {
		return w
	}
	a.version = 0
	return &evolving{w, writers{n.env.Registries, a}, subject, uint32(s.ID), s.Version, n.format.Evolution}
}

// Compile implements framed.Writers.
func (e *evolving) Compile(ctx context.Context, id framed.ID, index []byte, wanted []int) (decode.Plan, error) {
	if id.Global || id.Number != e.id {
		latest, err := e.registries.subject(ctx, &e.args, e.subject)
		if err != nil {
			return nil, err
		}
		if latest.Version > e.version {
			return nil, sqlerr.New(sqlerr.SchemaEvolved, "subject '%s' has version %d now, and the table has the columns of version %d", e.subject, latest.Version, e.version).
				WithHint("with schemaEvolution => '%s' ALTER STREAMING TABLE … RESUME, or REFRESH, takes the new columns over", e.followed)
		}
	}
	return e.Writers.Compile(ctx, id, index, wanted)
}
