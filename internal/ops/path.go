package ops

import (
	"millrace/internal/column"
	"millrace/internal/decode/json"
	"millrace/internal/sqlerr"
)

// Path takes a part out of the JSON text x, as text: x:path, get_json_object(x, …). BINARY is read as UTF-8. What is no JSON, has
// no such part or a null there is NULL. Of a value of type JSON the part is JSON too, and names match exactly.
func Path(x Expr, p json.Path) (Expr, error) {
	if c, ok := x.(*cast); ok && c.typ.Kind == column.Text && isText(c.x.Type().Kind) {
		x = c.x // reading bytes as text is what the extractor does anyway
	}
	switch {
	case x.Type().Kind == column.JSON:
		return &path{x, p.Exact(), column.Type{Kind: column.JSON}, false}, nil
	case !isText(x.Type().Kind):
		return nil, unsupported("a path into %v is not computed on batches", x.Type())
	default:
		return &path{x, p, column.Type{Kind: column.Text}, false}, nil
	}
}

// Extract is json_extract(x, path) of a value of type JSON: Path, with a null of JSON where there is one. The path has no step that gathers.
func Extract(x Expr, p json.Path) (Expr, error) {
	if x.Type().Kind != column.JSON || p.HasEach() {
		return nil, unsupported("json_extract from %v by %v is not computed on batches", x.Type(), p)
	}
	return &path{x, p, column.Type{Kind: column.JSON}, true}, nil
}

func isText(k column.Kind) bool { return k == column.Text || k == column.Bytes }

type path struct {
	x    Expr
	path json.Path
	typ  column.Type
	// nulls: a null of JSON is a value.
	nulls bool
}

// missing reports whether x is NULL in SQL.
func (e *path) missing(x json.Value) bool {
	if e.nulls {
		return x.Type == json.Missing
	}
	return x.IsNull()
}

func (e *path) Type() column.Type { return e.typ }
func (e *path) Nullable() bool    { return true }
func (e *path) String() string {
	if e.nulls {
		return "json_extract(" + e.x.String() + ", $" + e.path.String() + ")"
	}
	return e.x.String() + ":" + e.path.String()
}
func (e *path) operands() []Expr { return []Expr{e.x} }

func (e *path) bind(l *lane) evaluator {
	key := "paths into " + identity(e.x)
	loc, ok := l.shared[key].(*located)
	if !ok {
		loc = &located{x: l.bindHeld(e.x), lane: l, odd: map[int32]span{}}
		l.shared[key] = loc
	}
	loc.paths = append(loc.paths, e.path)
	return &pathEval{path: e, from: loc, slot: len(loc.paths) - 1}
}

// located runs one extractor over a source for all paths into it: a record is scanned once, however many values are wanted of it.
// Where a path lies is kept for the batch; rows that a filter has excluded before any path was asked for are never scanned.
type located struct {
	x     evaluator
	lane  *lane
	paths []json.Path // complete when the first batch comes

	extractor *json.Extractor
	batch     int64
	done      []uint64
	values    []json.Value // by row, then path
	// odd are rows with invalid UTF-8. Their values refer to a cleaned text in clean.
	odd   map[int32]span
	clean []byte
}

type span struct{ beg, end int }

