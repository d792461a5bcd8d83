package streaming

import (
	"time"

	"millrace/internal/option"
	"millrace/internal/sqlerr"
	"millrace/streaming/executor"
	"millrace/streaming/store"
)

// Property is an entry of TBLPROPERTIES.
type Property struct{ Name, Value string }

// Properties are the properties of streaming tables.
var Properties = option.New("TBLPROPERTIES", "property", "tables", "=",
	option.Option{Name: "trigger", Type: option.Enum, Words: []string{"continuous", "manual"}, Default: "continuous", Doc: "Whether the table reads all the time or only when it is refreshed.", Example: "'manual'"},
	option.Option{Name: "max_batch_rows", Type: option.Long, Min: 1, Max: 100_000_000, Default: "500000", Doc: "The most rows of a commit, about.", Example: "'100000'"},
	option.Option{Name: "max_batch_bytes", Type: option.Long, Min: 1024, Max: 4 << 30, Default: "67108864", Doc: "The most bytes of a commit, about.", Example: "'16777216'"},
	option.Option{Name: "max_batch_interval", Type: option.Duration, Default: "100 milliseconds", Doc: "The most that commits of a caught-up table wait for each other when there are many tables.", Example: "'50 milliseconds'"},
	option.Option{Name: "durability", Type: option.Enum, Words: []string{"sync", "async"}, Default: "sync", Doc: "Whether each commit waits for the disk. With async a power cut may undo the last second, rows and positions alike, and it is read again.", Example: "'async'"},
	option.Option{Name: "partition_discovery_interval", Type: option.Duration, Doc: "How often new topics and partitions are looked for.", DefaultNote: "5 s", Example: "'1 minute'"},
	option.Option{Name: "errors.max_bytes", Type: option.Long, Min: 1, Max: 1 << 40, Default: "67108864", Doc: "The size of the table of bad records beyond which the older ones go.", Example: "'1048576'"},
	option.Option{Name: "decode_parallelism", Type: option.Int, Min: 0, Max: 1024, Default: "0", Doc: "How many lanes read a backlog; 0 for the default.", Example: "'2'", Batch: option.Later},
	option.Option{Name: "retention", Type: option.Duration, Doc: "How old rows may get: those that are older are removed.", DefaultNote: "none", Example: "'30 days'"},
	option.Option{Name: "retention.column", Type: option.String, Doc: "The column that tells how old a row is: a DATETIME, TIMESTAMP or DATE.", DefaultNote: "the one column of that sort, or the one named timestamp", Example: "'ts'"},
	option.Option{Name: "merge", Type: option.Enum, Words: []string{"append", "upsert"}, Default: "append", Doc: "What a row does to one with the same key.", Example: "'append'", Batch: option.Later},
)

// settings are what properties say.
func settings(properties []Property, most int64) (executor.Settings, store.Durability, error) {
	pairs := make([]option.Pair, len(properties))
	for i, p := range properties {
		pairs[i] = option.Pair{Name: p.Name, Value: p.Value}
	}
	v, err := Properties.Bind(pairs, false)
	if err != nil {
		return executor.Settings{}, 0, err
	}
	s := executor.Settings{
		Manual: v.String("trigger") == "manual", MaxRows: v.Int("max_batch_rows"), MaxBytes: v.Int("max_batch_bytes"), Interval: v.Duration("max_batch_interval"),
		Discovery: v.Duration("partition_discovery_interval"), ErrorBytes: v.Int("errors.max_bytes"),
	}
	if v.Has("partition_discovery_interval") && s.Discovery < 10*time.Millisecond {
		return s, 0, sqlerr.New(sqlerr.OptionInvalid, "'partition_discovery_interval' is %v, allowed is 10 milliseconds and more", s.Discovery)
	}
	if most > 0 && !v.Has("max_batch_bytes") {
		s.MaxBytes = min(s.MaxBytes, most)
	}
	durability := store.Sync
	if v.String("durability") == "async" {
		durability = store.Async
	}
	return s, durability, nil
}

// asMap gives properties as the catalog keeps them.
func asMap(properties []Property) map[string]string {
	if len(properties) == 0 {
		return nil
	}
	m := map[string]string{}
	for _, p := range properties {
		name := p.Name
		if o := Properties.Lookup(name); o != nil {
			name = o.Name
		}
		m[name] = p.Value
	}
	return m
}

func asList(m map[string]string) []Property {
	var list []Property
	for name, value := range m {
		list = append(list, Property{name, value})
	}
	return list
}
