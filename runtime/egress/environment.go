package egress

import (
	"fmt"
	"maps"
	"net"
)

// Environment returns the variables that lead the programs of a container to the proxy at
// addr, host:port. Whatever the task or the agent sets itself takes precedence over them.
//
// The eight usual ones are read by curl, wget, git, apt, pip, uv, poetry, conda, npm, pnpm,
// yarn 1, cargo, rustup, Go, gem, bundler, composer, dotnet, deno, bun and most libraries;
// some know only one case, and curl reads http_proxy in lower case alone, because a header
// "Proxy" of a request becomes HTTP_PROXY in a CGI program.
func Environment(addr string) map[string]string {
	proxy := "http://" + addr
	// The judge, the gateway and servers that the agent starts are in the container.
	direct := "localhost,127.0.0.1,::1"
	env := map[string]string{
		"HTTP_PROXY": proxy, "http_proxy": proxy,
		"HTTPS_PROXY": proxy, "https_proxy": proxy,
		// For every other protocol: the refusal says what may be reached, a failing lookup of a
		// name does not.
		"ALL_PROXY": proxy, "all_proxy": proxy,
		"NO_PROXY": direct, "no_proxy": direct,

		// Node's own fetch and http heed the variables only when told to (22.21, 24.5).
		"NODE_USE_ENV_PROXY": "1",
		// Yarn 2 and later has settings of its own, and sees them here.
		"YARN_HTTP_PROXY": proxy, "YARN_HTTPS_PROXY": proxy,
	}
	maps.Copy(env, javaEnvironment(addr))
	return env
}

// javaEnvironment is for build tools on the JVM, which reads no variable for proxies but
// has properties; loopback addresses are left out by default. JAVA_TOOL_OPTIONS would reach
// every program, but each would tell so on its standard error, where tests look.
func javaEnvironment(addr string) map[string]string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil
	}
	properties := fmt.Sprintf("-Dhttp.proxyHost=%[1]s -Dhttp.proxyPort=%[2]s -Dhttps.proxyHost=%[1]s -Dhttps.proxyPort=%[2]s", host, port)
	return map[string]string{
		// Maven 3.9 heeds the properties only when told to; others do not know the last one.
		"MAVEN_OPTS":  properties + " -Daether.connector.http.useSystemProperties=true",
		"GRADLE_OPTS": properties, // gradlew, too, when it fetches Gradle
		"SBT_OPTS":    properties,
	}
}
