package planner

import (
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression/function"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/column"
	"millrace/internal/convert"
	"millrace/internal/ops"
)

// truncUnits are the units of date_trunc by the names that it takes.
var truncUnits = map[string]ops.TimeUnit{
	"YEAR": ops.UnitYear, "YYYY": ops.UnitYear, "YY": ops.UnitYear, "QUARTER": ops.UnitQuarter, "MONTH": ops.UnitMonth, "MON": ops.UnitMonth, "MM": ops.UnitMonth,
	"WEEK": ops.UnitWeek, "DAY": ops.UnitDay, "DD": ops.UnitDay, "HOUR": ops.UnitHour, "MINUTE": ops.UnitMinute, "SECOND": ops.UnitSecond,
	"MILLISECOND": ops.UnitMillisecond, "MICROSECOND": ops.UnitMicrosecond,
}

// named compiles the functions of package functions, which are one type for the engine and known by their names. Their arguments are cast to what they
// take.
func (c compiler) named(e sql.FunctionExpression) (kernel, bool) {
	args, typ := e.Children(), e.Type(c.ctx)
	switch e.FunctionName() {
	case "date_trunc":
		v, ok := constantOf(c.ctx, args[0])
		if !ok || v == nil {
			return kernel{}, false
		}
		text, _ := v.(string)
		unit, ok := truncUnits[strings.ToUpper(text)]
		if !ok {
			return kernel{}, false
		}
		return c.ofArgument(typ, args[1], func(x ops.Expr) (ops.Expr, error) { return ops.DateTrunc(unit, x) })
	case "to_timestamp":
		return c.parseTime(e, false)
	case "try_to_timestamp":
		return c.parseTime(e, true)
	case "unix_millis":
		return c.ofArgument(typ, args[0], ops.UnixMillis)
	case "timestamp_millis":
		return c.timestampOf(e, 1000)
	case "timestamp_micros":
		return c.timestampOf(e, 1)
	}
	return kernel{}, false
}

// parseTime compiles [try_]to_timestamp(text, 'constant'). Without a format it is a cast already.
func (c compiler) parseTime(e sql.FunctionExpression, try bool) (kernel, bool) {
	args := e.Children()
	if len(args) != 2 {
		return kernel{}, false
	}
	v, ok := constantOf(c.ctx, args[1])
	format, isText := v.(string)
	if !ok || !isText {
		return kernel{}, false
	}
	pattern, err := convert.ParseTimePattern(format)
	if err != nil {
		return kernel{}, false
	}
	k, ok := c.ofArgument(e.Type(c.ctx), args[0], func(x ops.Expr) (ops.Expr, error) { return ops.ParseTime(x, pattern, try) })
	k.fails = k.fails || !try
	return k, ok
}

// ofArgument is the kernel of make over an argument.
func (c compiler) ofArgument(typ sql.Type, arg sql.Expression, make func(x ops.Expr) (ops.Expr, error)) (kernel, bool) {
	x, ok := c.compile(arg)
	if !ok {
		return kernel{}, false
	}
	return unary(typ, x, make)
}

func (c compiler) timestampOf(e sql.FunctionExpression, micros int64) (kernel, bool) {
	k, ok := c.ofArgument(e.Type(c.ctx), e.Children()[0], func(x ops.Expr) (ops.Expr, error) { return ops.TimestampOf(x, e.FunctionName(), micros) })
	k.fails = true
	return k, ok
}

// unixSeconds compiles unix_timestamp of what is a time already, in UTC.
func (c compiler) unixSeconds(e *utcSeconds) (kernel, bool) {
	typ := e.Type(c.ctx)
	d, ok := typ.(sql.DecimalType)
	if !ok {
		return kernel{}, false
	}
	to := column.Type{Kind: column.Decimal, Precision: d.Precision(), Scale: d.Scale()}
	return c.ofArgument(typ, e.Date, func(x ops.Expr) (ops.Expr, error) { return ops.UnixSeconds(x, to, function.MaxUnixTimeMicroSecs) })
}

// dateFormat compiles date_format(x, 'constant') of what is a time already.
func (c compiler) dateFormat(e *function.DateFormat) (kernel, bool) {
	v, ok := constantOf(c.ctx, e.RightChild)
	format, isText := v.(string)
	if !ok || !isText {
		return kernel{}, false
	}
	return c.ofArgument(e.Type(c.ctx), e.LeftChild, func(x ops.Expr) (ops.Expr, error) { return ops.DateFormat(x, format) })
}

// hex compiles hex(x) of text and bytes.
func (c compiler) hex(e *function.Hex) (kernel, bool) {
	x, ok := c.compile(e.Child)
	if !ok || x.kind.Kind == column.Text && !bytewise(x.typ) || x.kind.Kind == column.Bytes && !types.IsBinaryType(x.typ) {
		return kernel{}, false
	}
	return unary(e.Type(c.ctx), x, ops.Hex)
}
