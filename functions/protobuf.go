package functions

import (
	"encoding/json"
	"sync"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/decode/proto"
	"millrace/internal/sqlerr"
	"millrace/planner/expr"
)

// protobufMessage is a message type with what works on its records. One call uses it at a time.
type protobufMessage struct {
	// name and schema are the arguments that it was made of.
	name, schema string
	message      *proto.Message
	show         *proto.RecordJSON
	encode       *proto.Encoder
}

// protobufCalls keeps the messages of the calls of an expression, which have the same schema as a rule.
type protobufCalls struct{ idle sync.Pool }

// with does something with a message. schema is the text of a .proto file, or a descriptor set when isText is not set.
func (p *protobufCalls) with(name, schema string, isText bool, do func(*protobufMessage) (any, error)) (any, error) {
	m, _ := p.idle.Get().(*protobufMessage)
	if m == nil || m.name != name || m.schema != schema {
		files, err := protobufFiles(schema, isText)
		if err != nil {
			return nil, err
		}
		message, err := files.Message(name)
		if err != nil {
			return nil, err
		}
		m = &protobufMessage{name: name, schema: schema, message: message, show: message.NewRecordJSON(), encode: message.NewEncoder()}
	}
	defer p.idle.Put(m)
	return do(m)
}

func protobufFiles(schema string, isText bool) (*proto.Files, error) {
	if isText {
		return proto.ParseText(schema, nil)
	}
	return proto.ParseDescriptorSet([]byte(schema))
}

// buildProtobuf builds a function of a value, the name of a message, a schema and options.
func buildProtobuf(value, result expr.Kind, do func(m *protobufMessage, value any) (any, error)) func(*sql.Context, *Function, []sql.Expression) (sql.Expression, error) {
	return func(ctx *sql.Context, f *Function, args []sql.Expression) (sql.Expression, error) {
		isText := !types.IsBinaryType(args[2].Type(ctx))
		schemaKind := expr.Binary
		if isText {
			schemaKind = expr.String
		}
		calls := &protobufCalls{}
		eval := func(_ *sql.Context, args []any) (any, error) {
			permissive := false
			if len(args) == 4 {
				var err error
				if permissive, err = permissiveMode(f.Name, args[3].(string)); err != nil {
					return nil, err
				}
			}
			schema, ok := args[2].(string)
			if !ok {
				schema = string(args[2].([]byte))
			}
			out, err := calls.with(args[1].(string), schema, isText, func(m *protobufMessage) (any, error) { return do(m, args[0]) })
			if permissive && sqlerr.HasKind(err, sqlerr.BadRecord) {
				return nil, nil
			}
			return out, err
		}
		return strict(expr.Type{Kind: result}, []expr.Kind{value, expr.String, schemaKind, expr.String}, eval)(ctx, f, args)
	}
}

// permissiveMode reads the options of a function whose only one is mode.
func permissiveMode(function, text string) (bool, error) {
	options := map[string]string{}
	if err := json.Unmarshal([]byte(text), &options); err != nil {
		return false, sqlerr.New(sqlerr.OptionInvalid, "the options of '%s' are not a map: %s", function, err).WithHint("map('mode', 'PERMISSIVE')")
	}
	permissive := false
	for name, value := range options {
		switch {
		case name != "mode":
			return false, sqlerr.New(sqlerr.OptionUnknown, "'%s' has no option '%s'", function, name).WithHint("its option is 'mode'")
		case value == "PERMISSIVE":
			permissive = true
		case value != "FAILFAST":
			return false, sqlerr.New(sqlerr.OptionInvalid, "'mode' is '%s': PERMISSIVE and FAILFAST are allowed", value)
		}
	}
	return permissive, nil
}

// fromProtobuf shows a record as JSON.
func fromProtobuf(m *protobufMessage, value any) (any, error) {
	text, err := m.show.Append(nil, value.([]byte))
	if err != nil {
		return nil, sqlerr.New(sqlerr.BadRecord, "the bytes are no Protobuf message '%s': %s", m.message.Name(), err)
	}
	return expr.JSONText(text), nil
}

// toProtobuf makes a record of JSON.
func toProtobuf(m *protobufMessage, value any) (any, error) {
	record, err := m.encode.AppendJSON([]byte{}, value.(expr.JSONText))
	if err != nil {
		return nil, sqlerr.New(sqlerr.BadRecord, "the value is no Protobuf message '%s': %s", m.message.Name(), err)
	}
	return record, nil
}
