import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.DescriptorProtos.DescriptorProto;
import com.google.protobuf.DescriptorProtos.EnumDescriptorProto;
import com.google.protobuf.DescriptorProtos.EnumValueDescriptorProto;
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.ByteString;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.Timestamp;
import com.google.protobuf.TimestampProto;
import io.apicurio.registry.serde.avro.AvroKafkaSerializer;
import io.apicurio.registry.serde.jsonschema.JsonSchemaKafkaSerializer;
import java.io.ByteArrayOutputStream;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.LocalDate;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.EncoderFactory;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Writes the records of README.md with serializers of Java: Write BROKERS REGISTRY NATIVE_REGISTRY PREFIX */
public class Write {
    static final String ORDER = """
        {"type":"record","name":"Order","namespace":"shop","fields":[
         {"name":"id","type":"long"},
         {"name":"name","type":{"type":"string","avro.java.string":"String"}},
         {"name":"price","type":{"type":"bytes","logicalType":"decimal","precision":12,"scale":2}},
         {"name":"weight","type":{"type":"fixed","name":"Weight","size":5,"logicalType":"decimal","precision":10,"scale":3}},
         {"name":"score","type":"double"},
         {"name":"at","type":{"type":"long","logicalType":"timestamp-millis"}},
         {"name":"micros","type":{"type":"long","logicalType":"timestamp-micros"}},
         {"name":"day","type":{"type":"int","logicalType":"date"}},
         {"name":"token","type":{"type":"string","logicalType":"uuid"}},
         {"name":"status","type":{"type":"enum","name":"Status","symbols":["NEW","PAID","SHIPPED"]}},
         {"name":"note","type":["null","string"],"default":null},
         {"name":"raw","type":"bytes"},
         {"name":"tags","type":{"type":"array","items":"string"}},
         {"name":"stock","type":{"type":"map","values":"long"}},
         {"name":"home","type":{"type":"record","name":"Address","fields":[{"name":"city","type":"string"},{"name":"zip","type":["null","string"],"default":null}]}}]}""";
    static final String JSON = """
        {"$schema":"http://json-schema.org/draft-07/schema#","title":"Order","type":"object","properties":{
         "id":{"type":"integer"},"name":{"type":"string"},"score":{"type":"number"},"day":{"type":"string","format":"date"},
         "note":{"type":["string","null"]},"tags":{"type":"array","items":{"type":"string"}}},"required":["id","name"]}""";
    static final String PROTO = """
        syntax = "proto3";
        package shop;
        import "google/protobuf/timestamp.proto";
        enum Status { NEW = 0; PAID = 1; SHIPPED = 2; }
        message Unused {}
        message Outer {
          message Order {
            sint64 id = 1; string name = 2; uint64 big = 3; double score = 4; google.protobuf.Timestamp at = 5; Status status = 6; bytes raw = 7;
            repeated string tags = 20; repeated sint32 sizes = 21;
          }
        }
        """;

    record Row(long id, String name, String price, String weight, double score, Instant at, Instant micros, LocalDate day, UUID token, String status,
               String note, byte[] raw, List<String> tags, Map<String, Long> stock, String city, String zip) {}

    static final List<Row> ROWS = List.of(
        new Row(1, "tea", "12.30", "0.250", 0.1, Instant.parse("2026-03-01T12:34:56.789Z"), Instant.parse("2026-03-01T12:34:56.789123Z"), LocalDate.of(2026, 3, 1),
            UUID.fromString("6ba7b810-9dad-11d1-80b4-00c04fd430c8"), "PAID", "a \"note\"", new byte[] {0, -1}, List.of("a", "b"), Map.of("oslo", 9007199254740993L), "Praha", "110 00"),
        new Row(Long.MIN_VALUE, "", "-0.01", "-1234567.891", -1e300, Instant.parse("1969-12-31T23:59:59.999Z"), Instant.parse("0001-01-01T00:00:00Z"), LocalDate.of(1, 1, 1),
            new UUID(0, 0), "NEW", null, new byte[0], List.of(), Map.of(), "", null),
        new Row(Long.MAX_VALUE, "žluťoučký kůň 🎉", "9999999999.99", "1.000", Double.MIN_VALUE, Instant.parse("9999-12-31T23:59:59.999Z"),
            Instant.parse("9999-12-31T23:59:59.999999Z"), LocalDate.of(9999, 12, 31), new UUID(-1, -1), "SHIPPED", "", "ž".getBytes(StandardCharsets.UTF_8),
            List.of("🎉", "🎉", "🎉"), Map.of("a", -1L), "Łódź", ""));

