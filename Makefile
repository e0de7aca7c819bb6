.PHONY: build test race lint fuzz bench ci

build: ## the binary, ./allswell
	CGO_ENABLED=0 go build ./cmd/allswell

test: ## everything; PostgreSQL and the browser only where they are installed
	go test ./...

race: ## what runs concurrently, under the race detector (needs a C compiler)
	.ci/run race

lint: ## gofmt, go vet, staticcheck
	.ci/run format vet lint

fuzz: ## each fuzz target for two seconds or more
	.ci/run fuzz

bench: ## the promised figures, as ratios of one run
	go run ./bench

ci: ## all checks that a change must pass
	.ci/run
