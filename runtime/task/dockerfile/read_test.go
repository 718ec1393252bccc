package dockerfile_test

import (
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/task/dockerfile"
	"github.com/assayd/assayd/runtime/task/folder"
)

func TestWhereADockerfileEnds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"FROM x\n": "",
		"FROM ghcr.io/laude-institute/t-bench/ubuntu-24-04:20250624\n":                       "/app",
		"FROM x\nworkdir /a/b/\n":                                                            "/a/b",
		"FROM x\nWORKDIR /a\nRUN x\nWORKDIR b/c\n":                                           "/a/b/c",
		"FROM x\nWORKDIR b\n":                                                                "/b",
		"FROM x AS one\nWORKDIR /one\nFROM y\n":                                              "",
		"FROM x AS one\nWORKDIR /one\nFROM --platform=linux/amd64 one as two\nWORKDIR sub\n": "/one/sub",
		"ARG D=/d\nFROM x\nENV E=${D}/e F=1\nWORKDIR $E/f\n":                                 "/d/e/f",
		"FROM x\nENV D /old\nWORKDIR \"${D}\"\n":                                             "/old",
		"FROM x\nWORKDIR \\\n  # of the task\n  /joined\n":                                   "/joined",
		"FROM x\nRUN <<EOF\nWORKDIR /no\nEOF\nWORKDIR /yes\n":                                "/yes",
		"FROM x\nRUN cat <<'A' >b\nWORKDIR /no\nA\n# WORKDIR /no\n":                          "",
	} {
		if got, ok := dockerfile.Workdir(text); got != want || !ok {
			t.Errorf("%q: %q, %t; want %q", text, got, ok, want)
		}
	}
	for _, text := range []string{"FROM x\nWORKDIR $HOME\n", "FROM x\nENV A=$A\nWORKDIR $A\n"} {
		if got, ok := dockerfile.Workdir(text); ok {
			t.Errorf("%q gives %q, which nobody can know", text, got)
		}
	}
}

