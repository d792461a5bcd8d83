package ops

import (
	"cmp"
	"slices"

	"millrace/internal/column"
)

// sortedRow is a row of a batch with the begin of its first key, so that most comparisons touch nothing else.
type sortedRow struct {
	prefix uint64
	row    int32
}

// sorter compares rows of a batch by keys.
type sorter struct {
	order ordering
	keys  []*column.Vector
}

func (s *sorter) compare(a, b sortedRow) int {
	if a.prefix != b.prefix {
		return cmp.Compare(a.prefix, b.prefix)
	}
	return s.order.compare(s.keys, int(a.row), s.keys, int(b.row))
}

// fewFirst is how many times more rows there must be than are wanted for it to pay to look for those before sorting.
const fewFirst = 8

// sort gives the rows [0, n) of the keys in order; those behind the first want, unless it is negative, may be in any.
func (o ordering) sort(keys []*column.Vector, n, want int) []int32 {
	list := make([]sortedRow, n)
	for i := range list {
		list[i] = sortedRow{o.prefix(keys, i), int32(i)}
	}
	s := sorter{o, keys}
	first := list
	if want > 0 && n/fewFirst >= want {
		s.choose(list, want)
		first = list[:want]
	}
	slices.SortFunc(first, s.compare)
	order := make([]int32, n)
	for i, r := range list {
		order[i] = r.row
	}
	return order
}

// choose brings the first n rows of list to its begin: a heap of them with the last one on top, which each row of the others that comes before it replaces.
func (s *sorter) choose(list []sortedRow, n int) {
	heap := list[:n]
	for i := n/2 - 1; i >= 0; i-- {
		s.sink(heap, i)
	}
	for i := n; i < len(list); i++ {
		if s.compare(list[i], heap[0]) < 0 {
			list[i], heap[0] = heap[0], list[i]
			s.sink(heap, 0)
		}
	}
}

// sink restores the heap below i.
func (s *sorter) sink(heap []sortedRow, i int) {
	for {
		last := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(heap); child++ {
			if s.compare(heap[child], heap[last]) > 0 {
				last = child
			}
		}
		if last == i {
			return
		}
		heap[i], heap[last] = heap[last], heap[i]
		i = last
	}
}
