// Package crash kills servers. A child process, the test binary itself, serves a streaming table while a producer writes; it is killed with SIGKILL at random moments and
// at named points between fetch and commit, again and again. At the end every record must be there once, and the positions must say so.
//
// go test -kills 200 kills more often; CI=true makes that the default. With -broker the records come from a broker that runs already: scripts/integration gives it a real
// Apache Kafka.
package crash