    static KafkaProducer<byte[], byte[]> producer;

    static void send(String topic, byte[] value) { producer.send(new ProducerRecord<>(topic, 0, null, value)); }

    static long micros(Instant i) { return i.getEpochSecond() * 1_000_000 + i.getNano() / 1000; }

    static byte[] extended(BigInteger unscaled, int size) {
        byte[] fixed = new byte[size], short_ = unscaled.toByteArray();
        Arrays.fill(fixed, (byte) (unscaled.signum() < 0 ? -1 : 0));
        System.arraycopy(short_, 0, fixed, size - short_.length, short_.length);
        return fixed;
    }

    static GenericRecord avro(Schema schema, Row r) {
        GenericRecord home = new GenericData.Record(schema.getField("home").schema());
        home.put("city", r.city);
        home.put("zip", r.zip);
        GenericRecord order = new GenericData.Record(schema);
        order.put("id", r.id);
        order.put("name", r.name);
        order.put("price", ByteBuffer.wrap(new BigDecimal(r.price).unscaledValue().toByteArray()));
        order.put("weight", new GenericData.Fixed(schema.getField("weight").schema(), extended(new BigDecimal(r.weight).unscaledValue(), 5)));
        order.put("score", r.score);
        order.put("at", r.at.toEpochMilli());
        order.put("micros", micros(r.micros));
        order.put("day", (int) r.day.toEpochDay());
        order.put("token", r.token.toString());
        order.put("status", new GenericData.EnumSymbol(schema.getField("status").schema(), r.status));
        order.put("note", r.note);
        order.put("raw", ByteBuffer.wrap(r.raw));
        order.put("tags", r.tags);
        order.put("stock", r.stock);
        order.put("home", home);
        return order;
    }

    static Map<String, Object> config(String registry) {
        Map<String, Object> c = new HashMap<>();
        c.put("apicurio.registry.url", registry);
        c.put("apicurio.registry.auto-register", true);
        c.put("apicurio.registry.headers.enabled", false);
        c.put("apicurio.registry.id-handler", "io.apicurio.registry.serde.Legacy4ByteIdHandler");
        c.put("apicurio.registry.use-id", "contentId"); // what the Confluent-compatible interface calls the id
        c.put("apicurio.registry.artifact-resolver-strategy", "io.apicurio.registry.serde.strategy.TopicIdStrategy");
        return c;
    }

    static void writeAvro(String registry, String prefix) throws Exception {
        Schema schema = new Schema.Parser().parse(ORDER);
        try (AvroKafkaSerializer<GenericRecord> serializer = new AvroKafkaSerializer<>()) {
            serializer.configure(config(registry), false);
            for (Row r : ROWS) {
                byte[] framed = serializer.serialize(prefix + "-avro", avro(schema, r));
                send(prefix + "-avro", framed);
                // The same record by the encoder that writes blocks with their sizes, small ones at that.
                ByteArrayOutputStream out = new ByteArrayOutputStream();
                out.write(framed, 0, 5);
                BinaryEncoder encoder = new EncoderFactory().configureBlockSize(64).blockingBinaryEncoder(out, null);
                new GenericDatumWriter<GenericRecord>(schema).write(avro(schema, r), encoder);
                encoder.flush();
                send(prefix + "-blocks", out.toByteArray());
            }
        }
    }

    static void writeJson(String registry, String ownInterface, String prefix) throws Exception {
        register(registry, prefix + "-json-value", JSON, "JSON");
        ObjectMapper mapper = new ObjectMapper();
        try (JsonSchemaKafkaSerializer<ObjectNode> serializer = new JsonSchemaKafkaSerializer<>()) {
            serializer.configure(config(ownInterface), false);
            for (Row r : ROWS) {
                ObjectNode o = mapper.createObjectNode().put("id", r.id).put("name", r.name).put("score", r.score).put("day", r.day.toString()).put("note", r.note);
                o.set("tags", mapper.valueToTree(r.tags));
                send(prefix + "-json", serializer.serialize(prefix + "-json", o));
            }
        }
    }

    static int register(String registry, String subject, String schema, String type) throws Exception {
        ObjectMapper mapper = new ObjectMapper();
        String body = mapper.writeValueAsString(mapper.createObjectNode().put("schema", schema).put("schemaType", type));
        HttpResponse<String> answer = HttpClient.newHttpClient().send(HttpRequest.newBuilder(URI.create(registry + "/subjects/" + subject + "/versions"))
            .header("Content-Type", "application/vnd.schemaregistry.v1+json").POST(HttpRequest.BodyPublishers.ofString(body)).build(), HttpResponse.BodyHandlers.ofString());
        if (answer.statusCode() != 200) throw new IllegalStateException(answer.body());
        return mapper.readTree(answer.body()).get("id").asInt();
    }

