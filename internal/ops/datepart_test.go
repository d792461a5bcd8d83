package ops

import (
	"time"

	"millrace/internal/column"

	"pgregory.net/rapid"
)

// partOracle is a part of a time; the test's values lie around 1970.
func partOracle(t *rapid.T) oracle {
	x := columnOf(rapid.SampledFrom([]int{8, 9}).Draw(t, "time"))
	part := DatePart(rapid.IntRange(0, int(Second)).Draw(t, "part"))
	return oracle{must(PartOf(part, x.expr)), func(row []any) (any, error) {
		v, err := x.eval(row)
		if v == nil || err != nil {
			return nil, err
		}
		at := time.UnixMicro(v.(int64)).UTC()
		if x.expr.Type().Kind == column.Date {
			at = time.Unix(v.(int64)*86400, 0).UTC()
		}
		n := map[DatePart]int{
			Year: at.Year(), Quarter: (int(at.Month()) + 2) / 3, Month: int(at.Month()), Day: at.Day(), DayOfYear: at.YearDay(),
			Weekday: (int(at.Weekday()) + 6) % 7, DayOfWeek: int(at.Weekday()) + 1, Hour: at.Hour(), Minute: at.Minute(), Second: at.Second(),
		}[part]
		return int64(n), nil
	}}
}
