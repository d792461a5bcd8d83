// Package integration runs Millrace against real parts: an Apache Kafka broker, a schema registry, real MySQL clients and serializers, started by
// scripts/integration. Its tests are built with the tag integration only.
package integration
