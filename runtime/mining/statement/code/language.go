package code

import (
	"path"
	"strings"
)

// Language is how a source file is written.
type Language string

// The languages that are told apart. Others are read as one of these where they look
// alike, and not at all where they do not.
const (
	Python     Language = "python"
	Go         Language = "go"
	JavaScript Language = "javascript" // and TypeScript
	Rust       Language = "rust"
	Java       Language = "java" // and Kotlin, Scala, C#, Swift, PHP
	C          Language = "c"    // and C++
)

// LanguageOf is the language of a file by its name, "" = none that is read.
func LanguageOf(name string) Language {
	switch strings.ToLower(strings.TrimPrefix(path.Ext(name), ".")) {
	case "py", "pyi", "pyx":
		return Python
	case "go":
		return Go
	case "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "vue", "svelte":
		return JavaScript
	case "rs":
		return Rust
	case "java", "kt", "kts", "scala", "cs", "swift", "php", "groovy":
		return Java
	case "c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx", "ipp", "inl", "m", "mm", "cu":
		return C
	}
	return ""
}

// words is a set written as a text. A set of many words is made before it is asked often.
type words string

func (w words) has(word string) bool {
	return word != "" && strings.Contains(string(w), " "+word+" ")
}

func (w words) set() map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(string(w)) {
		set[word] = true
	}
	return set
}

// keywords mean nothing of their own, neither do the names that each program of the
// language has without asking for them.
func keywords(l Language) words {
	switch l {
	case Python:
		return ` False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield match case self cls super print len range list dict set tuple str int float bool bytes bytearray frozenset object type isinstance issubclass hasattr getattr setattr delattr enumerate zip map filter sorted reversed sum min max abs all any open repr hash id iter next callable property staticmethod classmethod round divmod pow ord chr hex oct bin format vars dir input slice memoryview complex eval exec compile globals locals Exception BaseException ValueError TypeError KeyError IndexError AttributeError RuntimeError NotImplementedError NotImplemented StopIteration StopAsyncIteration OSError IOError FileNotFoundError FileExistsError PermissionError ImportError ModuleNotFoundError AssertionError ZeroDivisionError OverflowError ArithmeticError LookupError NameError SyntaxError UnicodeError UnicodeDecodeError UnicodeEncodeError TimeoutError ConnectionError RecursionError KeyboardInterrupt SystemExit GeneratorExit Warning DeprecationWarning UserWarning FutureWarning RuntimeWarning PendingDeprecationWarning Ellipsis __init__ __name__ __main__ __file__ __class__ __dict__ __doc__ __all__ __version__ __repr__ __str__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __hash__ __len__ __iter__ __next__ __enter__ __exit__ __call__ __getitem__ __setitem__ __delitem__ __contains__ __getattr__ __setattr__ __new__ __bool__ __add__ __sub__ __mul__ items keys values append extend update pop get copy join split strip lower upper replace startswith endswith encode decode pytest unittest mock TestCase fixture parametrize mark raises assertEqual assertTrue assertFalse assertRaises assertIn assertIsNone assertIsInstance setUp tearDown monkeypatch tmp_path capsys caplog `
	case Go:
		return ` break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var append cap clear close complex copy delete imag len make max min new panic print println real recover any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string uint uint8 uint16 uint32 uint64 uintptr true false iota nil Error String testing TestMain Run Fatal Fatalf Errorf Helper Cleanup TempDir Setenv Parallel Skip Log Logf main init `
	case JavaScript:
		return ` abstract any as asserts async await boolean break case catch class const constructor continue debugger declare default delete do else enum export extends false finally for from function get if implements import in infer instanceof interface is keyof let module namespace never new null number object of override package private protected public readonly require return satisfies set static string super switch symbol this throw true try type typeof undefined unique unknown var void while with yield Array Object String Number Boolean Function Symbol Promise Error TypeError RangeError SyntaxError ReferenceError Map Set WeakMap WeakSet Date RegExp JSON Math Infinity NaN BigInt Proxy Reflect Buffer Uint8Array ArrayBuffer console process window document global globalThis exports prototype length push pop shift unshift slice splice concat join split map filter reduce forEach find some every includes indexOf keys values entries then catch finally toString hasOwnProperty call apply bind describe it test expect assert equal deepEqual strictEqual deepStrictEqual toBe toEqual toThrow toHaveBeenCalled beforeEach afterEach beforeAll afterAll before after jest vi Record Partial Required Readonly Pick Omit `
	case Rust:
		return ` as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while union bool char f32 f64 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize String Vec Option Some None Result Ok Err Box Rc Arc Default Clone Copy Debug Display PartialEq Eq PartialOrd Ord Hash Send Sync Sized Drop Fn FnMut FnOnce From Into TryFrom TryInto AsRef AsMut Iterator IntoIterator ToString ToOwned println print eprintln format write writeln vec panic assert assert_eq assert_ne debug_assert unreachable unimplemented todo matches dbg include_str derive cfg test tests allow inline must_use unwrap expect unwrap_err is_some is_none is_ok is_err iter into_iter map filter collect clone into from new len push as_str to_string to_owned default should_panic ignore `
	case Java:
		return ` abstract assert boolean break byte case catch char class const continue default do double else enum extends final finally float for goto if implements import instanceof int interface long native new null package private protected public record return sealed permits short static strictfp super switch synchronized this throw throws transient true false try var void volatile while yield String Object Integer Long Double Float Boolean Byte Short Character Void Number Math System Class Override Deprecated Exception RuntimeException IllegalArgumentException IllegalStateException NullPointerException UnsupportedOperationException IOException List Map Set ArrayList HashMap HashSet Arrays Collections Optional Stream Iterator Iterable Collection Thread Runnable StringBuilder equals hashCode toString get set add put size isEmpty length println out Test BeforeEach AfterEach BeforeAll AfterAll Before After assertEquals assertTrue assertFalse assertThrows assertNull assertNotNull assertThat fun val when object companion data internal open override lateinit init is in as by out def trait using namespace string bool foreach function echo func let guard protocol extension array `
	case C:
		return ` auto break case char const continue default do double else enum extern float for goto if inline int long register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while alignas alignof bool catch class constexpr const_cast consteval constinit co_await co_return co_yield decltype delete dynamic_cast explicit export false friend mutable namespace new noexcept nullptr operator override final private protected public reinterpret_cast requires concept static_assert static_cast template this throw true try typeid typename using virtual wchar_t NULL define include ifdef ifndef endif elif undef pragma defined size_t ssize_t ptrdiff_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t uintptr_t intptr_t std string string_view vector printf fprintf sprintf snprintf malloc calloc realloc free memcpy memset memmove memcmp strlen strcmp strncmp strcpy strdup assert abort exit stderr stdout stdin FILE EOF TEST TEST_F TEST_P TEST_CASE SECTION REQUIRE CHECK EXPECT_EQ EXPECT_NE EXPECT_TRUE EXPECT_FALSE EXPECT_LT EXPECT_GT EXPECT_THROW EXPECT_STREQ ASSERT_EQ ASSERT_NE ASSERT_TRUE ASSERT_FALSE ASSERT_STREQ main argc argv `
	}
	return ""
}

