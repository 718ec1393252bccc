package config

import "github.com/hashicorp/hcl/v2/hclwrite"

// Format returns the text in the usual layout. Text that does not parse is laid out as far
// as it goes.
func Format(src []byte) []byte { return hclwrite.Format(src) }
