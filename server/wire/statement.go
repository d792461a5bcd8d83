package wire

import (
	"context"
	"encoding/binary"

	"millrace/internal/sqlerr"
)

// attributeCount in the flags of COM_STMT_EXECUTE says that a count and names of parameters follow. The low bits ask for a cursor,
// which is not kept: all rows are sent, as the protocol allows.
const attributeCount = 8

// longData is what COM_STMT_SEND_LONG_DATA has brought for the next execution. That command has no answer, so its error waits too.
type longData struct {
	values map[uint16][]byte
	size   int
	err    *sqlerr.Error
}

func (c *connection) prepare(ctx context.Context, text string) error {
	if limit := c.server.cfg.MaxStatements; len(c.stmts) >= limit {
		return c.fail(sqlerr.New(sqlerr.TooManyStmts, "the connection holds %d prepared statements, which is the limit", limit).
			WithHint("close statements that are no longer used"))
	}
	st, err := c.session.Prepare(ctx, text)
	if err == nil && st.Params > maxParams {
		c.session.CloseStmt(st)
		err = sqlerr.New(sqlerr.NotSupported, "prepared statement with %d placeholders, more than %d", st.Params, maxParams)
	}
	if err != nil {
		return c.fail(errorFor(ctx, err))
	}
	for {
		c.lastID++
		if _, taken := c.stmts[c.lastID]; !taken && c.lastID != 0 {
			break
		}
	}
	st.ID = c.lastID
	c.stmts[st.ID] = st
	return c.prepared(st)
}

// prepared answers COM_STMT_PREPARE: a head, then definitions of parameters and of columns, each list ended by an EOF for old clients.
func (c *connection) prepared(st *Stmt) error {
	_, warnings, _ := c.state()
	w := c.w
	w.mu.Lock()
	defer w.mu.Unlock()
	b := append(w.begin(), headerOK)
	b = binary.LittleEndian.AppendUint32(b, st.ID)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(st.Columns)))
	b = binary.LittleEndian.AppendUint16(b, uint16(st.Params))
	b = binary.LittleEndian.AppendUint16(append(b, 0), warnings)
	w.end(b)
	eof := func(n int) {
		if n > 0 && c.capabilities&capDeprecateEOF == 0 {
			w.end(c.appendEOF(w.begin(), 0))
		}
	}
	param := Column{Name: "?", Type: TypeVarString, Charset: CharsetBinary, Flags: FlagBinary}
	for range st.Params {
		w.end(param.append(w.begin()))
	}
	eof(st.Params)
	for i := range st.Columns {
		w.end(st.Columns[i].append(w.begin()))
	}
	eof(len(st.Columns))
	return w.err
}

func (c *connection) execute(ctx context.Context, body []byte) error {
	k := cursor{b: body}
	st := c.stmts[uint32(k.uint(4))]
	flags := k.uint(1)
	k.uint(4) // the iteration count, always 1
	if k.bad {
		return c.fail(errMalformed)
	}
	if st == nil {
		return c.fail(sqlerr.New(sqlerr.NoStatement, "Unknown prepared statement handler given to EXECUTE"))
	}
	long := st.long
	st.long = longData{}
	if long.err != nil {
		return c.fail(long.err)
	}
	values, types, err := c.parameters(k, st, flags&attributeCount != 0, long.values)
	if err != nil {
		return c.fail(errorFor(ctx, err))
	}
	st.types = types
	args := make([]Param, st.Params)
	for i := range args {
		args[i] = values[i].Param
	}
	r := &Results{c: c, binary: true, attributes: values[st.Params:]}
	return c.conclude(ctx, r, "", c.session.Execute(ctx, st, args, r))
}

// parameters reads the values of an execution: those of the statement first, then query attributes. On an error the remembered types stay.
//
// A client that speaks query attributes puts their count and the names in only when it sets a flag. mysql-connector-python leaves the flag
// out when it has no attributes to send and writes count and names all the same, which MySQL understands; so a block that does not fit
// without them is read with them.
func (c *connection) parameters(k cursor, st *Stmt, counted bool, long map[uint16][]byte) ([]Attribute, []byte, error) {
	read := func(k cursor, counted bool) ([]Attribute, []byte, bool, error) {
		block := paramSet{n: st.Params, types: st.types, long: long}
		if counted {
			n := k.lenenc()
			if k.bad || n > maxParams || int(n) < st.Params {
				return nil, nil, false, errMalformed
			}
			block.n, block.named = int(n), true
		}
		if block.n == 0 {
			return nil, block.types, true, nil
		}
		values, types, err := block.decode(&k)
		return values, types, len(k.b) == 0, err
	}
	if c.capabilities&capQueryAttributes == 0 {
		counted = false
	}
	values, types, whole, err := read(k, counted)
	if (err != nil || !whole) && !counted && c.capabilities&capQueryAttributes != 0 {
		if v, t, whole, err := read(k, true); err == nil && whole {
			return v, t, nil
		}
	}
	return values, types, err
}

// longData collects a part of a parameter. There is no answer, whatever happens.
func (c *connection) longData(body []byte) {
	k := cursor{b: body}
	st := c.stmts[uint32(k.uint(4))]
	i := uint16(k.uint(2))
	if k.bad || st == nil {
		return
	}
	long := &st.long
	switch limit := c.server.cfg.MaxPacket; {
	case long.err != nil:
	case int(i) >= st.Params:
		long.err = sqlerr.New(sqlerr.BadParameters, "long data for parameter %d of %d", int(i)+1, st.Params)
	case len(k.b) > limit-long.size:
		long.values = nil
		long.err = sqlerr.New(sqlerr.PacketTooBig, "parameters sent in parts are larger than 'max_allowed_packet' (%d)", limit)
	default:
		if long.values == nil {
			long.values = map[uint16][]byte{}
		}
		long.values[i] = append(long.values[i], k.b...)
		long.size += len(k.b)
	}
}

func (c *connection) resetStatement(body []byte) error {
	k := cursor{b: body}
	st := c.stmts[uint32(k.uint(4))]
	if st == nil {
		return sqlerr.New(sqlerr.NoStatement, "Unknown prepared statement handler given to RESET")
	}
	st.long = longData{}
	return nil
}

// closeStatement has no answer.
func (c *connection) closeStatement(body []byte) {
	k := cursor{b: body}
	id := uint32(k.uint(4))
	if st := c.stmts[id]; st != nil {
		delete(c.stmts, id)
		c.session.CloseStmt(st)
	}
}
