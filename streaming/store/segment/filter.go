package segment

import (
	"encoding/binary"
	"hash/crc32"

	"millrace/internal/column"
	"millrace/streaming/store"
)

// A filter is a Bloom filter in blocks of 64 bytes, so that a look-up touches one line of cache: about 10 bits a value and 6 probes, 1-2 % of other
// values pass. Blocks first, CRC-32C behind.
const (
	filterBlock = 64
	filterBits  = 10
	filterPeeks = 6
)

// Filterable reports whether filters are of use for a kind: equality of values must be equality of bytes.
func Filterable(k column.Kind) bool {
	switch k {
	case column.Int32, column.Int64, column.Uint64, column.Text, column.Bytes:
		return true
	default:
		return false
	}
}

func newFilter(hashes []uint64) []byte {
	blocks := max(1, (len(hashes)*filterBits+filterBlock*8-1)/(filterBlock*8))
	f := make([]byte, blocks*filterBlock, blocks*filterBlock+sumBytes)
	for _, h := range hashes {
		b := blockOf(f, h)
		for range filterPeeks {
			h = h*mulA + 1
			bit := h >> 55
			b[bit>>3] |= 1 << (bit & 7)
		}
	}
	return binary.LittleEndian.AppendUint32(f, crc32.Checksum(f, castagnoli))
}

// blockOf picks a block by the upper half of the hash; the probes come from what multiplication makes of all of it.
func blockOf(f []byte, h uint64) []byte {
	i := (h >> 32) * uint64(len(f)/filterBlock) >> 32
	return f[i*filterBlock:][:filterBlock]
}

// Hash is the hash of a value for MayContain.
func Hash(v store.Value, k column.Kind) uint64 {
	if k.IsView() {
		return hashBytes([]byte(v.Bytes()))
	}
	return hashInt(v.Int64())
}

// CheckFilter verifies a filter once, after it was read.
func CheckFilter(f []byte) error {
	n := len(f) - sumBytes
	if n < filterBlock || n%filterBlock != 0 || crc32.Checksum(f[:n], castagnoli) != binary.LittleEndian.Uint32(f[n:]) {
		return corrupt("a filter of %d bytes fails its checksum", len(f))
	}
	return nil
}

// MayContain reports whether a value of that hash may be in the column. The filter has been checked.
func MayContain(f []byte, h uint64) bool {
	b := blockOf(f[:len(f)-sumBytes], h)
	for range filterPeeks {
		h = h*mulA + 1
		bit := h >> 55
		if b[bit>>3]>>(bit&7)&1 == 0 {
			return false
		}
	}
	return true
}
