// Package failpoint names places where a process may die, so that tests can let it die exactly there.
//
// Code calls Hit("commit.before") between two steps whose order matters. Nothing happens, unless the process's own main function has called Set, which only
// the test binary of test/crash does: no build tag, flag or variable of the server reaches it, and what is tested is the code that runs.
package failpoint

import "sync/atomic"

var hook atomic.Pointer[func(name string)]

// Hit says that the process has come to a place. It costs an atomic load.
func Hit(name string) {
	if f := hook.Load(); f != nil {
		(*f)(name)
	}
}

// Set makes f be called at every place from now on, from any goroutine; nil takes it away.
func Set(f func(name string)) {
	if f == nil {
		hook.Store(nil)
		return
	}
	hook.Store(&f)
}
