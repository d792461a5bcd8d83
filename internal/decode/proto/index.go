package proto

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"millrace/internal/decode"
)

// first is the path that nearly all records have. It is shared and never changed.
var first = []int{0}

// MessageIndex reads the message index that stands behind the schema id in records of a schema registry: a count and as many numbers, each a zigzag
// varint; a count of 0 is short for the path [0]. It returns the path for Files.MessageByIndex, which the caller must not change, and the message
// behind it. An error is a *decode.Error. The path [0] is not allocated; for others see SplitMessageIndex.
func MessageIndex(record []byte) (path []int, rest []byte, err error) {
	index, rest, err := SplitMessageIndex(record)
	if err != nil {
		return nil, nil, err
	}
	return messagePath(index), rest, nil
}

// SplitMessageIndex cuts the message index off the front of a record without allocating: equal bytes are equal paths, so they serve as a key for
// what was made of the path before.
func SplitMessageIndex(record []byte) (index, rest []byte, err error) {
	count, p := zigzag(record, 0)
	// Nesting bounds the count, and each number takes at least a byte.
	if p >= 0 && (count < 0 || count > decode.MaxDepth) {
		p = malformed
	}
	for i := int64(0); p >= 0 && i < count; i++ {
		var number int64
		if number, p = zigzag(record, p); p >= 0 && (number < 0 || number > 1<<30) {
			p = malformed
		}
	}
	switch p {
	case truncated:
		return nil, nil, &decode.Error{Reason: decode.Truncated, Offset: len(record), Detail: "message index"}
	case malformed:
		return nil, nil, &decode.Error{Reason: decode.Malformed, Offset: 0, Detail: "message index"}
	}
	return record[:p:p], record[p:], nil
}

// messagePath reads the numbers of an index that SplitMessageIndex has checked.
func messagePath(index []byte) []int {
	count, p := zigzag(index, 0)
	if count == 0 || count == 1 && index[p] == 0 {
		return first
	}
	path := make([]int, count)
	for k := range path {
		var number int64
		number, p = zigzag(index, p)
		path[k] = int(number)
	}
	return path
}

// zigzag reads a varint at p as uvarint does.
func zigzag(b []byte, p int) (value int64, next int) {
	u, next := uvarint(b, p)
	return int64(u>>1) ^ -int64(u&1), next
}

// AppendIndex appends the message index of m, as it stands behind the schema id in records of a schema registry.
func (m *Message) AppendIndex(dst []byte) []byte {
	var path []int
	d, err := m.files.all.FindDescriptorByName(protoreflect.FullName(m.name))
	if err != nil {
		panic(err) // m was made of it
	}
	for ; d != nil; d = d.Parent() {
		if _, ok := d.(protoreflect.MessageDescriptor); ok {
			path = append(path, d.Index())
		}
	}
	if len(path) == 1 && path[0] == 0 {
		return append(dst, 0) // short for the path [0]
	}
	dst = protowire.AppendVarint(dst, protowire.EncodeZigZag(int64(len(path))))
	for _, i := range slices.Backward(path) {
		dst = protowire.AppendVarint(dst, protowire.EncodeZigZag(int64(i)))
	}
	return dst
}
