package docker

import "testing"

func TestNameServersAreThoseThatDockerWouldGive(t *testing.T) {
	for name, c := range map[string]struct{ docker, host, below, want string }{
		"the host's": {
			host: "# made by hand\nsearch a.example b.example\nnameserver 10.0.0.1\nnameserver 10.0.0.2\noptions ndots:2\n",
			want: "nameserver 10.0.0.1\nnameserver 10.0.0.2\nsearch a.example b.example\noptions ndots:2\n",
		},
		"not those that only the host reaches": {
			host: "nameserver 127.0.0.1\nnameserver fe80::1%eth0\nnameserver 2001:db8::1\nnameserver 10.0.0.1\n", want: "nameserver 10.0.0.1\n",
		},
		"what is behind a stub": {
			host: "nameserver 127.0.0.53\noptions edns0\n", below: "nameserver 10.0.0.9\nsearch home\n", want: "nameserver 10.0.0.9\nsearch home\n",
		},
		"Docker's own, where there are none": {host: "nameserver 127.0.0.1\n", want: "nameserver 8.8.8.8\nnameserver 8.8.4.4\n"},
		"no file at all":                     {want: "nameserver 8.8.8.8\nnameserver 8.8.4.4\n"},
		"what Docker's settings say": {
			docker: `{"dns": ["10.1.1.1"], "dns-search": ["work"], "dns-opts": ["timeout:1"], "log-level": "warn"}`,
			host:   "nameserver 10.0.0.1\nsearch home\n", want: "nameserver 10.1.1.1\nsearch work\noptions timeout:1\n",
		},
		"settings that are none": {docker: "{", host: "nameserver 10.0.0.1\n", want: "nameserver 10.0.0.1\n"},
	} {
		if got := string(nameServers([]byte(c.docker), []byte(c.host), []byte(c.below))); got != c.want {
			t.Errorf("%s:\n%swant\n%s", name, got, c.want)
		}
	}
}
