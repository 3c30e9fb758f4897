import Foundation
import Parsers

/// Runs a parser on files, or, built with `-DFUZZING -sanitize=fuzzer`, on the inputs of libFuzzer.
///
///     reveille-fuzz PARSER FILE...
///     reveille-fuzz PARSER [libFuzzer's options] CORPUS...
enum ReveilleFuzz {
    /// Proof: set once, before the first check, by the only thread.
    nonisolated(unsafe) private static var parser = Parser.json

    /// Without a name the program prints the names of all parsers.
    static func choose(_ name: String?) {
        guard let name, let parser = Parser(rawValue: name) else {
            print(Parser.allCases.map(\.rawValue).joined(separator: "\n"))
            exit(name == nil ? 0 : 2)
        }
        self.parser = parser
    }

    static func check(_ bytes: [UInt8]) {
        if let violation = parser.violation(bytes) { fatalError("\(parser.rawValue): \(violation)") }
    }
}

#if FUZZING
    // libFuzzer has the main function, and calls these functions (llvm.org/docs/LibFuzzer.html).

    /// Reads and removes the first argument.
    @_cdecl("LLVMFuzzerInitialize")
    public func initialize(
        _ count: UnsafeMutablePointer<CInt>,
        _ list: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>
    ) -> CInt {
        let arguments = list.pointee
        ReveilleFuzz.choose(count.pointee > 1 ? arguments[1].map { String(cString: $0) } : nil)
        arguments[1] = arguments[0]
        list.pointee = arguments + 1
        count.pointee -= 1
        return 0
    }

    @_cdecl("LLVMFuzzerTestOneInput")
    public func test(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
        ReveilleFuzz.check(Array(UnsafeBufferPointer(start: start, count: count)))
        return 0
    }
#else
    @main
    extension ReveilleFuzz {
        static func main() {
            choose(CommandLine.arguments.dropFirst().first)
            for file in CommandLine.arguments.dropFirst(2) {
                guard let bytes = FileManager.default.contents(atPath: file) else { fatalError("cannot read \(file)") }
                check(Array(bytes))
            }
        }
    }
#endif
