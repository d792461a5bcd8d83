package ops

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"millrace/internal/column"
	"millrace/internal/sqlerr"
)

// Expr is an immutable expression over the columns of the input batch. Only this package makes them. They may be shared by plans and
// goroutines.
type Expr interface {
	// Type is the type of the result.
	Type() column.Type
	// Nullable is false when the result is never NULL.
	Nullable() bool
	// String is the expression as SQL, for EXPLAIN and errors.
	String() string

	// operands are the expressions that this one is made of.
	operands() []Expr
	// bind makes the evaluator of one lane. The lane owns it. Only lane.bind calls it.
	bind(l *lane) evaluator
}

// evaluator is an expression bound to a lane. It is used by the lane's goroutine alone.
type evaluator interface {
	// eval computes the rows of in that sel lists (all when nil). The result is indexed by row of in, is defined at the rows of sel only,
	// and is valid until the next eval or until in changes. A failure is a *rowError.
	eval(in *column.Batch, sel []int32) (*column.Vector, error)
}

// predicate is an evaluator of a condition.
type predicate interface {
	evaluator
	// choose gives the rows of sel where the condition is TRUE (want) or FALSE (!want), ascending. dst has room for in.N rows and may
	// be the memory of sel: the result never runs ahead of what was read. The result lies in dst.
	choose(in *column.Batch, sel []int32, want bool, dst []int32) ([]int32, error)
}

// rowError is an error of one row of the batch at hand.
type rowError struct {
	row int
	err *sqlerr.Error
}

func (e *rowError) Error() string { return e.err.Error() }
func (e *rowError) Unwrap() error { return e.err }

// Column refers to column i of the input, which f describes.
func Column(i int, f column.Field) Expr { return &columnRef{i, f} }

type columnRef struct {
	index int
	field column.Field
}

func (c *columnRef) Type() column.Type { return c.field.Type }
func (c *columnRef) Nullable() bool    { return c.field.Nullable }
func (c *columnRef) String() string    { return "`" + strings.ReplaceAll(c.field.Name, "`", "``") + "`" }

func (c *columnRef) operands() []Expr { return nil }

func (c *columnRef) bind(l *lane) evaluator {
	if !c.field.Type.Kind.IsView() {
		return columnEval(c.index)
	}
	return l.views(c.index)
}

// columnEval gives a column as it is.
type columnEval int

func (c columnEval) eval(in *column.Batch, _ []int32) (*column.Vector, error) {
	return &in.Cols[c], nil
}

// Const is the value v of type t; nil is NULL. Kinds that lie in Vector.Int take any Go integer, bool, or for Timestamp and Date
// a time.Time; Float64 takes float64; Decimal, Bytes, Text and JSON take string or []byte (Decimal in canonical form). Any other
// pairing is a mistake of the caller and panics.
func Const(t column.Type, v any) Expr {
	c := &constant{typ: t}
	switch x := v.(type) {
	case nil:
		c.null = true
		return c
	case bool:
		if x {
			c.i = 1
		}
	case int:
		c.i = int64(x)
	case int8:
		c.i = int64(x)
	case int16:
		c.i = int64(x)
	case int32:
		c.i = int64(x)
	case int64:
		c.i = x
	case uint8:
		c.i = int64(x)
	case uint16:
		c.i = int64(x)
	case uint32:
		c.i = int64(x)
	case uint64:
		c.i = int64(x)
	case float32:
		c.f = float64(x)
	case float64:
		c.f = x
	case string:
		c.b = []byte(x)
	case []byte:
		c.b = append([]byte{}, x...)
	case time.Time:
		if c.i = x.UnixMicro(); t.Kind == column.Date {
			c.i = int64(math.Floor(float64(x.Unix()) / 86400))
		}
	}
	if !c.fits(v) {
		panic(fmt.Sprintf("ops: a constant of type %v cannot be made of a %T", t, v))
	}
	return c
}

func (c *constant) fits(v any) bool {
	switch v.(type) {
	case string, []byte:
		return c.typ.Kind.IsView()
	case float32, float64:
		return c.typ.Kind == column.Float64
	case time.Time:
		return c.typ.Kind == column.Timestamp || c.typ.Kind == column.Date
	case bool, int, int8, int16, int32, int64, uint8, uint16, uint32, uint64:
		return c.typ.Kind.IsInt()
	default:
		return false
	}
}

// constant holds its value as a Vector would: i, f or b by the kind.
type constant struct {
	typ  column.Type
	null bool
	i    int64
	f    float64
	b    []byte
}

func (c *constant) Type() column.Type { return c.typ }
func (c *constant) Nullable() bool    { return c.null }

func (c *constant) String() string {
	if c.null {
		return "NULL"
	}
	switch c.typ.Kind {
	case column.Float64:
		return strconv.FormatFloat(c.f, 'g', -1, 64)
	case column.Uint64:
		return strconv.FormatUint(uint64(c.i), 10)
	case column.Decimal:
		return string(c.b)
	case column.Text, column.JSON:
		return quoted(c.b)
	case column.Bytes:
		return fmt.Sprintf("x'%x'", c.b)
	case column.Timestamp:
		return time.UnixMicro(c.i).UTC().Format("timestamp '2006-01-02 15:04:05.999999'")
	case column.Date:
		return time.Unix(c.i*86400, 0).UTC().Format("date '2006-01-02'")
	case column.Time:
		return fmt.Sprintf("time '%v'", time.Duration(c.i)*time.Microsecond)
	case column.Bool:
		return strconv.FormatBool(c.i != 0)
	default:
		return strconv.FormatInt(c.i, 10)
	}
}

// quoted is b as an SQL string.
func quoted(b []byte) string { return "'" + strings.ReplaceAll(string(b), "'", "''") + "'" }

func (c *constant) operands() []Expr { return nil }

func (c *constant) bind(*lane) evaluator { return &constEval{c: c} }

// constEval repeats the value. The vector only grows, so a lane fills it once.
type constEval struct {
	c   *constant
	out column.Vector
}

func (e *constEval) eval(in *column.Batch, _ []int32) (*column.Vector, error) {
	if e.out.Type != e.c.typ {
		e.out.Reset(e.c.typ)
		e.out.Data = append(e.out.Data, e.c.b...)
	}
	for e.out.Len() < in.N {
		switch {
		case e.c.null:
			e.out.AppendNull()
		case e.c.typ.Kind.IsView():
			e.out.Beg = append(e.out.Beg, 0)
			e.out.End = append(e.out.End, uint32(len(e.c.b)))
		case e.c.typ.Kind == column.Float64:
			e.out.AppendFloat(e.c.f)
		default:
			e.out.AppendInt(e.c.i)
		}
	}
	return &e.out, nil
}

// unsupported is how a constructor tells the planner to leave an expression in the engine.
func unsupported(format string, args ...any) error {
	return sqlerr.New(sqlerr.NotSupported, format, args...)
}

// ColumnIndex gives the number of the input column that e passes on, if it does nothing else.
func ColumnIndex(e Expr) (i int, ok bool) {
	c, ok := e.(*columnRef)
	if !ok {
		return 0, false
	}
	return c.index, true
}

// ConstValue gives the value of a constant that is not NULL: the integer of an integer kind, the double, or the bytes of a view kind.
func ConstValue(e Expr) (number int64, float float64, bytes []byte, ok bool) {
	c, ok := e.(*constant)
	if !ok || c.null {
		return 0, 0, nil, false
	}
	return c.i, c.f, c.b, true
}
