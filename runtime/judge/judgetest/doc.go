// Package judgetest has what tests of a judge's parts share: stores in memory, room on a machine of so
// many CPUs, and hostile or honest archives. Only tests import it.
package judgetest
