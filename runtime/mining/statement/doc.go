// Package statement writes what a task asks for, and sees to it that the task can be solved
// from that: the statement holds neither the solution, nor names of hidden tests, nor where
// the solution is to be had, and every name, message and constant that the tests need and
// the base does not have is told in it.
//
// The words are a model's; what is wrong with them is found here, by looking, and never by
// asking a model. The texts of pull requests are hostile: they are fenced, and what a model
// makes of them is checked all the same. Start reading at Write, Check and Needs.
package statement
