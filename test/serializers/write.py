"""Writes the records of README.md with Confluent's Python serializers: write.py BROKERS REGISTRY PREFIX"""
import sys
import uuid
from datetime import date, datetime, timezone
from decimal import Decimal

from confluent_kafka import Producer
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2

brokers, url, prefix = sys.argv[1:4]
registry = SchemaRegistryClient({"url": url})
producer = Producer({"bootstrap.servers": brokers})

ADDRESS = """{"type":"record","name":"Address","namespace":"shop","fields":[
 {"name":"city","type":"string"},{"name":"zip","type":["null","string"],"default":null}]}"""
ORDER = """{"type":"record","name":"Order","namespace":"shop","fields":[
 {"name":"id","type":"long"},
 {"name":"name","type":"string"},
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
 {"name":"home","type":"shop.Address"}]}"""

rows = [
    {"id": 1, "name": "tea", "price": Decimal("12.30"), "weight": Decimal("0.250"), "score": 0.1,
     "at": datetime(2026, 3, 1, 12, 34, 56, 789000, timezone.utc), "micros": datetime(2026, 3, 1, 12, 34, 56, 789123, timezone.utc), "day": date(2026, 3, 1),
     "token": uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8"), "status": "PAID", "note": "a \"note\"", "raw": b"\x00\xff", "tags": ["a", "b"],
     "stock": {"oslo": 9007199254740993}, "home": {"city": "Praha", "zip": "110 00"}},
    {"id": -(2**63), "name": "", "price": Decimal("-0.01"), "weight": Decimal("-1234567.891"), "score": -1e300,
     "at": datetime(1969, 12, 31, 23, 59, 59, 999000, timezone.utc), "micros": datetime(1, 1, 1, tzinfo=timezone.utc), "day": date(1, 1, 1),
     "token": uuid.UUID(int=0), "status": "NEW", "note": None, "raw": b"", "tags": [], "stock": {}, "home": {"city": "", "zip": None}},
    {"id": 2**63 - 1, "name": "žluťoučký kůň 🎉", "price": Decimal("9999999999.99"), "weight": Decimal("1.000"), "score": 5e-324,
     "at": datetime(9999, 12, 31, 23, 59, 59, 999000, timezone.utc), "micros": datetime(9999, 12, 31, 23, 59, 59, 999999, timezone.utc), "day": date(9999, 12, 31),
     "token": uuid.UUID(int=2**128 - 1), "status": "SHIPPED", "note": "", "raw": "ž".encode(), "tags": ["🎉"] * 3, "stock": {"a": -1}, "home": {"city": "Łódź", "zip": ""}},
]


def send(topic, values):
    for v in values:
        producer.produce(topic, v, partition=0)


def avro():
    topic = prefix + "-avro"
    registry.register_schema(prefix + "-address", Schema(ADDRESS, "AVRO"))
    serializer = AvroSerializer(registry, Schema(ORDER, "AVRO", [SchemaReference("shop.Address", prefix + "-address", 1)]))
    context = SerializationContext(topic, MessageField.VALUE)
    send(topic, [serializer({**r, "token": str(r["token"])}, context) for r in rows])


def json_schema():
    topic = prefix + "-json"
    schema = """{"$schema":"http://json-schema.org/draft-07/schema#","title":"Order","type":"object","properties":{
     "id":{"type":"integer"},"name":{"type":"string"},"score":{"type":"number"},"day":{"type":"string","format":"date"},
     "note":{"type":["string","null"]},"tags":{"type":"array","items":{"type":"string"}}},"required":["id","name"]}"""
    serializer = JSONSerializer(schema, registry)
    context = SerializationContext(topic, MessageField.VALUE)
    send(topic, [serializer({"id": r["id"], "name": r["name"], "score": r["score"], "day": r["day"].isoformat(), "note": r["note"], "tags": r["tags"]}, context)
                 for r in rows])


def protobuf():
    topic = prefix + "-proto"
    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="order.proto", package="shop", syntax="proto3", dependency=["google/protobuf/timestamp.proto"])
    file.enum_type.add(name="Status").value.extend(
        [descriptor_pb2.EnumValueDescriptorProto(name=n, number=i) for i, n in enumerate(["NEW", "PAID", "SHIPPED"])])
    file.message_type.add(name="Unused")
    outer = file.message_type.add(name="Outer")
    order = outer.nested_type.add(name="Order")
    for i, (name, kind, type_name) in enumerate([
            ("id", field.TYPE_SINT64, None), ("name", field.TYPE_STRING, None), ("big", field.TYPE_UINT64, None), ("score", field.TYPE_DOUBLE, None),
            ("at", field.TYPE_MESSAGE, ".google.protobuf.Timestamp"), ("status", field.TYPE_ENUM, ".shop.Status"), ("raw", field.TYPE_BYTES, None)]):
        order.field.add(name=name, number=i + 1, type=kind, type_name=type_name, label=field.LABEL_OPTIONAL)
    order.field.add(name="tags", number=20, type=field.TYPE_STRING, label=field.LABEL_REPEATED)
    order.field.add(name="sizes", number=21, type=field.TYPE_SINT32, label=field.LABEL_REPEATED)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    message = message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Outer.Order"))
    serializer = ProtobufSerializer(message, registry, {"use.deprecated.format": False})
    context = SerializationContext(topic, MessageField.VALUE)
    values = []
    for i, r in enumerate(rows):
        m = message(id=r["id"], name=r["name"], big=2**64 - 1 - i, score=r["score"], status=i, raw=r["raw"], tags=r["tags"], sizes=[-1, 0, 1])
        m.at.FromDatetime(r["micros"])
        values.append(serializer(m, context))
    send(topic, values)


avro()
json_schema()
protobuf()
if producer.flush(60) > 0:
    sys.exit("records were not written")
