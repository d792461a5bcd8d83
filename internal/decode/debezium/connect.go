package debezium

import (
	stdjson "encoding/json"
	"strconv"

	"millrace/internal/column"
	"millrace/internal/convert"
	"millrace/internal/decode/json"
)

// connectSchema is a schema as Kafka Connect's JSON converter writes it beside each record.
type connectSchema struct {
	Type       string            `json:"type"`
	Field      string            `json:"field"`
	Name       string            `json:"name"`
	Fields     []connectSchema   `json:"fields"`
	Parameters map[string]string `json:"parameters"`
}

// Sample finds the fields of rows in records of a topic: those of the schema that an envelope brings along, exact false where there is none. rows are then the
// rows themselves, for a guess at their fields.
func Sample(records [][]byte) (fields []json.Field, rows [][]byte, exact bool) {
	for _, record := range records {
		var r struct {
			Schema  connectSchema      `json:"schema"`
			Payload stdjson.RawMessage `json:"payload"`
			Before  stdjson.RawMessage `json:"before"`
			After   stdjson.RawMessage `json:"after"`
		}
		if stdjson.Unmarshal(record, &r) != nil {
			continue
		}
		for _, part := range r.Schema.Fields {
			if part.Field == "after" && len(part.Fields) > 0 {
				return connectFields(part.Fields), nil, true
			}
		}
		if len(r.Payload) > 0 {
			if stdjson.Unmarshal(r.Payload, &r) != nil {
				continue
			}
		}
		for _, row := range []stdjson.RawMessage{r.After, r.Before} {
			if len(row) > 0 && row[0] == '{' {
				rows = append(rows, row)
			}
		}
	}
	return nil, rows, false
}

// connectFields are the columns of a struct.
func connectFields(list []connectSchema) []json.Field {
	fields := make([]json.Field, len(list))
	for i, c := range list {
		fields[i] = c.column()
	}
	return fields
}

// column is the column of a member: by the name of its logical type, else by its type.
func (c connectSchema) column() json.Field {
	f := json.Field{Field: column.Field{Name: c.Field, Nullable: true}}
	logical := func(t column.Type, u json.Unit) json.Field {
		f.Type, f.Unit = t, u
		return f
	}
	timestamp := func(scale uint8, u json.Unit) json.Field {
		return logical(column.Type{Kind: column.Timestamp, Scale: scale}, u)
	}
	switch c.Name {
	case "io.debezium.time.Date", "org.apache.kafka.connect.data.Date":
		return logical(column.Type{Kind: column.Date}, json.Days)
	case "io.debezium.time.Timestamp", "org.apache.kafka.connect.data.Timestamp":
		return timestamp(3, json.Millis)
	case "io.debezium.time.MicroTimestamp":
		return timestamp(6, json.Micros)
	case "io.debezium.time.NanoTimestamp":
		return timestamp(6, json.Nanos)
	case "io.debezium.time.ZonedTimestamp":
		return timestamp(6, json.Seconds)
	case "io.debezium.time.Time", "org.apache.kafka.connect.data.Time":
		return logical(column.Type{Kind: column.Time, Scale: 3}, json.Millis)
	case "io.debezium.time.MicroTime":
		return logical(column.Type{Kind: column.Time, Scale: 6}, json.Micros)
	case "io.debezium.data.Json":
		f.Type.Kind = column.Text // the JSON is in a string
		return f
	case "org.apache.kafka.connect.data.Decimal":
		// The converter writes the unscaled bytes in base64 unless it is told to write numbers; which of them only the records say.
		f.Type.Kind = column.Text
		if scale, err := strconv.Atoi(c.Parameters["scale"]); err == nil && scale >= 0 && scale <= convert.MaxScale {
			precision := 38
			if p, err := strconv.Atoi(c.Parameters["connect.decimal.precision"]); err == nil && p >= scale && p > 0 && p <= convert.MaxPrecision {
				precision = p
			}
			f.Type = column.Type{Kind: column.Decimal, Precision: uint8(max(precision, scale)), Scale: uint8(scale)}
			f.Unscaled, f.Point = true, uint8(scale)
		}
		return f
	}
	switch c.Type {
	case "int8":
		f.Type.Kind, f.Width = column.Int32, 8
	case "int16":
		f.Type.Kind, f.Width = column.Int32, 16
	case "int32":
		f.Type.Kind = column.Int32
	case "int64":
		f.Type.Kind = column.Int64
	case "float", "float32":
		f.Type.Kind, f.Width = column.Float64, 32
	case "double", "float64":
		f.Type.Kind = column.Float64
	case "boolean":
		f.Type.Kind = column.Bool
	case "bytes":
		f.Type.Kind = column.Bytes
	case "string":
		f.Type.Kind = column.Text
	default:
		f.Type.Kind = column.JSON
	}
	return f
}
