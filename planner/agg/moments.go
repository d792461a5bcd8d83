package agg

import (
	"math"
	"math/big"

	"github.com/cockroachdb/apd/v3"
	"github.com/dolthub/go-mysql-server/sql"

	"millrace/planner/expr"
)

// spread says which of the variances and deviations is asked for.
type spread struct{ sample, root bool }

// of is the result from the sum of the squared distances from the mean. ok is false where there are too few values for one.
func (s spread) of(squares float64, rows int64) (value float64, ok bool) {
	if s.sample {
		rows--
	}
	if rows <= 0 {
		return 0, false
	}
	if value = squares / float64(rows); s.root {
		value = math.Sqrt(value)
	}
	return value, true
}

// exactMoments is a variance over integers or decimals: it keeps the sums of values and squares exactly and rounds once.
type exactMoments struct {
	spread
	rows         int64
	sum, squares apd.Decimal
	x, square    apd.Decimal
}

func (m *exactMoments) add(_ *sql.Context, values []any) error { return m.count(values[0], 1) }

func (m *exactMoments) remove(_ *sql.Context, values []any) error { return m.count(values[0], -1) }

func (m *exactMoments) count(v any, times int64) error {
	x := &m.x
	switch v := v.(type) {
	case nil:
		return nil
	case *apd.Decimal:
		x = v
	case uint64:
		x.Coeff.SetUint64(v)
		x.Exponent, x.Negative, x.Form = 0, false, apd.Finite
	case string:
		var err error
		if x, err = decimalOf(v); err != nil {
			return err
		}
	default:
		i, ok := expr.SignedOf(v)
		if !ok {
			return notExact(v)
		}
		x.SetInt64(i)
	}
	apply := exactContext.Add
	if times < 0 {
		apply = exactContext.Sub
	}
	if _, err := exactContext.Mul(&m.square, x, x); err != nil {
		return err
	}
	if _, err := apply(&m.sum, &m.sum, x); err != nil {
		return err
	}
	if _, err := apply(&m.squares, &m.squares, &m.square); err != nil {
		return err
	}
	m.rows += times
	return nil
}

func (m *exactMoments) value(*sql.Context) (any, error) {
	if m.rows == 0 || m.sample && m.rows == 1 {
		return nil, nil
	}
	// The variance is (n·Σx² - (Σx)²) / (n·n), or of a sample / (n·(n-1)).
	sum, n := rational(&m.sum), new(big.Rat).SetInt64(m.rows)
	v := rational(&m.squares)
	v.Sub(v.Mul(v, n), sum.Mul(sum, sum))
	if v.Quo(v, n); m.sample {
		n.SetInt64(m.rows - 1)
	}
	f, _ := v.Quo(v, n).Float64() // the nearest one
	if m.root {
		f = math.Sqrt(f)
	}
	return f, nil
}

func rational(d *apd.Decimal) *big.Rat {
	r := new(big.Rat).SetInt(d.Coeff.MathBigInt())
	if d.Negative {
		r.Neg(r)
	}
	scale := new(big.Rat).SetInt(powerOfTen(max(int64(d.Exponent), -int64(d.Exponent))))
	if d.Exponent < 0 {
		return r.Quo(r, scale)
	}
	return r.Mul(r, scale)
}

// doubleMoments is a variance over doubles, by Welford's method.
type doubleMoments struct {
	spread
	rows          int64
	mean, squares float64
}

func (m *doubleMoments) add(ctx *sql.Context, values []any) error {
	if values[0] == nil {
		return nil
	}
	x, err := doubleOf(ctx, values[0])
	if err != nil {
		return err
	}
	m.rows++
	distance := x - m.mean
	m.mean += distance / float64(m.rows)
	m.squares += distance * (x - m.mean)
	return nil
}

func (m *doubleMoments) value(*sql.Context) (any, error) {
	v, ok := m.of(m.squares, m.rows)
	if !ok {
		return nil, nil
	}
	return v, nil
}
