package kafka

import (
	"fmt"
	"net"
	"path"
	"strconv"
	"strings"

	"millrace/internal/option"
)

// Hosts are patterns for the brokers that credentials may be sent to: host or host:port, with * in hosts. They match what is named, before name
// resolution; nil lets every host pass.
type Hosts []string

// ParseHosts checks and tidies patterns.
func ParseHosts(list []string) (Hosts, error) {
	hosts := make(Hosts, 0, len(list))
	for _, entry := range list {
		host, port := strings.ToLower(strings.TrimSpace(entry)), ""
		if h, p, err := net.SplitHostPort(host); err == nil {
			host, port = h, p
		} else if inner, ok := strings.CutPrefix(host, "["); ok && strings.HasSuffix(inner, "]") {
			host = strings.TrimSuffix(inner, "]")
		}
		if strings.Contains(host, ":") && net.ParseIP(host) == nil {
			return nil, fmt.Errorf("holds '%s', expected host or host:port", option.Show(entry))
		}
		n, perr := strconv.ParseUint(port, 10, 16)
		if _, err := path.Match(host, ""); err != nil || host == "" || strings.Trim(host, "*.") == "" || strings.ContainsAny(host, " /@?#[]\\\t\r\n\"'") ||
			port != "" && port != "*" && (perr != nil || n == 0) {
			return nil, fmt.Errorf("holds '%s', expected host or host:port, with * for a part of the host", option.Show(entry))
		}
		if port == "*" {
			port = ""
		}
		if port != "" {
			host = net.JoinHostPort(host, port)
		}
		hosts = append(hosts, host)
	}
	return hosts, nil
}

// Match reports whether hostPort may be used.
func (h Hosts) Match(hostPort string) bool {
	if h == nil {
		return true
	}
	host, port, err := net.SplitHostPort(strings.ToLower(hostPort))
	if err != nil {
		return false
	}
	host = strings.TrimSuffix(host, ".")
	for _, pattern := range h {
		want, only := pattern, ""
		if p, n, err := net.SplitHostPort(pattern); err == nil {
			want, only = p, n
		}
		if ok, _ := path.Match(want, host); ok && (only == "" || only == port) { // ParseHosts has seen the pattern compile
			return true
		}
	}
	return false
}
