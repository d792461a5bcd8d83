package kafka

import (
	"strings"
	"testing"
)

func TestHostsMatchWhatIsNamed(t *testing.T) {
	hosts, err := ParseHosts([]string{"Broker.Example.com", "*.kafka.example.com:9093", "10.0.0.1:9092", "[::1]:9092", "fd00::1", "any:*"})
	if err != nil {
		t.Fatal(err)
	}
	for hostPort, want := range map[string]bool{
		"broker.example.com:1": true, "BROKER.example.com:9092": true, "broker.example.com.:9092": true, "xbroker.example.com:1": false, "broker.example.com.evil.com:1": false,
		"b1.kafka.example.com:9093": true, "b1.kafka.example.com:9092": false, "kafka.example.com:9093": false, "10.0.0.1:9092": true, "10.0.0.1:9093": false, "10.0.0.11:9092": false,
		"[::1]:9092": true, "[::1]:9093": false, "[fd00::1]:1": true, "any:5": true, "": false, "any": false,
	} {
		if got := hosts.Match(hostPort); got != want {
			t.Errorf("%s: %v", hostPort, got)
		}
	}
	if !Hosts(nil).Match("x:1") || (Hosts{}).Match("x:1") {
		t.Error("nil allows all, empty nothing")
	}
	for _, bad := range []string{"", "*", "*.*", "a b", "u:hunter2@a", "a/b", "a:0", "a:x", "[a", "a:1:2"} {
		if got, err := ParseHosts([]string{bad}); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, %v", bad, got, err)
		}
	}
}
