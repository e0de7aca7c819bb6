package database

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// The methods in this file are for tests. Call them while db is not in use.

// SetFault makes every writing transaction call fault before and after each of its statements and its "COMMIT", and
// Listen before it listens. The statement fails with the error that fault returns. nil removes it.
func (db *DB) SetFault(fault func(when, statement string) error) { db.fault = fault }

// TraceStatements calls started for each statement that db begins on connections that it
// opens from now on, BEGIN and COMMIT included. It is for PostgreSQL only.
func (db *DB) TraceStatements(started func(statement string)) {
	for _, host := range db.primary.hosts {
		host.Tracer = tracer(started)
	}
	if db.kept != nil {
		db.kept.Retire() // they would not be traced
	}
	db.writer.SetMaxIdleConns(0) // closes the open ones
	db.writer.SetMaxIdleConns(postgresConnections)
}

type tracer func(statement string)

// TraceQueryStart is part of pgx.QueryTracer.
func (t tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	t(data.SQL)
	return ctx
}

// TraceQueryEnd is part of pgx.QueryTracer.
func (tracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
