.PHONY: build test race lint fuzz bench ci

build: ## the binary, ./allswell
	CGO_ENABLED=0 go build ./cmd/allswell

test: ## everything; PostgreSQL and the browser only where they are installed
	go test ./...

race: ## the same under the race detector (needs a C compiler)
	CGO_ENABLED=1 go test -race $$(go list ./... | grep -v /test/)

lint: ## gofmt, go vet, staticcheck
	.ci/run format vet lint

fuzz: ## each fuzz target for three seconds
	.ci/run fuzz

bench: ## the promised figures, as ratios of one run
	go run ./bench

ci: ## all checks that a change must pass
	.ci/run
