package config

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// refusal says why a text is not given to the parser.
type refusal struct {
	at              hcl.Range
	summary, detail string
}

// tooDeep finds what passes the bounds of a text; nil = nothing does. The parser goes one call deeper with each bracket, and
// the end of the stack is the end of the program.
func tooDeep(text []byte, name string) *refusal {
	if shallow(text) {
		return nil
	}
	tokens, _ := hclsyntax.LexConfig(text, name, hcl.InitialPos) // parsing reports what is wrong
	return lexedTooDeep(tokens, maxNesting, maxOperators)
}

// opening is a bracket, a quote, or a template that is open.
type opening struct {
	at    hclsyntax.Token
	block bool // the bracket of a block
}

// ends are the tokens that close others.
var ends = map[hclsyntax.TokenType][]hclsyntax.TokenType{
	hclsyntax.TokenCBrace: {hclsyntax.TokenOBrace}, hclsyntax.TokenCBrack: {hclsyntax.TokenOBrack}, hclsyntax.TokenCParen: {hclsyntax.TokenOParen},
	hclsyntax.TokenTemplateSeqEnd: {hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl},
	hclsyntax.TokenCQuote:         {hclsyntax.TokenOQuote}, hclsyntax.TokenCHeredoc: {hclsyntax.TokenOHeredoc},
}

// lexedTooDeep is tooDeep by tokens. What closes nothing that is open, and what closes a block of another line in the middle of
// a line, which the parser passes over once it has found a mistake there, leaves all open that is.
func lexedTooDeep(tokens hclsyntax.Tokens, nesting, most int) *refusal {
	var open []opening
	var wrong *refusal
	operators := 0
	for i, token := range tokens {
		switch token.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenTemplateInterp,
			hclsyntax.TokenTemplateControl, hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc:
			open = append(open, opening{token, token.Type == hclsyntax.TokenOBrace && i > 0 && headsBlock(tokens[i-1].Type)})
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenTemplateSeqEnd,
			hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc:
			if closes(open, tokens, i) {
				open = open[:len(open)-1]
			} else if wrong == nil {
				wrong = &refusal{token.Range, "Brackets do not match", unmatched(open, token)}
			}
		case hclsyntax.TokenBang, hclsyntax.TokenMinus, hclsyntax.TokenPlus, hclsyntax.TokenStar, hclsyntax.TokenSlash,
			hclsyntax.TokenPercent, hclsyntax.TokenAnd, hclsyntax.TokenOr, hclsyntax.TokenQuestion, hclsyntax.TokenEqualOp,
			hclsyntax.TokenNotEqual, hclsyntax.TokenLessThan, hclsyntax.TokenGreaterThan, hclsyntax.TokenLessThanEq,
			hclsyntax.TokenGreaterThanEq:
			operators++
		}
		switch {
		case len(open) <= nesting && operators <= most:
		case len(open) > nesting && wrong != nil:
			return wrong
		default:
			return &refusal{token.Range, "Too deeply nested", "No spec needs that many brackets or operators."}
		}
	}
	return nil
}

// headsBlock reports whether a bracket behind such a token begins a block.
func headsBlock(t hclsyntax.TokenType) bool {
	return t == hclsyntax.TokenIdent || t == hclsyntax.TokenCQuote
}

// closes reports whether a token surely closes what is open innermost.
func closes(open []opening, tokens hclsyntax.Tokens, i int) bool {
	if len(open) == 0 {
		return false
	}
	last, token := open[len(open)-1], tokens[i]
	matches := false
	for _, kind := range ends[token.Type] {
		matches = matches || kind == last.at.Type
	}
	if !matches || !last.block || last.at.Range.Start.Line == token.Range.Start.Line {
		return matches
	}
	before := tokens[i-1].Type
	return before == hclsyntax.TokenNewline || before == hclsyntax.TokenComment
}

func unmatched(open []opening, token hclsyntax.Token) string {
	if len(open) == 0 {
		return fmt.Sprintf("This %s closes nothing that is open.", token.Bytes)
	}
	last := open[len(open)-1].at
	return fmt.Sprintf("This %s does not close the %s of line %d as it should: put each bracket that closes a block at the beginning of a line.", token.Bytes, last.Bytes, last.Range.Start.Line)
}
