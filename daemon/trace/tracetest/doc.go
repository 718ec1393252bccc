// Package tracetest is a collector of OpenTelemetry for tests: it takes spans over OTLP and HTTP, and keeps them.
package tracetest
