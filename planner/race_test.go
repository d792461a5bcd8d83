//go:build race

package planner

func init() { raceDetector = true }
