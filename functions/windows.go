package functions

import (
	"time"

	"github.com/dolthub/go-mysql-server/sql"

	"millrace/internal/option"
	"millrace/internal/sqlerr"
	"millrace/planner/expr"
)

// buildWindow builds functions of the tumbling window that a time lies in: [start, start+width), aligned to 1970 and moved by an offset.
func buildWindow(result expr.Type, show func(start time.Time, width time.Duration) any) func(*sql.Context, *Function, []sql.Expression) (sql.Expression, error) {
	return func(ctx *sql.Context, f *Function, args []sql.Expression) (sql.Expression, error) {
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
				return nil, sqlerr.New(sqlerr.BadValue, "the %s of '%s' is '%s': %v", what, f.Name, option.Show(text), err).WithHint("write a time such as '5 minutes'")
			}
		}
		width, slide, offset := lengths[0], lengths[1], lengths[2]
		switch {
		case width < time.Microsecond || width%time.Microsecond != 0 || offset%time.Microsecond != 0:
			return nil, sqlerr.New(sqlerr.BadValue, "the width of '%s' must be some microseconds at least", f.Name)
		case len(args) > 2 && slide != width:
			return nil, sqlerr.New(sqlerr.NotSupported, "'%s' with a slide other than its width puts a row into several windows, which is not supported", f.Name).
				WithHint("leave the slide out for windows one behind the other")
		}
		return strict(result, []expr.Kind{expr.Timestamp}, func(_ *sql.Context, args []any) (any, error) {
			micros, step, from := args[0].(time.Time).UnixMicro(), width.Microseconds(), offset.Microseconds()
			behind := (micros - from) % step
			if behind < 0 {
				behind += step
			}
			return show(time.UnixMicro(micros-behind).UTC(), width), nil
		})(ctx, f, args[:1])
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