// roots are the modules that come with a language: what is reached through them is nothing
// that a patch brings.
func roots(l Language) words {
	switch l {
	case Python:
		return ` abc argparse array ast asyncio base64 builtins collections concurrent contextlib copy csv ctypes dataclasses datetime decimal difflib enum errno fractions functools gc glob hashlib heapq hmac html http importlib inspect io itertools json locale logging math mock multiprocessing operator os pathlib pickle platform pprint pytest queue random re sched secrets select shutil signal socket sqlite3 ssl stat statistics string struct subprocess sys tempfile textwrap threading time timeit traceback types typing typing_extensions unicodedata unittest urllib uuid warnings weakref xml zipfile zlib zoneinfo np numpy pd `
	case Go:
		return ` atomic base64 big binary bits bufio bytes cmp context cryptorand debug driver embed errors exec filepath flag fmt fs gzip hash heap hex html http httptest httputil io ioutil iotest iter json log maps math mime multipart net netip os path pprof rand reflect regexp rpc runtime signal slices slog sha1 sha256 sha512 md5 sort sql strconv strings sync syscall tabwriter template testing textproto time tls unicode unique unsafe url user utf16 utf8 x509 xml zip t b f tb assert require cmpopts `
	case JavaScript:
		return ` Math JSON Object Array Number String Promise Symbol Reflect Date Buffer BigInt Intl Atomics console process fs path util os assert expect jest vi sinon chai React window document `
	case Rust:
		return ` std core alloc proc_macro `
	case Java:
		return ` java javax kotlin scala org junit System Math Arrays Collections Objects Collectors Assert Assertions Mockito `
	case C:
		return ` std testing boost `
	}
	return ""
}
