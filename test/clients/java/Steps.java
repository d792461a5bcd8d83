import java.nio.charset.StandardCharsets;
import java.sql.*;
import java.util.*;

/** The steps for MySQL Connector/J: HOST PORT BROKERS TOPIC [client|server], the last for server-side prepared statements. */
public class Steps {
  static Connection conn;

  static String text(Object v) {
    if (v == null) return "NULL";
    if (v instanceof byte[]) return new String((byte[]) v, StandardCharsets.UTF_8);
    if (v instanceof Timestamp) return new java.text.SimpleDateFormat("yyyy-MM-dd HH:mm:ss.SSS").format((Timestamp) v);
    if (v instanceof java.time.LocalDateTime) {
      return java.time.format.DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss.SSS").format((java.time.LocalDateTime) v);
    }
    return v.toString();
  }

  static void show(String step, String sql, Object... args) throws SQLException {
    try (PreparedStatement st = conn.prepareStatement(sql)) {
      for (int i = 0; i < args.length; i++) st.setObject(i + 1, args[i]);
      try (ResultSet rs = st.executeQuery()) {
        if (!rs.next()) {
          System.out.println(step + " = no rows");
          return;
        }
        List<String> out = new ArrayList<>();
        for (int i = 1; i <= rs.getMetaData().getColumnCount(); i++) out.add(text(rs.getObject(i)));
        System.out.println(step + " = " + String.join("|", out));
      }
    }
  }

  static void fails(String step, String sql) {
    try (Statement st = conn.createStatement(); ResultSet rs = st.executeQuery(sql)) {
      while (rs.next()) {}
      System.out.println(step + " = no error");
    } catch (SQLException e) {
      System.out.println(step + " = " + e.getErrorCode());
    }
  }

  public static void main(String[] a) throws Exception {
    String brokers = a[2], topic = a[3];
    conn = DriverManager.getConnection("jdbc:mysql://" + a[0] + ":" + a[1] + "/?allowPublicKeyRetrieval=true&sslMode=PREFERRED&connectionTimeZone=UTC"
        + "&forceConnectionTimeZoneToSession=false&useServerPrepStmts=" + a[4].equals("server"), "root", "");
    String read = "read_kafka(bootstrapServers => '" + brokers + "', subscribe => '" + topic + "')";
    show("select", "SELECT 1");
    show("version", "SELECT version()");
    show("count", "SELECT COUNT(*) FROM " + read);
    show("prepared", "SELECT COUNT(*) FROM read_kafka(bootstrapServers => ?, subscribe => ?) WHERE offset >= ?", brokers, topic, 500);
    show("row", "SELECT key, value, topic, partition, offset, timestamp, timestampType FROM " + read + " WHERE offset = 7");
    show("path", "SELECT value::string:id::bigint, value::string:big::bigint, value::string:name FROM " + read + " WHERE offset = 8");
    show("null", "SELECT value FROM " + read + " WHERE offset = 999");
    show("all", "SELECT COUNT(*), SUM(length(key)), MIN(offset), MAX(offset) FROM " + read + " WHERE partition = 0");
    fails("unknown topic", "SELECT COUNT(*) FROM read_kafka(bootstrapServers => '" + brokers + "', subscribe => 'no-such-topic')");
    show("after error", "SELECT 1");
    fails("error after rows", "SELECT value::string:id::bigint FROM " + read + " WHERE offset < 950");
    show("usable", "SELECT 2");
    int n = 0;
    try (Statement st = conn.createStatement(ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_READ_ONLY)) {
      st.setFetchSize(Integer.MIN_VALUE);
      try (ResultSet rs = st.executeQuery("SELECT * FROM " + read)) {
        while (rs.next()) n++;
      }
    }
    System.out.println("streamed = " + n);
    conn.close();
  }
}
