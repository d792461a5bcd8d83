package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/go-sql-driver/mysql"
)

// rawClient takes rows off a server and looks at nothing but where packets end. A driver costs two to three times what a server spends on a row, so with
// one the fastest of servers could not be told from the others.
type rawClient struct {
	conn net.Conn
	r    *bufio.Reader
	seq  byte
	buf  []byte
}

const (
	clientProtocol41   = 1 << 9
	clientTransactions = 1 << 13
	clientSecure       = 1 << 15
	clientWithDB       = 1 << 3
	clientPluginAuth   = 1 << 19
)

// dialRaw logs in as a user without a password.
func dialRaw(ctx context.Context, dsn string) (*rawClient, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, cfg.Net, cfg.Addr)
	if err != nil {
		return nil, err
	}
	c := &rawClient{conn: conn, r: bufio.NewReaderSize(conn, 256<<10)}
	if err := c.login(cfg.User, cfg.DBName); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return c, nil
}

func (c *rawClient) login(user, db string) error {
	if _, err := c.packet(); err != nil { // the greeting: without a password its challenge does not matter
		return err
	}
	b := binary.LittleEndian.AppendUint32(nil, clientProtocol41|clientTransactions|clientSecure|clientWithDB|clientPluginAuth)
	b = binary.LittleEndian.AppendUint32(b, 1<<24-1)
	b = append(b, 45) // utf8mb4
	b = append(b, make([]byte, 23)...)
	b = append(append(b, user...), 0, 0)
	b = append(append(b, db...), 0)
	b = append(append(b, "mysql_native_password"...), 0)
	if err := c.send(b); err != nil {
		return err
	}
	for {
		p, err := c.packet()
		if err != nil {
			return err
		}
		switch p[0] {
		case 0:
			return nil
		case 0xfe: // another method: the answer to its challenge is as empty
			if err := c.send(nil); err != nil {
				return err
			}
		case 0x01: // more to come
		case 0xff:
			return serverError(p)
		default:
			return fmt.Errorf("login: unexpected packet %x", p[0])
		}
	}
}

func serverError(p []byte) error { return fmt.Errorf("server: %s", p[min(3, len(p)):]) }

func (c *rawClient) send(payload []byte) error {
	head := []byte{byte(len(payload)), byte(len(payload) >> 8), byte(len(payload) >> 16), c.seq}
	c.seq++
	_, err := c.conn.Write(append(head, payload...))
	return err
}

// packet is the next packet, valid until the one after it. Payloads of 16 MB and more do not occur here.
func (c *rawClient) packet() ([]byte, error) {
	head, err := c.r.Peek(4)
	if err != nil {
		return nil, err
	}
	n := int(head[0]) | int(head[1])<<8 | int(head[2])<<16
	c.seq = head[3] + 1
	if _, err := c.r.Discard(4); err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, fmt.Errorf("empty packet")
	}
	if n > cap(c.buf) {
		c.buf = make([]byte, n)
	}
	_, err = io.ReadFull(c.r, c.buf[:n])
	return c.buf[:n], err
}

// drain sends a query and counts the rows of its answer.
func (c *rawClient) drain(query string) (rows int64, err error) {
	c.seq = 0
	if err := c.send(append([]byte{3}, query...)); err != nil {
		return 0, err
	}
	p, err := c.packet()
	if err != nil {
		return 0, err
	}
	if p[0] == 0xff {
		return 0, serverError(p)
	}
	for ends := 0; ends < 2; { // an EOF after the definitions of columns, one after the rows
		if p, err = c.packet(); err != nil {
			return rows, err
		}
		switch {
		case p[0] == 0xfe && len(p) < 9:
			ends++
		case p[0] == 0xff:
			return rows, serverError(p)
		case ends == 1:
			rows++
		}
	}
	return rows, nil
}

func (c *rawClient) close() error { return c.conn.Close() }
