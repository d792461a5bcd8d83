// Package schedule says when a table that does not read all the time shall read: every so often, by a cron expression of Quartz in a time zone, or when there is
// something new but not more often than that. It computes times and nothing else: whoever asks has the clock.
package schedule
