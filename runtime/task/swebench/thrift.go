package swebench

import "encoding/binary"

// skim finds the end of a message in Thrift's compact protocol and checks that no list or text
// in it claims more than there is: whoever decodes it makes room for them first.
func skim(data []byte) (length int, err error) {
	s := skimmer{data: data}
	if !s.structure(0) || s.entries > maxThrift {
		return 0, errBroken
	}
	return len(data) - len(s.data), nil
}

type skimmer struct {
	data    []byte // what is left
	entries uint64
}

// Types of the compact protocol.
const (
	thriftStop   = 0
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
)

func (s *skimmer) structure(depth int) bool {
	for depth < maxThriftDepth {
		head, ok := s.one()
		kind := head & 0xF
		switch {
		case !ok:
			return false
		case head == thriftStop:
			return true
		}
		if head>>4 == 0 { // the number of the field follows
			if _, ok := s.varint(); !ok {
				return false
			}
		}
		if kind != thriftTrue && kind != thriftFalse && !s.value(kind, depth+1) {
			return false
		}
	}
	return false
}

func (s *skimmer) value(kind byte, depth int) bool {
	switch kind {
	case thriftTrue, thriftFalse, thriftByte:
		return s.skip(1)
	case thriftByte + 1, thriftByte + 2, thriftI64:
		_, ok := s.varint()
		return ok
	case thriftDouble:
		return s.skip(8)
	case thriftBinary:
		n, ok := s.varint()
		return ok && s.skip(n)
	case thriftList, thriftSet:
		return s.list(depth)
	case thriftMap:
		return s.mapping(depth)
	case thriftStruct:
		return s.structure(depth)
	}
	return false
}

func (s *skimmer) list(depth int) bool {
	head, ok := s.one()
	if !ok {
		return false
	}
	n := uint64(head >> 4)
	if n == 15 {
		if n, ok = s.varint(); !ok {
			return false
		}
	}
	return s.many(n, depth, head&0xF)
}

func (s *skimmer) mapping(depth int) bool {
	n, ok := s.varint()
	if !ok || n == 0 {
		return ok
	}
	kinds, ok := s.one()
	return ok && s.many(n, depth, kinds>>4, kinds&0xF)
}

// many skips n entries of which each has values of these kinds.
func (s *skimmer) many(n uint64, depth int, kinds ...byte) bool {
	if s.entries += n; n > uint64(len(s.data)) || s.entries > maxThrift || depth >= maxThriftDepth {
		return false
	}
	for range n {
		for _, kind := range kinds {
			if !s.value(kind, depth+1) {
				return false
			}
		}
	}
	return true
}

func (s *skimmer) one() (byte, bool) {
	if len(s.data) == 0 {
		return 0, false
	}
	b := s.data[0]
	s.data = s.data[1:]
	return b, true
}

func (s *skimmer) varint() (uint64, bool) {
	n, length := binary.Uvarint(s.data)
	if length <= 0 {
		return 0, false
	}
	s.data = s.data[length:]
	return n, true
}

func (s *skimmer) skip(n uint64) bool {
	if n > uint64(len(s.data)) {
		return false
	}
	s.data = s.data[n:]
	return true
}
