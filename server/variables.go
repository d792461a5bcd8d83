package server

import (
	"net"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
)

// ServerVersion is what clients are told: the MySQL version whose behaviour they may expect, and who we are.
const ServerVersion = "8.0.36-millrace"

// prepareVariables sets the engine's system variables, which belong to the process, to what Millrace is. Engines made later share them.
var prepareVariables = sync.OnceFunc(func() {
	set := func(name string, value any) {
		v, _, ok := sql.SystemVariables.GetGlobal(name)
		if !ok {
			panic("the engine has no system variable " + name)
		}
		c := *v.(*sql.MysqlSystemVariable)
		c.Default = value
		sql.SystemVariables.AddSystemVariables([]sql.SystemVariable{&c})
	}
	set("version", ServerVersion)
	set("version_comment", "Millrace: SQL on Kafka")
	set("version_compile_os", runtime.GOOS)
	set("version_compile_machine", runtime.GOARCH)
	set("license", "Apache-2.0")
	// There is no socket file, and no port before a server listens (listensAt).
	set("socket", "")
	set("port", int64(0))
	set("bind_address", "")
	// The zone is UTC whatever TZ says: a timestamp of a record must not look different on another machine.
	set("time_zone", "+00:00")
	set("system_time_zone", "UTC")
	// NULL: SQL names no file of the server.
	set("secure_file_priv", nil)
	set("local_infile", int8(0))
	sql.SystemVariables.AddSystemVariables([]sql.SystemVariable{&sql.MysqlSystemVariable{
		Name: createVariable, Scope: sql.GetMysqlScope(sql.SystemVariableScope_Both), Dynamic: true, Type: types.NewSystemEnumType(createVariable, createWaits, createAsync, createBlind), Default: createWaits,
	}})
})

// listensAt tells clients where the server is that they are connected to.
func listensAt(a net.Addr) error {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return nil
	}
	return sql.SystemVariables.AssignValues(map[string]any{"port": int64(tcp.Port), "bind_address": tcp.IP.String()})
}

// The engine makes throw-away sessions in passing (plan.IsDualTable, several times a statement), each with a copy of all variables, which
// is half of what a small statement costs. Both registries are variables of the engine: the wrappers below hand out empty maps except
// while a session of a client is opened. Nobody reads variables from the throw-away ones.

var opening atomic.Int32

type cheapSystem struct{ sql.SystemVariableRegistry }

func (c cheapSystem) NewSessionMap() map[string]sql.SystemVarValue {
	if opening.Load() > 0 {
		return c.SystemVariableRegistry.NewSessionMap()
	}
	return map[string]sql.SystemVarValue{}
}

// cheapStatus also guards the registry: an engine that is made resets variables without a lock, while sessions of another one in the process read them.
type cheapStatus struct {
	sql.StatusVariableRegistry
	mu *sync.RWMutex
}

func (c cheapStatus) SetGlobal(name string, value any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.StatusVariableRegistry.SetGlobal(name, value)
}

func (c cheapStatus) NewGlobalMap() map[string]sql.StatusVarValue {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.StatusVariableRegistry.NewGlobalMap()
}

func (c cheapStatus) GetGlobal(name string) (sql.StatusVariable, any, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.StatusVariableRegistry.GetGlobal(name)
}

func (c cheapStatus) IncrementGlobal(name string, by int) {
	c.mu.RLock() // increments exclude each other
	defer c.mu.RUnlock()
	c.StatusVariableRegistry.IncrementGlobal(name, by)
}

func (c cheapStatus) NewSessionMap() map[string]sql.StatusVarValue {
	if opening.Load() > 0 {
		c.mu.RLock()
		defer c.mu.RUnlock()
		return c.StatusVariableRegistry.NewSessionMap()
	}
	return map[string]sql.StatusVarValue{}
}

// installCheapContexts wraps the registries; every new engine brings a new status registry, so it is called after each.
func installCheapContexts() {
	if _, done := sql.SystemVariables.(cheapSystem); !done {
		sql.SystemVariables = cheapSystem{sql.SystemVariables}
	}
	if _, done := sql.StatusVariables.(cheapStatus); !done {
		sql.StatusVariables = cheapStatus{sql.StatusVariables, new(sync.RWMutex)}
	}
}

// fullVariables runs open with the full variable maps.
func fullVariables[T any](open func() T) T {
	opening.Add(1)
	defer opening.Add(-1)
	return open()
}
