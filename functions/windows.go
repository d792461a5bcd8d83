package functions

import (
	"time"

	"github.com/dolthub/go-mysql-server/sql"

	"millrace/internal/option"
	"millrace/internal/sqlerr"
	"millrace/planner/expr"
)

// buildWindow builds functions of the window that a time lies in: [start, start+width), aligned to 1970 and moved by an offset. Windows that slide by less than
// their width have a number as the last argument, which says how many windows before the last one that has begun is meant.
func buildWindow(result expr.Type, show func(start time.Time, width time.Duration) any) func(*sql.Context, *Function, []sql.Expression) (sql.Expression, error) {
	return func(ctx *sql.Context, f *Function, args []sql.Expression) (sql.Expression, error) {
		name := f.written()
		lengths := [3]time.Duration{}
		for i, what := range []string{"width", "slide", "start"} {
			arg := argument(args, i+1)
			if arg == nil {
				continue
			}
			text, err := constantText(ctx, f, what, arg)
			if err != nil {
				return nil, err
			}
			if lengths[i], err = option.ParseDuration(text); err != nil {
				return nil, sqlerr.New(sqlerr.BadValue, "the %s of '%s' is '%s': %v", what, name, option.Show(text), err).WithHint("write a time such as '5 minutes'")
			}
		}
		width, slide, offset := lengths[0], lengths[1], lengths[2]
		switch {
		case width < time.Microsecond || width%time.Microsecond != 0 || offset%time.Microsecond != 0:
			return nil, sqlerr.New(sqlerr.BadValue, "the width of '%s' must be some microseconds at least", name)
		case len(args) > 2 && (slide < time.Microsecond || slide%time.Microsecond != 0 || slide > width):
			return nil, sqlerr.New(sqlerr.BadValue, "the slide of '%s' must be some microseconds at least and at most its width", name).WithHint("a row whose time lies between two windows would be in none")
		case len(args) < 5 && len(args) > 2 && slide != width:
			return nil, sqlerr.New(sqlerr.NotSupported, "'%s' with a slide other than its width puts a row into several windows, which is not supported here", name).
				WithHint("a SELECT may have one kind of them, of less than 1,000 windows at a time, and no * beside it")
		}
		if len(args) < 3 {
			slide = width
		}
		values := []sql.Expression{args[0]}
		if len(args) == 5 {
			values = append(values, args[4])
		}
		// The last window that has begun, or the one so many before it; NULL when that has ended.
		return strict(result, []expr.Kind{expr.Timestamp, expr.BigInt}, func(_ *sql.Context, args []any) (any, error) {
			micros, step, from := args[0].(time.Time).UnixMicro(), slide.Microseconds(), offset.Microseconds()
			behind := (micros - from) % step
			if behind < 0 {
				behind += step
			}
			if len(args) > 1 {
				behind += args[1].(int64) * step
			}
			if behind >= width.Microseconds() {
				return nil, nil
			}
			return show(time.UnixMicro(micros-behind).UTC(), width), nil
		})(ctx, f, values)
	}
}

func windowStart(start time.Time, _ time.Duration) any { return start }

func windowEnd(start time.Time, width time.Duration) any { return start.Add(width) }

// windowOf is both ends, as JSON.
func windowOf(start time.Time, width time.Duration) any {
	const layout = `"2006-01-02 15:04:05.999999"`
	out := start.AppendFormat([]byte(`{"start":`), layout)
	out = start.Add(width).AppendFormat(append(out, `,"end":`...), layout)
	return expr.JSONText(append(out, '}'))
}
