package ops

import (
	"sync"

	"millrace/internal/memory"
	"millrace/internal/spill"
)

// temp is the temporary file of a run, which all its lanes write to. It is made when it is first needed.
type temp struct {
	space  *spill.Space // nil when there is no place for files
	budget *memory.Budget

	mu   sync.Mutex
	file *spill.File
}

// append writes a block, which stays the caller's. It may be called from any lane.
func (t *temp) append(block []byte) (spill.Extent, error) {
	f, err := t.open()
	if err != nil {
		return spill.Extent{}, err
	}
	e, err := f.Append(block)
	if err == nil {
		t.budget.Spill(int64(len(block)))
	}
	return e, err
}

func (t *temp) open() (*spill.File, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file == nil {
		var err error
		if t.file, err = t.space.Create(); err != nil {
			return nil, err
		}
	}
	return t.file, nil
}

// read reads a block that append has written into buf, which may grow.
func (t *temp) read(e spill.Extent, buf []byte) ([]byte, error) { return t.file.Read(e, buf) }

// close removes the file. No lane runs any more.
func (t *temp) close() error {
	if t.file == nil {
		return nil
	}
	return t.file.Close()
}

// blockBytes is about the size of what is written to a temporary file at once.
const blockBytes = 64 << 10