func TestWhichComposeFilesComeDownToOneContainer(t *testing.T) {
	t.Parallel()
	client := `services:
  client:
    build:
      dockerfile: Dockerfile
    image: ${T_BENCH_TASK_DOCKER_CLIENT_IMAGE_NAME}
    container_name: ${T_BENCH_TASK_DOCKER_CLIENT_CONTAINER_NAME}
    command: [ "sh", "-c", "sleep infinity" ]
    environment:
      - TEST_DIR=${T_BENCH_TEST_DIR}
    volumes:
      - ${T_BENCH_TASK_LOGS_PATH}:${T_BENCH_CONTAINER_LOGS_PATH}
`
	for text, want := range map[string]dockerfile.Service{
		client: {Name: "client", Context: ".", Dockerfile: "Dockerfile", Env: map[string]string{"TEST_DIR": "${T_BENCH_TEST_DIR}"}},
		"services: {main: {image: 'a:1', user: 1000, working_dir: /w, environment: {A: 1, B: ''}}}": {
			Name: "main", Image: "a:1", User: "1000", Workdir: "/w", Env: map[string]string{"A": "1", "B": ""},
		},
		"services: {a: {image: i, network_mode: none, cpus: 1.5, mem_limit: 512m}}": {
			Name: "a", Image: "i", Env: map[string]string{}, Offline: true, CPUs: 1.5, Memory: 512 << 20,
		},
		"services: {a: {image: i, network_mode: bridge, deploy: {resources: {limits: {cpus: '2', memory: 1G}, reservations: {memory: 1G}}}}}": {
			Name: "a", Image: "i", Env: map[string]string{}, CPUs: 2, Memory: 1 << 30,
		},
		"services: {a: {image: i, cpus: '${CPUS}', mem_limit: '${MEMORY:-2g}'}}": {Name: "a", Image: "i", Env: map[string]string{}},
		"{services: {a: {image: i, networks: [in]}}, networks: {in: {internal: true}}}": {
			Name: "a", Image: "i", Env: map[string]string{}, Offline: true,
		},
		"{services: {a: {image: i, networks: {in: {}, out: {}}}}, networks: {in: {internal: true}, out: }}": {
			Name: "a", Image: "i", Env: map[string]string{},
		},
		"{services: {a: {image: i}}, networks: {default: {internal: true}}}": {
			Name: "a", Image: "i", Env: map[string]string{}, Offline: true,
		},
		"services: {x: {build: ./sub/}}": {Name: "x", Context: "sub", Dockerfile: "Dockerfile", Env: map[string]string{}},
	} {
		got, err := dockerfile.Compose([]byte(text))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	}
	for text, want := range map[string]string{
		"services: {b: {}, a: {}}":                                                            "needs 2 containers side by side (a, b)",
		"services: {}":                                                                        "has no services",
		"services: {a: {build: ../up}}":                                                       `it is built in "../up", outside of the task`,
		"services: {a: {build: {target: x, context: .}}}":                                     `its build has "target"`,
		"services: {a: {build: 3}}":                                                           "its build cannot be read",
		"services: {a: {volumes: [/var/run:/x]}}":                                             "mounts",
		"services: {a: {cap_add: [NET_ADMIN]}}":                                               `asks for "cap_add"`,
		"services: {a: {entrypoint: x}}":                                                      `asks for "entrypoint"`,
		"services: {a: {environment: 1}}":                                                     "its environment cannot be read",
		"services: {a: {environment: [A=1, KEY]}}":                                            "takes KEY from the environment of whoever runs it",
		"services: {a: {environment: {KEY: }}}":                                               "takes KEY from the environment of whoever runs it",
		"services: {a: {network_mode: host}}":                                                 "is in the network of something else (network_mode host)",
		"services: {a: {mem_limit: much}}":                                                    `mem_limit is "much", which is no limit`,
		"services: {a: {cpus: -1}}":                                                           `cpus is "-1", which is no limit`,
		"services: {a: {command: [redis-server, '--x']}}":                                     `starts "redis-server --x"`,
		"services: {a: {command: sh -c 'serve & sleep 9'}}":                                   `starts "sh -c 'serve & sleep 9'"`,
		"services: {a: {deploy: {resources: {reservations: {devices: [{driver: nvidia}]}}}}}": "reserves devices",
		"a: [": "is no compose file",
	} {
		if _, err := dockerfile.Compose([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestCommandsThatOnlyKeepAContainerThere(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"sleep infinity", "[sleep, '3600']", "tail -f /dev/null", "[sh, -c, sleep infinity]", `bash -c "sleep infinity"`, "/bin/bash", "[bash, -l]",
		"[/bin/sh, -c, 'while true; do sleep 1000; done']", "",
	} {
		if _, err := dockerfile.Compose([]byte("services: {a: {command: " + command + "}}")); err != nil {
			t.Errorf("%s: %v", command, err)
		}
	}
}

func TestWhatOfADockerfileIsNotDoneIsTold(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"FROM x\nCOPY --chown=a b c\nCMD [\"serve\"]\nENTRYPOINT []\n": "",
		"FROM x AS one\nFROM y\n":                                      "problem: its Dockerfile has 2 stages; one is built here",
		"FROM x\nCOPY --chown=a --from=y /a /b\n":                      "problem: its Dockerfile copies from another image, y, which is not done here",
		"FROM x\nENTRYPOINT [\"/start.sh\"]\nRUN z\n":                  `notice: the ENTRYPOINT of its Dockerfile, ["/start.sh"], is not run; what it starts is not there`,
	} {
		var say folder.Findings
		dockerfile.Tell(text, &say)
		got := ""
		for _, p := range say.Problems {
			got += "problem: " + p.Text
		}
		for _, n := range say.Notices {
			got += "notice: " + n.Text
		}
		if got != want {
			t.Errorf("%q: %s; want %s", text, got, want)
		}
	}
}

func FuzzWorkdir(f *testing.F) {
	f.Add("ARG D=/d\nFROM x AS a\nENV E=${D}/e F=1\nRUN <<A\nx\nA\nWORKDIR $E/f\\\n")
	f.Fuzz(func(t *testing.T, text string) {
		if dir, ok := dockerfile.Workdir(text); ok && dir != "" && (!path.IsAbs(dir) || path.Clean(dir) != dir) {
			t.Errorf("%q", dir)
		}
	})
}

func FuzzCompose(f *testing.F) {
	f.Add([]byte("services: {a: &x {image: i, environment: [A=1]}}\n"))
	f.Add([]byte("services: {a: {build: {context: ., dockerfile: D}, volumes: ['${A}:/b']}}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := dockerfile.Compose(text)
		if err == nil && (path.IsAbs(s.Context) || strings.HasPrefix(s.Context, "..")) {
			t.Errorf("accepted as %+v", s)
		}
	})
}