    static FieldDescriptorProto field(int number, String name, FieldDescriptorProto.Type type, String typeName, boolean repeated) {
        FieldDescriptorProto.Builder f = FieldDescriptorProto.newBuilder().setNumber(number).setName(name).setType(type)
            .setLabel(repeated ? FieldDescriptorProto.Label.LABEL_REPEATED : FieldDescriptorProto.Label.LABEL_OPTIONAL);
        return typeName == null ? f.build() : f.setTypeName(typeName).build();
    }

    /** Protobuf's own runtime writes the message; the frame (id, index of a nested message) is put before it. */
    static void writeProto(String registry, String prefix) throws Exception {
        int id = register(registry, prefix + "-proto-value", PROTO, "PROTOBUF");
        DescriptorProto.Builder message = DescriptorProto.newBuilder().setName("Order");
        message.addField(field(1, "id", FieldDescriptorProto.Type.TYPE_SINT64, null, false));
        message.addField(field(2, "name", FieldDescriptorProto.Type.TYPE_STRING, null, false));
        message.addField(field(3, "big", FieldDescriptorProto.Type.TYPE_UINT64, null, false));
        message.addField(field(4, "score", FieldDescriptorProto.Type.TYPE_DOUBLE, null, false));
        message.addField(field(5, "at", FieldDescriptorProto.Type.TYPE_MESSAGE, ".google.protobuf.Timestamp", false));
        message.addField(field(6, "status", FieldDescriptorProto.Type.TYPE_ENUM, ".shop.Status", false));
        message.addField(field(7, "raw", FieldDescriptorProto.Type.TYPE_BYTES, null, false));
        message.addField(field(20, "tags", FieldDescriptorProto.Type.TYPE_STRING, null, true));
        message.addField(field(21, "sizes", FieldDescriptorProto.Type.TYPE_SINT32, null, true));
        EnumDescriptorProto.Builder status = EnumDescriptorProto.newBuilder().setName("Status");
        for (String name : List.of("NEW", "PAID", "SHIPPED")) {
            status.addValue(EnumValueDescriptorProto.newBuilder().setName(name).setNumber(status.getValueCount()));
        }
        FileDescriptor file = FileDescriptor.buildFrom(FileDescriptorProto.newBuilder().setName("order.proto").setPackage("shop").setSyntax("proto3")
            .addDependency("google/protobuf/timestamp.proto").addEnumType(status).addMessageType(message).build(), new FileDescriptor[] {TimestampProto.getDescriptor()});
        Descriptor order = file.findMessageTypeByName("Order");
        for (int i = 0; i < ROWS.size(); i++) {
            Row r = ROWS.get(i);
            DynamicMessage.Builder m = DynamicMessage.newBuilder(order);
            m.setField(order.findFieldByName("id"), r.id);
            m.setField(order.findFieldByName("name"), r.name);
            m.setField(order.findFieldByName("big"), -1L - i);
            m.setField(order.findFieldByName("score"), r.score);
            m.setField(order.findFieldByName("at"), Timestamp.newBuilder().setSeconds(r.micros.getEpochSecond()).setNanos(r.micros.getNano()).build());
            m.setField(order.findFieldByName("status"), file.findEnumTypeByName("Status").findValueByNumber(i));
            m.setField(order.findFieldByName("raw"), ByteString.copyFrom(r.raw));
            for (String tag : r.tags) m.addRepeatedField(order.findFieldByName("tags"), tag);
            for (int size : new int[] {-1, 0, 1}) m.addRepeatedField(order.findFieldByName("sizes"), size);
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            out.write(0);
            out.write(ByteBuffer.allocate(4).putInt(id).array());
            out.write(new byte[] {4, 2, 0}); // two indexes: message 1, in it message 0, each a zigzag varint
            m.build().writeTo(out);
            send(prefix + "-proto", out.toByteArray());
        }
    }

    public static void main(String[] args) throws Exception {
        String brokers = args[0], registry = args[1], ownInterface = args[2], prefix = args[3];
        Map<String, Object> c = new HashMap<>();
        c.put("bootstrap.servers", brokers);
        producer = new KafkaProducer<>(c, new ByteArraySerializer(), new ByteArraySerializer());
        writeAvro(ownInterface, prefix);
        writeJson(registry, ownInterface, prefix);
        writeProto(registry, prefix);
        producer.close();
    }
}
