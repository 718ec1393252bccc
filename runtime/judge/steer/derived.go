package steer

// Derived are globs of what tools make of other files and would trust in their place, at any
// depth: byte code, objects, caches, installed copies.
func Derived() []string {
	return []string{
		// Python
		"__pycache__", "*.pyc", "*.pyo", ".pytest_cache", ".mypy_cache", ".tox", ".nox", ".eggs", "*.egg", "*.egg-info",
		"*.egg-link", "*.dist-info", "site-packages", "dist-packages", "__editable__.*",
		// C and C++, by make, CMake and ninja
		"*.o", "*.lo", "*.gch", "*.pch", "*.gcda", "*.gcno", ".libs", "CMakeFiles", "CMakeCache.txt", "cmake_install.cmake",
		"CTestTestfile.cmake", "DartConfiguration.tcl", ".ninja_deps", ".ninja_log",
		// Java, Kotlin, Scala
		"*.class", ".gradle", ".m2/repository", ".kotlin", ".bsp", ".bloop",
		// Rust
		".fingerprint", ".rustc_info.json", "*.rlib", "*.rmeta",
		// JavaScript and TypeScript
		"node_modules/.cache", "node_modules/.vite", "node_modules/.bin", "node_modules/.package-lock.json", ".jest-cache", ".babel-cache",
		"*.tsbuildinfo", ".turbo", ".nx/cache", ".parcel-cache", ".swc", "_cacache",
		// Go, and what has its cache in the home folder
		".cache", "go-build",
	}
}

// Trees are folders in which a tool builds, by the name of the folder: they are that beside
// one of these files only, for there are sources below such names, too.
func Trees() map[string][]string {
	gradle := gradleFiles()
	python := []string{"setup.py", "setup.cfg", "pyproject.toml"}
	return map[string][]string{
		"target":     append([]string{"Cargo.toml", "pom.xml", "build.sbt"}, gradle...),
		"build":      gradle,
		"build/lib":  python,
		"build/lib*": python, "build/bdist*": python, "build/temp*": python,
	}
}

// Built are files that mark the folder which they are in as one in which a tool builds.
func Built() []string {
	return []string{"CMakeCache.txt", ".rustc_info.json", ".ninja_log", "pyvenv.cfg"}
}

// CacheVariables are variables of the environment that name a folder of a tool's cache.
func CacheVariables() []string {
	return []string{
		"PYTHONPYCACHEPREFIX", "CARGO_TARGET_DIR", "GOCACHE", "GRADLE_USER_HOME", "npm_config_cache", "NPM_CONFIG_CACHE",
		"BABEL_CACHE_PATH", "XDG_CACHE_HOME", "CCACHE_DIR", "SCCACHE_DIR", "MYPY_CACHE_DIR",
	}
}

func gradleFiles() []string {
	return []string{"build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"}
}
