package main

import "os"

// Windows has no SIGHUP. A signal that never comes stands in: Notify without any would mean all.
var hangupSignals = []os.Signal{neverSignal{}}

type neverSignal struct{}

func (neverSignal) Signal()        {}
func (neverSignal) String() string { return "never" }
