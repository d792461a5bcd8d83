package server

import (
	"net"
	"strings"
	"testing"

	"millrace/internal/sqlerr"
)

func TestAllowHosts(t *testing.T) {
	for name, test := range map[string]struct {
		rules    []string
		hostPort string
		ip       string
		allowed  bool
	}{
		"default: public":                        {nil, "kafka.example.com:9092", "203.0.113.5", true},
		"default: loopback":                      {nil, "localhost:9092", "127.0.0.1", true},
		"default: private":                       {nil, "kafka:9092", "10.1.2.3", true},
		"default: metadata address":              {nil, "169.254.169.254:80", "169.254.169.254", false},
		"default: mapped metadata address":       {nil, "x:80", "::ffff:169.254.169.254", false},
		"default: link-local IPv6":               {nil, "[fe80::1]:9092", "fe80::1", false},
		"default: metadata IPv6":                 {nil, "x:80", "fd00:ec2::254", false},
		"default: metadata name, other address":  {nil, "metadata.google.internal:80", "10.0.0.1", false},
		"default: metadata name with a dot":      {nil, "metadata.google.internal.:80", "10.0.0.1", false},
		"default: name that resolves to it":      {nil, "harmless.example.com:80", "169.254.169.254", false},
		"host with port":                         {[]string{"kafka.example.com:9092"}, "kafka.example.com:9092", "203.0.113.5", true},
		"host, case":                             {[]string{"Kafka.example.com:9092"}, "KAFKA.example.com:9092", "203.0.113.5", true},
		"host, other port":                       {[]string{"kafka.example.com:9092"}, "kafka.example.com:9093", "203.0.113.5", false},
		"host without port":                      {[]string{"kafka.example.com"}, "kafka.example.com:1", "203.0.113.5", true},
		"other host":                             {[]string{"kafka.example.com"}, "evil.example.com:9092", "203.0.113.5", false},
		"glob":                                   {[]string{"b*.example.com:*"}, "b-12.example.com:9092", "203.0.113.5", true},
		"network":                                {[]string{"10.0.0.0/8"}, "whatever:9092", "10.200.0.1", true},
		"network, outside":                       {[]string{"10.0.0.0/8"}, "whatever:9092", "11.0.0.1", false},
		"network with port":                      {[]string{"10.0.0.0/8:9092"}, "x:9093", "10.0.0.1", false},
		"IPv6 network with port":                 {[]string{"[2001:db8::/32]:9092"}, "x:9092", "2001:db8::5", true},
		"star does not open metadata":            {[]string{"*"}, "x:80", "169.254.169.254", false},
		"an address rule opens what it names":    {[]string{"169.254.169.254:80"}, "x:80", "169.254.169.254", true},
		"second of two rules":                    {[]string{"a:1", "b:2"}, "b:2", "192.0.2.1", true},
		"name of a rule, port of another":        {[]string{"a:1", "b:2"}, "a:2", "192.0.2.1", false},
		"allowed name that resolves to metadata": {[]string{"a:1"}, "a:1", "169.254.0.1", false},
	} {
		t.Run(name, func(t *testing.T) {
			rules, err := parseHostRules(test.rules)
			if err != nil {
				t.Fatal(err)
			}
			err = rules.allow(test.hostPort, net.ParseIP(test.ip))
			if (err == nil) != test.allowed {
				t.Errorf("error %v, want allowed %t", err, test.allowed)
			}
			if err != nil && !sqlerr.HasKind(err, sqlerr.KafkaHostRefused) {
				t.Errorf("error %v is of another kind", err)
			}
		})
	}
}

func TestBadHostRules(t *testing.T) {
	for _, p := range []string{"host:0", "host:99999", "host:x", "10.0.0.0/99", "[::1", "a[b:1", ":9092"} {
		if _, err := parseHostRules([]string{p}); err == nil || !strings.Contains(err.Error(), "'--allow-hosts'") {
			t.Errorf("%s: error %v", p, err)
		}
	}
}
