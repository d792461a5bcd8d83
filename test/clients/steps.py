"""The steps for drivers with Python's DB-API: HOST PORT BROKERS TOPIC DRIVER (pymysql or connector)."""
import sys

host, port, brokers, topic, driver = sys.argv[1:6]


def connect():
    if driver == "pymysql":
        import pymysql

        return pymysql.connect(host=host, port=int(port), user="root", password="", charset="utf8mb4")
    import mysql.connector

    return mysql.connector.connect(host=host, port=int(port), user="root", password="", charset="utf8mb4", use_pure=driver == "connector-pure")


conn = connect()


def text(v):
    if v is None:
        return "NULL"
    if isinstance(v, (bytes, bytearray)):
        return bytes(v).decode("utf-8")
    if hasattr(v, "strftime"):
        return v.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    return str(v)


def rows(sql, args=None, prepared=False):
    kw = {"prepared": True} if prepared and driver.startswith("connector") else {}
    cur = conn.cursor(**kw)
    cur.execute(sql, args) if args is not None else cur.execute(sql)
    got = cur.fetchall()
    cur.close()
    return got


def show(step, sql, args=None, prepared=False):
    got = rows(sql, args, prepared)
    print(step, "=", "|".join(text(v) for v in got[0]) if got else "no rows", flush=True)


def fails(step, sql):
    try:
        rows(sql)
        print(step, "= no error", flush=True)
    except Exception as e:
        print(step, "=", e.args[0] if driver == "pymysql" else e.errno, flush=True)


read = f"read_kafka(bootstrapServers => '{brokers}', subscribe => '{topic}')"
show("select", "SELECT 1")
show("version", "SELECT version()")
show("count", f"SELECT COUNT(*) FROM {read}")
show("prepared", "SELECT COUNT(*) FROM read_kafka(bootstrapServers => %s, subscribe => %s) WHERE offset >= %s", (brokers, topic, 500), True)
show("row", f"SELECT key, value, topic, partition, offset, timestamp, timestampType FROM {read} WHERE offset = 7")
show("path", f"SELECT value::string:id::bigint, value::string:big::bigint, value::string:name FROM {read} WHERE offset = 8")
show("null", f"SELECT value FROM {read} WHERE offset = 999")
show("all", f"SELECT COUNT(*), SUM(length(key)), MIN(offset), MAX(offset) FROM {read} WHERE partition = 0")
fails("unknown topic", f"SELECT COUNT(*) FROM read_kafka(bootstrapServers => '{brokers}', subscribe => 'no-such-topic')")
show("after error", "SELECT 1")
fails("error after rows", f"SELECT value::string:id::bigint FROM {read} WHERE offset < 950")
show("usable", "SELECT 2")
print("streamed =", len(rows(f"SELECT * FROM {read}")))
