// The steps for mysql2: HOST PORT BROKERS TOPIC. `query` is the text protocol, `execute` the binary one.
const mysql = require('mysql2/promise');
const [host, port, brokers, topic] = process.argv.slice(2);

const text = (v) => {
  if (v === null) return 'NULL';
  if (Buffer.isBuffer(v)) return v.toString('utf8');
  return String(v);
};

async function main() {
  const conn = await mysql.createConnection({ host, port: +port, user: 'root', supportBigNumbers: true, bigNumberStrings: true, dateStrings: true, rowsAsArray: true });
  const show = async (step, sql, args) => {
    const [rows] = args ? await conn.execute(sql, args) : await conn.query(sql);
    console.log(`${step} = ${rows.length ? rows[0].map(text).join('|') : 'no rows'}`);
  };
  const fails = async (step, sql) => {
    try {
      await conn.query(sql);
      console.log(`${step} = no error`);
    } catch (e) {
      console.log(`${step} = ${e.errno}`);
    }
  };
  const read = `read_kafka(bootstrapServers => '${brokers}', subscribe => '${topic}')`;
  await show('select', 'SELECT 1');
  await show('version', 'SELECT version()');
  await show('count', `SELECT COUNT(*) FROM ${read}`);
  await show('prepared', 'SELECT COUNT(*) FROM read_kafka(bootstrapServers => ?, subscribe => ?) WHERE offset >= ?', [brokers, topic, 500]);
  await show('row', `SELECT key, value, topic, partition, offset, timestamp, timestampType FROM ${read} WHERE offset = 7`);
  await show('path', `SELECT value::string:id::bigint, value::string:big::bigint, value::string:name FROM ${read} WHERE offset = 8`, []);
  await show('null', `SELECT value FROM ${read} WHERE offset = 999`);
  await show('all', `SELECT COUNT(*), SUM(length(key)), MIN(offset), MAX(offset) FROM ${read} WHERE partition = 0`);
  await fails('unknown topic', `SELECT COUNT(*) FROM read_kafka(bootstrapServers => '${brokers}', subscribe => 'no-such-topic')`);
  await show('after error', 'SELECT 1');
  await fails('error after rows', `SELECT value::string:id::bigint FROM ${read} WHERE offset < 950`);
  await show('usable', 'SELECT 2', []);
  const [all] = await conn.execute(`SELECT * FROM ${read}`);
  console.log(`streamed = ${all.length}`);
  await conn.end();
}
main().catch((e) => { console.error(e); process.exit(1); });
