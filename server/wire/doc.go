// Package wire is the server side of the MySQL client/server protocol: it lets any MySQL client log in, send statements and
// read results of any size in bounded memory.
//
// The package knows packets, not SQL. Whoever uses it supplies two things: Accounts, which finds the stored credentials of a
// user, and a Session for each connection, which executes statements and answers through Results. It is written for results
// that are long, slow, or both:
//
//	listener ─ Server ─ connection ┬ reader goroutine: frames packets one ahead, so a peer that leaves is noticed at once
//	                               └ command goroutine: login, then one command at a time
//	                                     │ Session.Query(ctx, text, results)
//	                                     ▼
//	                                  Results: Columns, Row or Batch, EndRows
//	                                     │ values appended in place, no allocation per row
//	                                     ▼
//	                                  writer: one buffer, sent when 64 KB are full, when the command ends,
//	                                          or when a millisecond passes without news
//
// # Limits
//
// A peer that has not logged in gets little memory (1 MB, and only as bytes arrive) and little time. A client that reads slowly
// stalls the statement that writes to it and nobody else; one that does not read at all is cut off after Config.WriteTimeout.
//
// # What is not offered
//
// LOCAL INFILE, old (pre-4.1) handshakes, cursors (the flag is ignored, all rows are sent, as the protocol allows), and optional
// result set metadata: column definitions are always sent, at once, so that a client of a long statement sees its shape early.
package wire
