package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"millrace/internal/sqlerr"
)

// errNoSession ends a connection that lost its session in the middle of COM_CHANGE_USER.
var errNoSession = errors.New("no session")

// command runs one command and leaves its answer in the writer. An error means that the connection cannot go on.
func (c *connection) command(ctx context.Context, data []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			c.server.cfg.Log.Error("panic in a command", "connection", c.id, "user", c.user(), "command", data[0], "statement", c.loggable(data),
				"panic", p, "stack", string(debug.Stack()))
			if err = c.fail(sqlerr.New(sqlerr.Unexpected, "internal error: %v", p)); err == nil && c.session == nil {
				err = errNoSession
			}
		}
	}()
	switch body := data[1:]; data[0] {
	case comQuery:
		return c.query(ctx, body)
	case comStmtExecute:
		return c.execute(ctx, body)
	case comStmtPrepare:
		return c.prepare(ctx, string(body))
	case comStmtClose:
		c.closeStatement(body)
		return nil
	case comStmtLongData:
		c.longData(body)
		return nil
	case comStmtReset:
		return c.answer(ctx, c.resetStatement(body))
	case comStmtFetch:
		return c.fail(sqlerr.New(sqlerr.NotSupported, "there is no cursor to fetch from: all rows were sent by the execution"))
	case comPing:
		return c.answer(ctx, nil)
	case comInitDB:
		return c.answer(ctx, c.session.UseDB(ctx, string(body)))
	case comResetConnection:
		c.closeStatements(c.session)
		return c.answer(ctx, c.session.Reset(ctx))
	case comChangeUser:
		return c.changeUser(body)
	case comProcessKill:
		return c.processKill(ctx, body)
	case comStatistics:
		text := c.session.Statistics()
		return c.w.packet(func(b []byte) []byte { return append(b, text...) })
	case comFieldList:
		return c.fieldList(ctx, body)
	case comSetOption:
		return c.setOption(body)
	default:
		return c.fail(sqlerr.New(sqlerr.UnknownCmd, "Unknown command %d", data[0]))
	}
}

func (c *connection) user() string {
	if facts := c.facts.Load(); facts != nil {
		return facts.User
	}
	return ""
}

// loggable is the statement of a command, without secrets; COM_CHANGE_USER has nothing to show.
func (c *connection) loggable(data []byte) string {
	switch data[0] {
	case comQuery, comStmtPrepare, comInitDB, comFieldList:
		return c.server.cfg.Redact(string(data[1:]))
	}
	return ""
}

// answer is that of commands which return nothing.
func (c *connection) answer(ctx context.Context, err error) error {
	if err != nil {
		return c.fail(errorFor(ctx, err))
	}
	return c.ok(headerOK, 0, 0, "", 0)
}

func (c *connection) query(ctx context.Context, body []byte) error {
	k := cursor{b: body}
	r := &Results{c: c, multi: c.capabilities&capMultiStatements != 0}
	if c.capabilities&capQueryAttributes != 0 {
		n, sets := k.lenenc(), k.lenenc()
		if k.bad || n > maxParams || sets != 1 {
			return c.fail(errMalformed)
		}
		if n > 0 {
			var err error
			block := paramSet{n: int(n), named: true}
			if r.attributes, _, err = block.decode(&k); err != nil {
				return c.fail(errorFor(ctx, err))
			}
		}
	}
	text := string(k.b)
	return c.conclude(ctx, r, text, c.session.Query(ctx, text, r))
}

// conclude ends the answer of a statement after the session is done with it.
func (c *connection) conclude(ctx context.Context, r *Results, statement string, err error) error {
	if err == nil && r.state != answered {
		err = fmt.Errorf("%w: the statement ended without an answer", errOrder)
	}
	if err == nil {
		return nil
	}
	e := errorFor(ctx, err)
	if e.Kind == sqlerr.Unexpected {
		c.server.cfg.Log.Error("statement failed unexpectedly", "connection", c.id, "user", c.user(), "statement", c.server.cfg.Redact(statement), "error", err)
	}
	if r.state == answered {
		return nil // the client has its answer; a second one would be taken for that of its next command
	}
	return c.fail(e)
}

// changeUser logs in again on the same connection. The challenge of the greeting is used up, so a new one is sent whatever the client
// put into the packet. When it fails the connection ends, as with MySQL.
func (c *connection) changeUser(body []byte) error {
	k := cursor{b: body}
	facts := &Conn{ID: c.id, Host: c.host, Capabilities: c.capabilities, TLS: c.tlsState()}
	facts.User = k.cstring()
	k.bytes(int(k.uint(1)))
	facts.Database = k.cstring()
	if len(k.b) >= 2 {
		facts.Charset = byte(k.uint(2))
	}
	if c.capabilities&capPluginAuth != 0 {
		k.cstring()
	}
	if c.capabilities&capConnectAttrs != 0 && len(k.b) > 0 {
		facts.Attributes = parseAttributes(k.lenencBytes())
	}
	if k.bad {
		c.refuse(errMalformed)
		return errMalformed
	}
	c.endSession()
	c.db = ""
	if err := c.reenter(facts); err != nil {
		c.refuse(err)
		return err
	}
	return nil
}

// reenter is the login of COM_CHANGE_USER. It has as much time as the first one.
func (c *connection) reenter(facts *Conn) error {
	if err := c.raw.SetReadDeadline(time.Now().Add(c.server.cfg.LoginTimeout)); err != nil {
		return err
	}
	if err := c.authenticate(facts, "", nil); err != nil {
		return err
	}
	if err := c.raw.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	return c.enterSession(facts, false)
}

func (c *connection) processKill(ctx context.Context, body []byte) error {
	k := cursor{b: body}
	id := uint32(k.uint(4))
	if k.bad {
		return c.fail(errMalformed)
	}
	return c.answer(ctx, c.session.Kill(ctx, id))
}

// fieldList answers with bare column definitions, each with a default value after it.
func (c *connection) fieldList(ctx context.Context, body []byte) error {
	k := cursor{b: body}
	table := k.cstring()
	wildcard := string(bytes.TrimSuffix(k.b, []byte{0}))
	columns, err := c.session.FieldList(ctx, table, wildcard)
	if err != nil {
		return c.fail(errorFor(ctx, err))
	}
	for i := range columns {
		if err := c.w.packet(func(b []byte) []byte { return append(columns[i].append(b), nullValue) }); err != nil {
			return err
		}
	}
	return c.end(0)
}

func (c *connection) setOption(body []byte) error {
	k := cursor{b: body}
	switch on := k.uint(2); {
	case k.bad || on > 1:
		return c.fail(errMalformed)
	case on == 0: // MYSQL_OPTION_MULTI_STATEMENTS_ON
		c.capabilities |= capMultiStatements
	default:
		c.capabilities &^= capMultiStatements
	}
	return c.end(0)
}
