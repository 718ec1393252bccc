package screen

import (
	"strings"
	"testing"
)

// kinds are names of files, by what they are.
var kinds = map[Kind]string{
	Source: `main.go pkg/testing.go cmd/latest.go pkg/test.go attest.py src/contest.rs lib/manifest.js src/main/java/org/x/test/TestClient.java
		src/main/kotlin/CartTest.kt src/Latest.java src/Contest.java src/EXIT.java src/PodSpec.kt src/KeySpec.java spec/schema.go spec/parser.rs
		src/Testimonials.tsx app/testimonials/index.ts src/security.py changes.go lib/history.js examples/a.py benches/b.rs numpy/testing/utils.py
		src/app.config.ts src/docs/render.ts web/index.html style.scss query.sql api.proto bin/run Gemfile.rb virtualenv/run.py src/virtualenv/run.py
		query_string.go src/config.py build/main.go pkg/specs/oci.go testimonial.rb protest.c
		internal/pods/pods.go src/carthage/hannibal.py`,
	Test: `flag_test.go pkg/x/flag_test.go tests/test_subclass.py test_parse.py voluptuous/tests/tests.py conftest.py a/conftest.py pytest.ini
		mypkg/foo_test.py app/tests.py tests/__init__.py test/for-in-loop.test.js src/a.test.ts src/a.test.tsx src/a.spec.tsx src/a.spec.mjs
		src/__tests__/a.js src/__mocks__/a.js test.js test/index.js a-test.js a_test.ts types/index.test-d.ts cypress/a.ts e2e/a.ts
		app/a.e2e-spec.ts a.cy.tsx jest.config.js packages/a/jest.setup.ts vitest.config.ts .mocharc.js karma.conf.js
		tests/test_version_req.rs src/parse/tests.rs src/version_test.rs src/test/java/a/Helper.java src/CartTest.java src/CartTests.java src/TestCart.java
		src/CartIT.java src/CartTestCase.java app/src/androidTest/kotlin/A.kt core/src/commonTest/kotlin/A.kt src/CartTest.kt src/CartSpec.groovy src/CartSpec.scala
		src/CartSuite.scala src/cart_test.cc src/cart_unittest.cc src/CartTest.cpp src/test_cart.c tests/a.c tests/a.h t/basic.t
		spec/models/cart_spec.rb lib/cart_spec.rb test/cart_test.rb test/test_cart.rb spec/spec_helper.rb spec/support/matchers.rb features/cart.feature
		features/step_definitions/cart.rb spec/index.js Shop.Tests/Cart.cs src/Shop.UnitTests/Cart.cs src/CartTests.cs src/Cart.Tests.cs
		ShopTests/Cart.swift tests/CartTest.php src/CartTest.php a.phpt phpunit.xml.dist lib/cart_test.dart test/cart_test.exs test/run.bats
		test/e2e/run.go internal/testutil/db.go testutil.go test/fixtures/app/index.js test/fixtures/node_modules/a/index.js`,
	Fixture: `testdata/in.txt pkg/testdata/a/go.mod tests/data/a.json tests/README.md test/fixtures/a.yml src/__snapshots__/a.snap a.snap out.golden
		src/test/resources/a.xml tests/a.png tests/package-lock.json fixtures/a.csv spec/fixtures/a.yml spec/data/a.yml spec/cassettes/a.yml Shop.Tests/a.resx`,
	Docs: `README.md README LICENSE LICENSE-MIT docs/conf.py docs/index.html doc/a.txt CHANGELOG.rst CHANGES notes.txt a/b.adoc logo.svg
		assets/logo.png changelog.d/426.bugfix.rst changelog.d/426 .changeset/a.md newsfragments/1.feature CODE_OF_CONDUCT.md AUTHORS CODEOWNERS specs/design.md`,
	Config: `.github/workflows/ci.yml .github/scripts/a.py package.json go.mod go.work setup.py setup.cfg pyproject.toml requirements.txt
		requirements-dev.txt CMakeLists.txt pom.xml build.gradle.kts Makefile Dockerfile a.Dockerfile .gitignore .eslintrc.js .eslintrc eslint.config.mjs webpack.config.js
		Cargo.toml Gemfile a.gemspec Shop.csproj Shop.sln tox.ini data/a.csv locales/de.po BUILD.bazel spec/openapi.yaml
		.editorconfig Jenkinsfile Rakefile`,
	Generated: `api/a.pb.go a_pb2.py a_pb2_grpc.py a.pb.cc a.g.dart a.freezed.dart Form.Designer.cs dist/index.js packages/a/dist/index.js jquery.min.js
		a.min.css a.js.map zz_generated.deepcopy.go client.generated.ts client_generated.go a.gen.go src/__generated__/a.ts bindata.go .pnp.cjs`,
	Vendored: `vendor/github.com/a/b/c.go vendor/modules.txt vendor/github.com/a/b/c_test.go node_modules/a/index.js third_party/zlib/zlib.c
		a/third-party/b.c src/pip/_vendor/a.py Pods/A/a.m ios/Carthage/Checkouts/a.swift vendor/a/testdata/b.txt third_party/a/tests/b.py`,
	Lock: `go.sum a/go.sum package-lock.json yarn.lock pnpm-lock.yaml bun.lockb Cargo.lock poetry.lock uv.lock Gemfile.lock composer.lock gradle.lockfile
		packages.lock.json flake.lock`,
	Binary: `a.zip lib/a.jar a.so fonts/a.woff2 a.pyc model.onnx manual.pdf data.sqlite a.wasm`,
}

func TestKindsOfFiles(t *testing.T) {
	for kind, names := range kinds {
		for name := range strings.FieldsSeq(names) {
			if got := KindOf(name); got != kind {
				t.Errorf("%s is %s instead of %s", name, got, kind)
			}
			if got, want := IsTest(name), kind == Test || kind == Fixture; got != want {
				t.Errorf("%s is a test: %t", name, got)
			}
		}
	}
}

func FuzzKindOf(f *testing.F) {
	for _, name := range []string{"", "/", "a/../b", "tests/", "\x00", "tests/ü.PY", strings.Repeat("a/", 1000) + "x_test.go"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if kind := KindOf(name); kinds[kind] == "" {
			t.Errorf("%q is %q", name, kind)
		}
	})
}