// locate makes sure that the rows of sel are located, and gives their records.
func (l *located) locate(in *column.Batch, sel []int32) (*column.Vector, []int32, error) {
	v, err := l.x.eval(in, sel)
	if err != nil {
		return nil, nil, err
	}
	if l.extractor == nil {
		l.extractor = json.Compile(l.paths).NewExtractor()
	}
	k := len(l.paths)
	if l.batch != l.lane.batch {
		l.batch = l.lane.batch
		l.done, l.values = room(l.done, (in.N+63)/64), room(l.values, in.N*k)
		clear(l.done)
		clear(l.odd)
		l.clean = l.clean[:0]
	}
	rows := l.lane.rows(in.N, sel)
	for _, i := range rows {
		word, bit := i>>6, uint64(1)<<(uint(i)&63)
		if l.done[word]&bit != 0 {
			continue
		}
		l.done[word] |= bit
		out := l.values[int(i)*k : int(i)*k+k]
		if v.IsNull(int(i)) {
			clear(out)
			continue
		}
		rec := v.View(int(i))
		text, err := l.extractor.ExtractText(rec, out)
		switch {
		case err != nil:
			clear(out) // not JSON: every path leads nowhere
		case len(text) > 0 && &text[0] != &rec[0]:
			beg := len(l.clean)
			l.clean = append(l.clean, text...)
			l.odd[i] = span{beg, len(l.clean)}
		}
	}
	return v, rows, nil
}

// record is the text that the values of row i refer to.
func (l *located) record(v *column.Vector, i int32) []byte {
	if s, ok := l.odd[i]; ok {
		return l.clean[s.beg:s.end]
	}
	return v.View(int(i))
}

type pathEval struct {
	*path
	from *located
	slot int
	out  column.Vector
	// valid and data are out's own memory; out.Data may be that of the source.
	valid []uint64
	data  []byte
}

func (e *pathEval) eval(in *column.Batch, sel []int32) (*column.Vector, error) {
	v, rows, err := e.from.locate(in, sel)
	if err != nil {
		return nil, err
	}
	out := &e.out
	out.Type = e.Type()
	out.Beg, out.End = room(out.Beg, in.N), room(out.End, in.N)
	e.valid = room(e.valid, (in.N+63)/64)
	out.Valid = e.valid
	for w := range out.Valid {
		out.Valid[w] = ^uint64(0)
	}
	if len(e.from.odd) == 0 && e.view(v, rows) {
		return out, nil
	}
	return out, e.copy(v, rows)
}

// view points into the records themselves. It gives up at a value that is not written there as it reads.
func (e *pathEval) view(v *column.Vector, rows []int32) bool {
	differs, whole := json.Escaped|json.Ambiguous|json.Gathered, e.typ.Kind == column.JSON
	if whole {
		differs = json.Gathered
	}
	out, values, k := &e.out, e.from.values, len(e.from.paths)
	out.Data = v.Data
	for _, i := range rows {
		x := values[int(i)*k+e.slot]
		switch {
		case x.Flags&differs != 0:
			return false
		case e.missing(x):
			out.Valid[i>>6] &^= 1 << (uint(i) & 63)
			out.Beg[i], out.End[i] = 0, 0
		default:
			quote := uint32(bit(x.Type == json.String && !whole))
			beg := v.Beg[i]
			out.Beg[i], out.End[i] = beg+x.Off+quote, beg+x.End-quote
		}
	}
	return true
}

// copy writes the values one behind the other.
func (e *pathEval) copy(v *column.Vector, rows []int32) error {
	out, values, k := &e.out, e.from.values, len(e.from.paths)
	e.data = e.data[:0]
	for _, i := range rows {
		out.Beg[i] = uint32(len(e.data))
		if x := values[int(i)*k+e.slot]; e.missing(x) && x.Flags == 0 {
			out.Valid[i>>6] &^= 1 << (uint(i) & 63)
		} else {
			take := e.from.extractor.Text
			if e.typ.Kind == column.JSON {
				take = e.from.extractor.JSON
			}
			text, null, ambiguous := take(e.from.record(v, i), e.slot, x)
			switch {
			case ambiguous:
				return &rowError{int(i), sqlerr.New(sqlerr.BadValue, "path '%s' is ambiguous: an object has the name in several spellings", e.path.path).
					WithHint("write ['name'] in place of name to match one spelling")}
			case null && !e.nulls:
				out.Valid[i>>6] &^= 1 << (uint(i) & 63)
			}
			e.data = append(e.data, text...)
		}
		out.End[i] = uint32(len(e.data))
	}
	out.Data = e.data
	return nil
}
