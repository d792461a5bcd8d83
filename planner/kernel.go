package planner

import (
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
	// field is the field that the kernel passes on unchanged, when plain.
	field scan.Field
	plain bool
	build func(in *inputs) (ops.Expr, error)
}

// inputs is the layout of the batches of a scan: the fields asked for, in the order in which they were first needed.
type inputs struct {
	fields []scan.Field
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
	out := make([]column.Field, len(in.fields))
	for i, f := range in.fields {
		out[i] = f.Column()
	}
	return out
}

// fieldKernel passes field f on.
func fieldKernel(f scan.Field, typ sql.Type) kernel {
	return kernel{
		typ: typ, kind: f.Column().Type, nullable: f.Column().Nullable, field: f, plain: true,
		build: func(in *inputs) (ops.Expr, error) { return in.column(f), nil },
	}
}

// newKernel tries build and describes its result. ok is false when ops has no such kernel.
func newKernel(typ sql.Type, build func(in *inputs) (ops.Expr, error)) (k kernel, ok bool) {
	e, err := build(new(inputs))
	if err != nil {
		return kernel{}, false
	}
	return kernel{typ: typ, kind: e.Type(), nullable: e.Nullable(), build: build}, true
}

// condition reports whether k is a predicate.
func (k kernel) condition() bool { return k.kind.Kind == column.Bool }

// integral reports whether k is a signed integer for the engine too.
func (k kernel) integral() bool {
	return (k.kind.Kind == column.Int32 || k.kind.Kind == column.Int64) && types.IsInteger(k.typ) && types.IsSigned(k.typ)
}

// direct reports whether the vector can be sent as the engine's type without a conversion of values, and the kind that says so: an
// Int64 vector is an INT column once its kind is Int32, as both hold int64.
func direct(typ sql.Type, kind column.Type) (column.Type, bool) {
	switch typ {
	case types.Int32:
		return column.Type{Kind: column.Int32}, kind.Kind == column.Int32 || kind.Kind == column.Int64
	case types.Int64:
		return column.Type{Kind: column.Int64}, kind.Kind == column.Int32 || kind.Kind == column.Int64
	case types.Float64:
		return kind, kind.Kind == column.Float64
	}
	switch kind.Kind {
	case column.Bytes:
		return kind, types.IsBinaryType(typ)
	case column.Text:
		return kind, types.IsTextOnly(typ)
	case column.JSON:
		return kind, types.IsJSON(typ)
	case column.Timestamp:
		return kind, types.IsDatetimeType(typ) && typ.(interface{ Precision() int }).Precision() == int(kind.Scale)
	default:
		return kind, false
	}
}
