package server

import (
	"sync"

	"github.com/dolthub/go-mysql-server/memory"
	"github.com/dolthub/go-mysql-server/sql"
)

// engineSession is a session as the engine knows it. The engine computes groups on one goroutine while it reads rows on another, and both may warn,
// but its own sessions have no lock.
type engineSession struct {
	*memory.Session
	warnings sync.Mutex
}

// Warn implements sql.Session.
func (s *engineSession) Warn(w *sql.Warning) {
	s.warnings.Lock()
	defer s.warnings.Unlock()
	s.Session.Warn(w)
}

// Warnings implements sql.Session.
func (s *engineSession) Warnings() []*sql.Warning {
	s.warnings.Lock()
	defer s.warnings.Unlock()
	return s.Session.Warnings()
}

// WarningCount implements sql.Session.
func (s *engineSession) WarningCount() uint16 {
	s.warnings.Lock()
	defer s.warnings.Unlock()
	return s.Session.WarningCount()
}

// ClearWarnings implements sql.Session.
func (s *engineSession) ClearWarnings() {
	s.warnings.Lock()
	defer s.warnings.Unlock()
	s.Session.ClearWarnings()
}

// ClearWarningCount implements sql.Session.
func (s *engineSession) ClearWarningCount() {
	s.warnings.Lock()
	defer s.warnings.Unlock()
	s.Session.ClearWarningCount()
}

// LockWarnings implements sql.Session.
func (s *engineSession) LockWarnings() {
	s.warnings.Lock()
	defer s.warnings.Unlock()
	s.Session.LockWarnings()
}

// UnlockWarnings implements sql.Session.
func (s *engineSession) UnlockWarnings() {
	s.warnings.Lock()
	defer s.warnings.Unlock()
	s.Session.UnlockWarnings()
}

// keepWarnings forgets all but the first limit warnings and says how many that were; locked sessions stay so.
func (s *engineSession) keepWarnings(limit int, locked bool) (dropped int) {
	s.warnings.Lock()
	defer s.warnings.Unlock()
	if int(s.Session.WarningCount()) <= limit {
		return 0
	}
	all := s.Session.Warnings() // the latest comes first
	if len(all) <= limit {
		return 0
	}
	s.Session.UnlockWarnings()
	s.Session.ClearWarnings()
	for i := range limit {
		s.Session.Warn(all[len(all)-1-i])
	}
	if locked {
		s.Session.LockWarnings()
	}
	return len(all) - limit
}
