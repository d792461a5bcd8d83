package convert

import "strconv"

// AppendTime appends a TIME, which may be negative or of many hours, as [-]hh:mm:ss, with microseconds where there are some.
func AppendTime(dst []byte, micros int64) []byte {
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
	if rest := micros % 1e6; rest != 0 {
		dst = append(dst, '.')
		at := len(dst)
		dst = strconv.AppendInt(dst, 1e6+rest, 10) // with a leading 1, which keeps the zeros
		dst = append(dst[:at], dst[at+1:]...)
	}
	return dst
}
