package server

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"millrace/internal/catalog"
)

// madeByQuery tells, after statements that ran in a process without a data folder, what they have made that is gone with it.
type madeByQuery struct {
	// first is the catalog before all of the statements, last the one before the last of them.
	first, last catalog.State
}

// goes lists what users would look for later. Streaming tables, flows and accounts are made to last. Tables, views, databases and connections may have been made for the statements that followed,
// so they are listed only when there was none.
func (u madeByQuery) goes(now catalog.State) []string {
	var gone []string
	add := func(what string, names ...string) { gone = append(gone, what+" '"+strings.Join(names, ".")+"'") }
	for _, key := range slices.Sorted(maps.Keys(now.Databases)) {
		d, before := now.Databases[key], u.last.Databases[key]
		if before.Name == "" {
			add("database", d.Name)
		}
		for _, name := range slices.Sorted(maps.Keys(d.Tables)) {
			_, helps := before.Tables[name]
			switch t := d.Tables[name]; {
			case t.Streaming != nil && t.Streaming.Sink != "":
				add("flow", d.Name, t.Name)
			case t.Streaming != nil:
				add("streaming table", d.Name, t.Name)
			case !helps:
				add("table", d.Name, t.Name)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(d.Views)) {
			if _, helps := before.Views[name]; !helps {
				add("view", d.Name, d.Views[name].Name)
			}
		}
	}
	for _, kind := range []struct {
		what        string
		now, before map[string]catalog.Connection
	}{{"connection", now.Connections, u.last.Connections}, {"credential", now.Credentials, u.last.Credentials}} {
		for _, name := range slices.Sorted(maps.Keys(kind.now)) {
			if _, helps := kind.before[name]; !helps {
				add(kind.what, name)
			}
		}
	}
	if !bytes.Equal(now.Grants, u.first.Grants) {
		gone = append(gone, "users and grants")
	}
	return gone
}

// warning is the text of that, empty when nothing is to be said.
func (u madeByQuery) warning(now catalog.State) string {
	gone := u.goes(now)
	if len(gone) == 0 {
		return ""
	}
	return fmt.Sprintf("not kept, as this process has no '--data-dir' and ends now: %s; make them at a server (millrace serve), or name its folder while it is stopped", strings.Join(gone, ", "))
}
