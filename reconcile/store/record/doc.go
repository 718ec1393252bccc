// Package record encodes what the store keeps as text: the lines of records with their envelope, and columns of JSON. No
// secret value stays in either, and no line is longer than 1 MiB.
//
// It stores nothing, and it knows no type of record. Start reading at Encoder.
package record
