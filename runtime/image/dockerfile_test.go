package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/container"
)

func TestDirectives(t *testing.T) {
	for _, c := range []struct {
		name, text string
		ran        []string // "user dir argv"
		want       container.ImageConfig
	}{
		{
			name: "a line for the shell", text: "RUN echo $HOME",
			ran:  []string{`0:0 / ["/bin/sh" "-c" "echo $HOME"] map[PATH:/bin]`},
			want: container.ImageConfig{Env: map[string]string{"PATH": "/bin"}},
		},
		{
			name: "argv, comments, continued lines", text: "# a note\nrun [\"ls\", \"-l\"]\n\nRUN a && \\\n# between\n  b\n",
			ran:  []string{`0:0 / ["ls" "-l"] map[PATH:/bin]`, `0:0 / ["/bin/sh" "-c" "a &&   b"] map[PATH:/bin]`},
			want: container.ImageConfig{Env: map[string]string{"PATH": "/bin"}},
		},
		{
			name: "environment", text: `ENV PATH=/opt:$PATH B="x \"y\" ${PATH}" C='$A' D=a\ b` + "\nENV OLD the old way\nARG X=1\nRUN true",
			ran: []string{`0:0 / ["/bin/sh" "-c" "true"] map[B:x "y" /bin C:$A D:a b OLD:the old way PATH:/opt:/bin X:1]`},
			want: container.ImageConfig{Env: map[string]string{
				"PATH": "/opt:/bin", "B": `x "y" /bin`, "C": "$A", "D": "a b", "OLD": "the old way",
			}},
		},
		{
			name: "nothing but a note", text: "\n# a note\n",
			want: container.ImageConfig{Env: map[string]string{"PATH": "/bin"}},
		},
		{
			name: "defaults, a shell, what has no meaning here",
			text: "ARG X\nARG Y=${X:-y}\nSHELL [\"/bin/bash\", \"-ec\"]\nRUN --mount=type=cache,target=/root/.cache z\nCMD [\"x\"]\nEXPOSE 80\nLABEL a=$Y assayd.owner=me",
			ran:  []string{`0:0 / ["/bin/bash" "-ec" "z"] map[PATH:/bin Y:y]`},
			want: container.ImageConfig{Env: map[string]string{"PATH": "/bin"}, Labels: map[string]string{"a": "y"}},
		},
		{
			name: "here-documents", text: "RUN <<EOF\na\nb $X\nEOF\nRUN cat <<A >x && cat <<-'B'\n1\nA\n\t2\n\tB\nRUN <<EOF\n#!/usr/bin/env python3\nprint(1)\nEOF",
			ran: []string{
				`0:0 / ["/bin/sh" "-c" "a\nb $X\n"] map[PATH:/bin]`,
				`0:0 / ["/bin/sh" "-c" "cat <<A >x && cat <<-'B'\n1\nA\n\t2\nB"] map[PATH:/bin]`,
				`0:0 / ["/usr/bin/env" "python3"] map[PATH:/bin] < "#!/usr/bin/env python3\nprint(1)\n"`,
			},
			want: container.ImageConfig{Env: map[string]string{"PATH": "/bin"}},
		},
		{
			name: "user", text: "USER agent\nRUN id",
			ran:  []string{`agent / ["/bin/sh" "-c" "id"] map[PATH:/bin]`},
			want: container.ImageConfig{User: "agent", Env: map[string]string{"PATH": "/bin"}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var ran []string
			s := siteWith(func(_ context.Context, cmd container.Command) (int, error) {
				ran = append(ran, fmt.Sprintf("%s %s %q %v", cmd.User, cmd.Workdir, cmd.Argv, cmd.Env))
				if cmd.Stdin == nil {
					return 0, nil
				}
				in, err := io.ReadAll(cmd.Stdin)
				ran[len(ran)-1] += fmt.Sprintf(" < %q", in)
				return 0, err
			}, recipe{})
			s.config.Env = map[string]string{"PATH": "/bin"}
			if err := s.directive(t.Context(), "user_directive", c.text); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.ran, ran); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.want, s.config); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDirectivesThatAreNotUnderstood(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"RUN true\nCOPY a b", "post_install_directive: line 2: COPY is not supported here"},
		{"FROM scratch", "line 1: FROM is not supported here"},
		{"NONSENSE x", "line 1: unknown instruction: NONSENSE"},
		{"RUN --mount=type=secret,id=x true", "line 1: RUN: --mount=type=secret is not supported"},
		{"RUN --network=none true", "--network=none is not supported"},
		{"RUN <<EOF\ntrue", "unterminated heredoc"},
		{"RUN", "it has no command"},
		{"ENV A=${B:?why}", "why"},
		{`ENV A="b`, "matching double-quote"},
	} {
		s := siteWith(func(context.Context, container.Command) (int, error) { return 0, nil }, recipe{})
		err := s.directive(t.Context(), "post_install_directive", c.text)
		if failed, ok := errors.AsType[*SetupError](err); !ok || failed.Attribute != "post_install_directive" || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %q", c.text, err, c.want)
		}
	}
}

func TestADirectiveThatFailsNamesItsLine(t *testing.T) {
	s := siteWith(func(context.Context, container.Command) (int, error) { return 3, nil }, recipe{Role: "base"})
	err := s.directive(t.Context(), "user_directive", "\nENV A=b\nRUN false")
	var failed *SetupError
	if !errors.As(err, &failed) || failed.Index != 3 || failed.Attribute != "user_directive" || failed.Command != "false" {
		t.Errorf("got %#v", err)
	}
}

func FuzzDirectives(f *testing.F) {
	f.Add("RUN a \\\n b\nENV A=b C=\"$D\"\nUSER x\nWORKDIR y")
	f.Add("ENV \\")
	f.Fuzz(func(t *testing.T, text string) {
		s := siteWith(func(context.Context, container.Command) (int, error) { return 0, nil }, recipe{})
		s.b.copier = anywhere{}
		_ = s.directive(t.Context(), "user_directive", text) // an error is an answer; a panic is none
	})
}
