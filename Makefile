# Every target that CI runs can be run here by hand with the same result. `make` alone lists them.
SHELL := /bin/bash
TAGS  := gms_pure_go
PKG   ?= ./...
TESTS ?= .
# CI sets CI=true: -race, more histories and queries, fuzzing. A stranger waits minutes, not an hour.
RACE  := $(if $(CI),-race,)
# How long the tests of a package may take: minutes of kills and comparisons, on a machine that does other things besides.
LONGEST := 30m
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
export CGO_ENABLED ?= 0
# The race detector needs cgo; nothing else does.
test race: export CGO_ENABLED = $(if $(RACE)$(filter race,$(MAKECMDGOALS)),1,0)

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

.PHONY: build
build: ## the static binary, bin/millrace
	go build -tags $(TAGS) -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o bin/millrace ./cmd/millrace

.PHONY: demo
demo: build ## embedded broker, sample topics, a tour of statements; needs nothing but Go. bin/millrace demo stays
	bin/millrace demo --tour

.PHONY: test
test: ## everything that needs only Go
	go test -tags $(TAGS) $(RACE) -timeout $(LONGEST) -run '$(TESTS)' $(PKG)
	$(if $(RACE),CGO_ENABLED=0 go test -tags $(TAGS) -timeout $(LONGEST) -run '^TestGeneratedQueriesAgree$$' ./planner)

.PHONY: race
race: ## the same with the race detector
	go test -tags $(TAGS) -race -timeout $(LONGEST) -run '$(TESTS)' $(PKG)

.PHONY: lint
lint: ## formatting, vet, staticcheck, the layers, cross-builds
	scripts/lint

.PHONY: fuzz
fuzz: ## each fuzz target, longer where code changed since BASE
	scripts/fuzz

.PHONY: nightly
nightly: ## what is too long for each change: race, long fuzzing, real Kafka, benchmarks
	scripts/nightly

.PHONY: generate
generate: ## regenerate docs from code; CI checks that nothing changes
	go generate -tags $(TAGS) ./...

.PHONY: integration
integration: build ## the behaviour suite on real Apache Kafka and a real schema registry, with real MySQL clients
	scripts/integration

.PHONY: bench
bench: build bin/bench ## every benchmark against its baseline, into bench/results/latest.md
	bin/bench

.PHONY: bench-quick
bench-quick: build bin/bench ## the same on a twentieth of the data, in minutes
	bin/bench -records 500000 -pairs 2 -seconds 0.5 -slopes=false -out .build/bench/quick

.PHONY: bench-check
bench-check: build bin/bench ## measures again and fails when something became slower than bench/results/latest.json
	bin/bench check

.PHONY: bench-kafka
bench-kafka: build bin/bench ## the same on Apache Kafka, into bench/results/kafka.md
	bin/bench -kafka -out bench/results/kafka

.PHONY: bench-postgres
bench-postgres: build bin/bench ## streaming tables in PostgreSQL, against COPY, into bench/results/postgres.md
	bin/bench -postgres -records 2000000 -only P10,P11 -slopes=false -out bench/results/postgres

.PHONY: bin/bench
bin/bench:
	go build -tags $(TAGS) -o bin/bench ./bench
