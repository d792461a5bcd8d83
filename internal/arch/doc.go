// Package arch holds no code: its test checks that layers import one way, as ARCHITECTURE.md draws them.
package arch
