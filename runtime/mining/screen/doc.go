// Package screen says of a merged pull request whether it is worth the work: first from the
// few words that an archive has, then from all that GitHub tells. It also knows files by their
// names: which are tests, and which are generated or vendored.
//
// It is pure: it asks no service, and the same input gives the same answer. An unknown fact
// speaks against a pull request where a rule asks for it. The reasons, in the order in which
// they are looked for, the first one is told:
//
//	private excluded_repo decontaminated bot not_org archived fork language stars license
//	revert backport many_files vendored generated_only tests_only docs_only few_files
//	few_lines many_lines description
//
// Start reading at Early and Pull.
package screen
