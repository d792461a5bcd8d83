package planner

import (
	"math"
	"math/big"
	"testing"
)

// sum(9223372036854775807 + offset) once gave -885443715538058475218: the engine's arithmetic wraps around.
func TestCalculateEqualsBigNumbers(t *testing.T) {
	edges := []int64{math.MinInt64, math.MinInt64 + 1, -1 << 32, -3037000500, -2, -1, 0, 1, 2, 3037000499, 3037000500, 1 << 32, math.MaxInt64 - 1, math.MaxInt64}
	for _, x := range edges {
		for _, y := range edges {
			for op, exact := range map[string]*big.Int{
				"+": new(big.Int).Add(big.NewInt(x), big.NewInt(y)), "-": new(big.Int).Sub(big.NewInt(x), big.NewInt(y)), "*": new(big.Int).Mul(big.NewInt(x), big.NewInt(y)),
			} {
				v, ok := calculate(op, x, y)
				if ok != exact.IsInt64() || ok && v != exact.Int64() {
					t.Errorf("%d %s %d = %d, %v; want %v", x, op, y, v, ok, exact)
				}
			}
		}
	}
}
