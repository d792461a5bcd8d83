package planner

import (
	"slices"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/column"
	"millrace/internal/ops"
	"millrace/internal/scan"
)

// kernel is an engine expression that package ops can compute with the engine's result. It refers to fields of a record, not to
// positions: those are known only when the Scan is finished, and then build is called.
type kernel struct {
	// typ is the engine's type, kind the type of the vector.
	typ  sql.Type
	kind column.Type
	// nullable is false when the result is never NULL.
	nullable bool
	// fails is set when some value is an error. The engine evaluates conjuncts from left to right, so such a kernel may only run where all
	// that stand before it run too.
	fails bool
	// field is the field that the kernel passes on unchanged, when plain.
	field scan.Field
	plain bool
	// column is the column of a stored table that the kernel passes on unchanged, when stored.
	column int
	stored bool
	build  func(in *inputs) (ops.Expr, error)
}

// inputs is the layout of the batches of a scan: the fields asked for, in the order in which they were first needed.
type inputs struct {
	fields []scan.Field
	// stored are the columns asked for of a stored table, in place of fields, and storedFields what they are.
	stored       []int
	storedFields []column.Field
	// used, when not nil, notes the results that are asked for; place says which column of the groups each of those is.
	used  map[int]bool
	place map[int]int
}

// result is a key or an aggregate of a scan that is aggregated.
func (in *inputs) result(i int, f column.Field) ops.Expr {
	if in.used != nil {
		in.used[i] = true
	}
	if at, ok := in.place[i]; ok {
		i = at
	}
	return ops.Column(i, f)
}

func (in *inputs) column(f scan.Field) ops.Expr {
	for i, have := range in.fields {
		if have == f {
			return ops.Column(i, f.Column())
		}
	}
	in.fields = append(in.fields, f)
	return ops.Column(len(in.fields)-1, f.Column())
}

// columns describes the batches.
func (in *inputs) columns() []column.Field {
	if len(in.stored) > 0 {
		return in.storedFields
	}
	out := make([]column.Field, len(in.fields))
	for i, f := range in.fields {
		out[i] = f.Column()
	}
	return out
}

// position makes sure that the fields that place a record are read.
func (in *inputs) position() *ops.Position {
	at := func(f scan.Field) int {
		in.column(f)
		return slices.Index(in.fields, f)
	}
	return &ops.Position{Topic: at(scan.Topic), Partition: at(scan.Partition), Offset: at(scan.Offset)}
}

// fieldKernel passes field f on.
func fieldKernel(f scan.Field, typ sql.Type) kernel {
	return kernel{
		typ: typ, kind: f.Column().Type, nullable: f.Column().Nullable, field: f, plain: true,
		build: func(in *inputs) (ops.Expr, error) { return in.column(f), nil },
	}
}

// newKernel tries build, which combines parts, and describes its result. ok is false when ops has no such kernel.
func newKernel(typ sql.Type, parts []kernel, build func(in *inputs) (ops.Expr, error)) (k kernel, ok bool) {
	e, err := build(new(inputs))
	if err != nil {
		return kernel{}, false
	}
	fails := slices.ContainsFunc(parts, func(k kernel) bool { return k.fails })
	return kernel{typ: typ, kind: e.Type(), nullable: e.Nullable(), fails: fails, build: build}, true
}

// unary is the kernel of make over x.
func unary(typ sql.Type, x kernel, make func(x ops.Expr) (ops.Expr, error)) (kernel, bool) {
	return newKernel(typ, []kernel{x}, func(in *inputs) (ops.Expr, error) {
		e, err := x.build(in)
		if err != nil {
			return nil, err
		}
		return make(e)
	})
}

// binary is the kernel of make over x and y.
func binary(typ sql.Type, x, y kernel, make func(x, y ops.Expr) (ops.Expr, error)) (kernel, bool) {
	return newKernel(typ, []kernel{x, y}, func(in *inputs) (ops.Expr, error) {
		l, err := x.build(in)
		if err != nil {
			return nil, err
		}
		r, err := y.build(in)
		if err != nil {
			return nil, err
		}
		return make(l, r)
	})
}

// condition reports whether k is a predicate.
func (k kernel) condition() bool { return k.kind.Kind == column.Bool }

// integral reports whether k is a signed integer for the engine too.
func (k kernel) integral() bool {
	return (k.kind.Kind == column.Int32 || k.kind.Kind == column.Int64) && types.IsInteger(k.typ) && types.IsSigned(k.typ)
}

// whole reports whether k is an integer for the engine too, signed or not. Those without a sign it compares with signed numbers as doubles, which is exact for
// numbers below exactFloat.
func (k kernel) whole() bool {
	return k.kind.Kind >= column.Int32 && k.kind.Kind <= column.Uint64 && types.IsInteger(k.typ)
}

// exact reports whether k is a signed integer or a decimal for the engine too.
func (k kernel) exact() bool {
	return k.integral() || k.kind.Kind == column.Decimal && types.IsDecimal(k.typ)
}

// direct reports whether the vector can be sent as the engine's type without a conversion of values, and the kind that says so: an
// Int64 vector is an INT column once its kind is Int32, as both hold int64.
func direct(typ sql.Type, kind column.Type) (column.Type, bool) {
	switch typ {
	case types.Int32:
		return column.Type{Kind: column.Int32}, kind.Kind == column.Int32 || kind.Kind == column.Int64
	case types.Int64:
		return column.Type{Kind: column.Int64}, kind.Kind == column.Int32 || kind.Kind == column.Int64
	case types.Uint64:
		return kind, kind.Kind == column.Uint64
	case types.Float64:
		return kind, kind.Kind == column.Float64
	}
	switch kind.Kind {
	case column.Bool:
		return kind, typ == types.Boolean
	case column.Date:
		return kind, types.IsDateType(typ)
	case column.Bytes:
		return kind, types.IsBinaryType(typ)
	case column.Text:
		return kind, types.IsTextOnly(typ)
	case column.JSON:
		return kind, types.IsJSON(typ)
	case column.Decimal:
		d, ok := typ.(sql.DecimalType)
		return kind, ok && d.Scale() == kind.Scale
	case column.Timestamp:
		return kind, types.IsDatetimeType(typ) && typ.(interface{ Precision() int }).Precision() == int(kind.Scale)
	default:
		return kind, false
	}
}
