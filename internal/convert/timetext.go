package convert

import "strconv"

// AppendTime appends a TIME, which may be negative or of many hours, as [-]hh:mm:ss, with microseconds where there are some.
func AppendTime(dst []byte, micros int64) []byte {
	if micros%1e6 == 0 {
		return AppendTimeScale(dst, micros, 0)
	}
	return AppendTimeScale(dst, micros, 6)
}

// AppendTimeScale is AppendTime with scale digits behind the point, at most 6 and none for 0; digits beyond are cut off.
func AppendTimeScale(dst []byte, micros int64, scale int) []byte {
	if micros < 0 {
		dst, micros = append(dst, '-'), -micros
	}
	two := func(n int64) {
		if n < 10 {
			dst = append(dst, '0')
		}
		dst = strconv.AppendInt(dst, n, 10)
	}
	seconds := micros / 1e6
	two(seconds / 3600)
	dst = append(dst, ':')
	two(seconds / 60 % 60)
	dst = append(dst, ':')
	two(seconds % 60)
	if scale > 0 {
		dst = append(dst, '.')
		unit := int64(1e6)
		for range min(scale, 6) {
			unit /= 10
			dst = append(dst, byte('0'+micros/unit%10))
		}
	}
	return dst
}
