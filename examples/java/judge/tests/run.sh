# What is found in the class path beside the tests is JUnit (see contrib/images/base).
set -e
mkdir -p out
javac -d out $(find src tests -name '*.java')
exec java org.junit.platform.console.ConsoleLauncher --disable-banner --class-path out --scan-class-path out \
	--reports-dir target/surefire-reports
