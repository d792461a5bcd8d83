package readkafka

import (
	"context"

	"github.com/dolthub/go-mysql-server/sql"

	"millrace/internal/column"
	"millrace/internal/decode"
	"millrace/internal/decode/framed"
	"millrace/internal/decode/proto"
	"millrace/internal/option"
	"millrace/internal/sqlerr"
)

// schemaOptions are the options of functions that decode by a registry.
var schemaOptions = option.New("the map", "option", "", "', '", append(RegistryArguments(), subjectArguments()...)...)

// OpenSchema gives the schema of records that begin with the id of a schema, by the options of a function; the user must be allowed to reach out.
func (e Env) OpenSchema(ctx *sql.Context, function, format, message string, options []option.Pair) (s decode.Schema, bare bool, err error) {
	if e.Privileges != nil && !e.Privileges().UserHasPrivileges(ctx, sql.NewDynamicPrivilegedOperation(Privilege)) {
		return nil, false, sqlerr.New(sqlerr.NotGranted, "'%s' with a schema registry needs the privilege %s", function, Privilege)
	}
	v, err := schemaOptions.Bind(options, false)
	if err != nil {
		return nil, false, err
	}
	if v.Has("keySubject") {
		return nil, false, schemaOptions.Unknown(v.As("keySubject")) // the function does not know of keys
	}
	if err := v.Require("schemaRegistryUrl"); err != nil {
		return nil, false, err
	}
	if err := v.Require("schemaRegistrySubject"); err != nil {
		return nil, false, err
	}
	a, err := bindRegistry(v, e.In(ctx))
	if err != nil {
		return nil, false, err
	}
	if err := a.bindSubjects(v); err != nil {
		return nil, false, err
	}
	registered, err := e.Registries.subject(ctx, &a, a.subject)
	if err != nil {
		return nil, false, err
	}
	w := writers{registries: e.Registries, args: a}
	if format == "proto" {
		reader, err := w.message(registered, a.subject, message)
		if err != nil {
			return nil, false, err
		}
		return framed.New(&messageWriters{protoWriters{w, reader}}), true, nil
	}
	of, bare, err := w.of(registered, a.subject, format, message, partValue)
	if err != nil {
		return nil, false, err
	}
	return framed.New(of), bare, nil
}

// messageWriters show whole messages as from_protobuf does, as JSON objects.
type messageWriters struct{ protoWriters }

func (w *messageWriters) Fields() []column.Field {
	return []column.Field{{Name: "value", Type: column.Type{Kind: column.JSON}, Nullable: true}}
}

func (w *messageWriters) Compile(ctx context.Context, id framed.ID, index []byte, wanted []int) (decode.Plan, error) {
	if _, err := w.protoWriters.Compile(ctx, id, index, nil); err != nil {
		return nil, err
	}
	check, err := w.reader.Compile(nil)
	return messagePlan{check, w.reader}, err
}

// messagePlan writes records as JSON by the reader's message: fields of the writer's that it does not have are left out.
type messagePlan struct {
	decode.Plan
	message *proto.Message
}

func (p messagePlan) NewDecoder(ctx context.Context) decode.Decoder {
	return &messageDecoder{check: p.Plan.NewDecoder(ctx), show: p.message.NewRecordJSON()}
}

type messageDecoder struct {
	check decode.Decoder
	show  *proto.RecordJSON
}

// Locate implements decode.Decoder.
func (d *messageDecoder) Locate(record []byte, slots []decode.Slot) error {
	for i := range slots {
		slots[i] = decode.Slot{Kind: decode.Lazy}
	}
	return d.check.Locate(record, nil)
}

// Settle implements decode.Decoder.
func (d *messageDecoder) Settle(record []byte, _ int, _ decode.Slot, scratch []byte) (decode.Slot, []byte, error) {
	beg := len(scratch)
	scratch, err := d.show.Append(scratch, record)
	if err != nil {
		return decode.Slot{}, scratch, err
	}
	return decode.Slot{Kind: decode.Made, Beg: uint32(beg), End: uint32(len(scratch))}, scratch, nil
}
