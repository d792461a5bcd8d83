package server

import (
	"fmt"
	"net"
	"net/netip"
	"path"
	"strconv"
	"strings"

	"millrace/internal/sqlerr"
)

// hostRules decide which addresses SQL may make the server connect to (--allow-hosts). They are asked in the dialer, after name
// resolution, so that neither a redirect nor an advertised broker nor a name that resolves elsewhere gets around them.
type hostRules struct{ rules []hostRule }

type hostRule struct {
	text string
	// name is a pattern for the host as it was named, empty when prefix is set.
	name   string
	prefix netip.Prefix
	port   int // 0 for any
}

// neverByName are the names under which clouds serve credentials to whoever asks from inside.
var neverByName = []string{"metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal"}

// neverByAddress are link-local networks and the metadata addresses outside them. Only a rule that names the address opens them.
var neverByAddress = []netip.Prefix{
	netip.MustParsePrefix("169.254.0.0/16"),
	netip.MustParsePrefix("fe80::/10"),
	netip.MustParsePrefix("fd00:ec2::254/128"),
	netip.MustParsePrefix("100.100.100.200/32"),
	netip.MustParsePrefix("168.63.129.16/32"),
	netip.MustParsePrefix("192.0.0.192/32"),
}

// parseHostRules reads patterns such as kafka-*.example.com:9092, 10.0.0.0/8, [fd00::/8]:9092, broker:*. No pattern allows everything
// but link-local and metadata addresses.
func parseHostRules(patterns []string) (hostRules, error) {
	var rules hostRules
	for _, p := range patterns {
		p = strings.TrimSpace(p)
		if p == "" {
			continue
		}
		r, err := parseHostRule(p)
		if err != nil {
			return hostRules{}, fmt.Errorf("'--allow-hosts': pattern '%s': %w; write host, host:port, network/bits or [network/bits]:port, with * in hosts", p, err)
		}
		rules.rules = append(rules.rules, r)
	}
	return rules, nil
}

func parseHostRule(text string) (hostRule, error) {
	r := hostRule{text: text}
	host, port := text, ""
	if strings.HasPrefix(text, "[") {
		end := strings.IndexByte(text, ']')
		if end < 0 {
			return r, fmt.Errorf("no closing bracket")
		}
		host, port = text[1:end], strings.TrimPrefix(text[end+1:], ":")
	} else if strings.Count(text, ":") == 1 {
		host, port, _ = strings.Cut(text, ":")
	}
	if port != "" && port != "*" {
		n, err := strconv.Atoi(port)
		if err != nil || n < 1 || n > 65535 {
			return r, fmt.Errorf("port '%s' is not a number from 1 to 65535", port)
		}
		r.port = n
	}
	if prefix, err := netip.ParsePrefix(host); err == nil {
		r.prefix = prefix.Masked()
		return r, nil
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		r.prefix = netip.PrefixFrom(addr, addr.BitLen())
		return r, nil
	}
	if strings.Contains(host, "/") {
		return r, fmt.Errorf("'%s' is not a network", host)
	}
	if _, err := path.Match(host, ""); err != nil || host == "" {
		return r, fmt.Errorf("'%s' is not a host", host)
	}
	r.name = strings.ToLower(host)
	return r, nil
}

// allow implements kafka.Config.Allow: hostPort as it was named, ip as it would be dialled.
func (h hostRules) allow(hostPort string, ip net.IP) error {
	host, portText, err := net.SplitHostPort(hostPort)
	if err != nil {
		host = hostPort
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	port, _ := strconv.Atoi(portText)
	addr, _ := netip.AddrFromSlice(ip)
	addr = addr.Unmap()

	byName, byAddress := len(h.rules) == 0, false
	for _, r := range h.rules {
		if r.port != 0 && r.port != port {
			continue
		}
		if r.name != "" {
			if ok, _ := path.Match(r.name, host); ok {
				byName = true
			}
		} else if r.prefix.Contains(addr) {
			byAddress = true
		}
	}
	switch {
	case byAddress:
		return nil
	case forbidden(host, addr):
		return sqlerr.New(sqlerr.KafkaHostRefused, "'%s' (%s) is a link-local or metadata address, to which the server makes no connection", hostPort, ip).
			WithHint("an operator can open it by naming the address in --allow-hosts")
	case byName:
		return nil
	default:
		return sqlerr.New(sqlerr.KafkaHostRefused, "'%s' (%s) is not covered by --allow-hosts", hostPort, ip).
			WithHint("ask the operator of the server to add it; advertised listeners of brokers need to be covered too")
	}
}

func forbidden(host string, addr netip.Addr) bool {
	for _, n := range neverByName {
		if host == n {
			return true
		}
	}
	for _, p := range neverByAddress {
		if p.Contains(addr) {
			return true
		}
	}
	return !addr.IsValid() || addr.IsLinkLocalMulticast() || addr.IsMulticast()
}
