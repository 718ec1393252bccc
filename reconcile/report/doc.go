// Package report writes what runs have come to as one HTML file that needs nothing else: no
// script, no other file, no network.
//
// All that it shows was computed elsewhere; names of tasks and agents are hostile. The
// charts are SVG that the template draws, since a step line with a band is all there is to
// draw, and colours have to follow the reader's dark or light. Start reading at Write.
package report
