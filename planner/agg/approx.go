package agg

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/cockroachdb/apd/v3"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/sketch"
	"millrace/internal/sqlerr"
	"millrace/planner/expr"
)

// NewApproxCountDistinct is APPROX_COUNT_DISTINCT(x [, relative error]).
func NewApproxCountDistinct(ctx *sql.Context, args []sql.Expression) (sql.Expression, error) {
	f := &Function{kind: ApproxCountDistinct, args: args, typ: types.Int64, Precision: sketch.DefaultPrecision}
	if len(args) > 1 {
		e, known, err := constantNumber(ctx, f.kind, "relative error", args[1])
		if err != nil {
			return nil, err
		}
		if p, ok := sketch.PrecisionFor(e); known && !ok {
			return nil, sqlerr.New(sqlerr.BadValue, "the relative error of '%s' must be at least 0.0041: found %v", kinds[f.kind].name, e)
		} else if known {
			f.Precision = p
		}
	}
	isDate := types.IsDateType(args[0].Type(ctx))
	f.fresh = func() state { return &approxDistinct{isDate, sketch.NewDistinct(f.Precision)} }
	return f, nil
}

// approxDistinct shows the sketch what a batch would: numbers by their bits, all else by its bytes.
type approxDistinct struct {
	isDate bool
	seen   *sketch.Distinct
}

func (d *approxDistinct) add(ctx *sql.Context, values []any) error {
	switch v := values[0].(type) {
	case nil:
	case string:
		d.seen.AddBytes([]byte(v))
	case []byte:
		d.seen.AddBytes(v)
	case float64:
		d.seen.AddFloat(v)
	case float32:
		d.seen.AddFloat(float64(v))
	case uint64:
		d.seen.AddInt(int64(v))
	case *apd.Decimal:
		d.seen.AddBytes([]byte(v.Text('f')))
	case time.Time:
		if d.isDate {
			d.seen.AddInt(int64(math.Floor(float64(v.Unix()) / 86400)))
		} else {
			d.seen.AddInt(v.UnixMicro())
		}
	case types.Timespan:
		d.seen.AddInt(int64(v))
	case sql.JSONWrapper:
		text, err := types.MarshallJson(ctx, v)
		if err != nil {
			return err
		}
		d.seen.AddBytes(text)
	default:
		i, ok := expr.SignedOf(v)
		if !ok {
			return fmt.Errorf("values of type %T cannot be counted", v)
		}
		d.seen.AddInt(i)
	}
	return nil
}

func (d *approxDistinct) value(*sql.Context) (any, error) { return d.seen.Estimate(), nil }

// NewPercentileApprox is PERCENTILE_APPROX(x, fraction [, accuracy]).
func NewPercentileApprox(ctx *sql.Context, args []sql.Expression) (sql.Expression, error) {
	f := &Function{kind: PercentileApprox, args: args, Accuracy: sketch.DefaultAccuracy}
	name := kinds[f.kind].name
	fraction, known, err := constantNumber(ctx, f.kind, "fraction", args[1])
	if err != nil {
		return nil, err
	}
	if known && !(fraction >= 0 && fraction <= 1) {
		return nil, sqlerr.New(sqlerr.BadValue, "the fraction of '%s' must be between 0 and 1: found %v", name, fraction).WithHint("0.5 is the median, 0.99 the value that 99 %% do not exceed")
	}
	f.Fraction = fraction
	if len(args) > 2 {
		accuracy, known, err := constantNumber(ctx, f.kind, "accuracy", args[2])
		if err != nil {
			return nil, err
		}
		if known && (accuracy != math.Trunc(accuracy) || accuracy < 1 || accuracy > sketch.MostAccuracy) {
			return nil, sqlerr.New(sqlerr.BadValue, "the accuracy of '%s' must be a whole number from 1 to %d: found %s", name, sketch.MostAccuracy, strconv.FormatFloat(accuracy, 'f', -1, 64))
		}
		if known {
			f.Accuracy = int64(accuracy)
		}
	}
	t := args[0].Type(ctx)
	switch {
	case types.IsInteger(t), types.IsDateType(t), types.IsDatetimeType(t), types.IsTimestampType(t):
		f.typ = t
	case isExact(t), isDouble(t), types.IsNullType(t), types.IsDeferredType(t):
		f.typ = types.Float64
	default:
		return nil, sqlerr.New(sqlerr.BadValue, "'%s' takes numbers and times: found %s", name, t)
	}
	f.fresh = func() state { return &percentile{f.typ, f.Fraction, sketch.NewQuantiles(f.Accuracy)} }
	return f, nil
}

// percentile keeps integers in the order of the values.
type percentile struct {
	typ      sql.Type
	fraction float64
	seen     *sketch.Quantiles
}

func (p *percentile) add(ctx *sql.Context, values []any) error {
	if types.IsTime(p.typ) {
		return p.addTime(ctx, values[0])
	}
	switch v := values[0].(type) {
	case nil:
	case uint64:
		p.seen.Add(int64(v ^ 1<<63))
	default:
		if p.typ == types.Float64 {
			f, err := doubleOf(ctx, v)
			if err != nil {
				return err
			}
			p.seen.Add(sketch.FloatKey(f))
			return nil
		}
		i, ok := expr.SignedOf(v)
		if !ok {
			return notExact(v)
		}
		p.seen.Add(i)
	}
	return nil
}

// addTime adds a time, which the engine may have as text.
func (p *percentile) addTime(ctx *sql.Context, v any) error {
	v, _, err := p.typ.Convert(ctx, v)
	if err != nil || v == nil {
		return err
	}
	at, ok := v.(time.Time)
	if !ok {
		return fmt.Errorf("a value of type %T where a time was promised", v)
	}
	p.seen.Add(at.UnixMicro())
	return nil
}

func (p *percentile) value(ctx *sql.Context) (any, error) {
	if p.seen.Count() == 0 {
		return nil, nil
	}
	key := p.seen.Quantile(p.fraction)
	var v any = key
	switch {
	case p.typ == types.Float64:
		return sketch.KeyFloat(key), nil
	case types.IsTime(p.typ):
		return time.UnixMicro(key).UTC(), nil
	case p.typ == types.Uint64:
		v = uint64(key) ^ 1<<63
	}
	v, _, err := p.typ.Convert(ctx, v)
	return v, err
}
