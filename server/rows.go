package server

import (
	"path/filepath"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/sqltypes"

	"millrace/internal/column"
	"millrace/internal/failpoint"
	"millrace/streaming/store"
	"millrace/streaming/store/pebblestore"
)

// The parts of the memory limit that tables may take: what was decoded and may be asked for again, what waits to be written, and the rows of one commit.
const (
	cacheShare = 8
	tableShare = 64
	batchShare = 16
	// insertShare is for the rows of one INSERT, which are committed together.
	insertShare = 4
	mostCache   = 256 << 20
)

// openStore opens the store of all tables: below the data directory, or in memory when there is none.
func openStore(cfg Config) (store.Store, error) {
	o := pebblestore.Options{
		Log: cfg.Log, CacheBytes: min(cfg.memory/cacheShare, mostCache), BlockCacheBytes: min(cfg.memory/tableShare, 16<<20), MemTableBytes: uint64(min(max(cfg.memory/tableShare, 1<<20), 16<<20)),
		Failpoint: func(name string) { failpoint.Hit("store." + name) },
	}
	if cfg.DataDir == "" {
		return pebblestore.OpenMemory(o)
	}
	if cfg.storeOptions != nil {
		cfg.storeOptions(&o)
	}
	return pebblestore.Open(filepath.Join(cfg.DataDir, "store"), o)
}

// errorTypes are the SQL types of the columns of tables of bad records.
var errorTypes = map[column.Kind]sql.Type{
	column.Text: types.LongText, column.Int32: types.Int32, column.Int64: types.Int64, column.Bytes: types.LongBlob, column.Timestamp: types.MustCreateDatetimeType(sqltypes.Datetime, 3),
}
