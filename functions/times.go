package functions

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dolthub/go-mysql-server/sql"

	"millrace/internal/convert"
	"millrace/planner/expr"
)

func buildToTimestamp(try bool) func(*sql.Context, *Function, []sql.Expression) (sql.Expression, error) {
	return func(ctx *sql.Context, f *Function, args []sql.Expression) (sql.Expression, error) {
		if len(args) == 1 {
			return built(expr.NewCast(ctx, args[0], timestampType, try))
		}
		var fixed *convert.TimePattern
		if text, ok := constant(args[1]); ok {
			var err error
			if fixed, err = convert.ParseTimePattern(text); err != nil {
				return nil, err
			}
		}
		build := strict(timestampType, []expr.Kind{expr.String, expr.String}, func(_ *sql.Context, args []any) (any, error) {
			p := fixed
			if p == nil {
				var err error
				if p, err = convert.ParseTimePattern(args[1].(string)); err != nil {
					return nil, err
				}
			}
			text := []byte(args[0].(string))
			micros, ok := p.Parse(text)
			switch {
			case ok:
				return time.UnixMicro(micros).UTC(), nil
			case try:
				return nil, nil
			}
			return nil, p.Failed(text)
		})
		return build(ctx, f, args)
	}
}

// buildTimestampSeconds is the cast of a number to TIMESTAMP, which takes it as seconds.
func buildTimestampSeconds(ctx *sql.Context, _ *Function, args []sql.Expression) (sql.Expression, error) {
	seconds, err := expr.NewCast(ctx, args[0], expr.Type{Kind: expr.Decimal, Precision: 38, Scale: 6}, false)
	if err != nil {
		return nil, err
	}
	return built(expr.NewCast(ctx, seconds, timestampType, false))
}

// timestampOf converts a count of units since 1970, each of so many microseconds.
func timestampOf(micros int64) func(*sql.Context, []any) (any, error) {
	return func(_ *sql.Context, args []any) (any, error) {
		n := args[0].(int64)
		if n > math.MaxInt64/micros || n < math.MinInt64/micros || !convert.InTimestampRange(n*micros) {
			return nil, convert.Failed(convert.Overflow, strconv.AppendInt(nil, n, 10), "TIMESTAMP")
		}
		return time.UnixMicro(n * micros).UTC(), nil
	}
}

func unixMillis(_ *sql.Context, args []any) (any, error) { return args[0].(time.Time).UnixMilli(), nil }

func dateTrunc(_ *sql.Context, args []any) (any, error) {
	t := args[1].(time.Time)
	day := func(year int, month time.Month, day int) (any, error) {
		return time.Date(year, month, day, 0, 0, 0, 0, time.UTC), nil
	}
	switch strings.ToUpper(args[0].(string)) {
	case "YEAR", "YYYY", "YY":
		return day(t.Year(), 1, 1)
	case "QUARTER":
		return day(t.Year(), (t.Month()-1)/3*3+1, 1)
	case "MONTH", "MON", "MM":
		return day(t.Year(), t.Month(), 1)
	case "WEEK":
		return day(t.Year(), t.Month(), t.Day()-(int(t.Weekday())+6)%7)
	case "DAY", "DD":
		return day(t.Year(), t.Month(), t.Day())
	case "HOUR":
		return t.Truncate(time.Hour), nil
	case "MINUTE":
		return t.Truncate(time.Minute), nil
	case "SECOND":
		return t.Truncate(time.Second), nil
	case "MILLISECOND":
		return t.Truncate(time.Millisecond), nil
	case "MICROSECOND":
		return t.Truncate(time.Microsecond), nil
	}
	return nil, nil
}
