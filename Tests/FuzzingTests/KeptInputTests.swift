import Foundation
import Parsers
import Testing

/// The corpus of `Tests/Fuzzing/run`. Each input reaches another part of its parser, or once showed a fault.
@Suite("The fuzzing corpus")
struct KeptInputTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Fuzzing/Corpora")

    @Test("violates no property of its parser", arguments: Parser.allCases)
    func keep(_ parser: Parser) throws {
        let files = try FileManager.default.contentsOfDirectory(
            at: Self.folder.appending(path: parser.rawValue), includingPropertiesForKeys: nil)
        #expect((5...60).contains(files.count))
        for file in files {
            let bytes = try Data(contentsOf: file)
            #expect(bytes.count <= 8192, "\(file.lastPathComponent)")
            #expect(parser.violation(Array(bytes)) == nil, "\(file.lastPathComponent)")
        }
    }

    @Test("belongs to existing parsers, and is small")
    func sizes() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
        #expect(Set(names) == Set(Parser.allCases.map(\.rawValue)))
        let files = try #require(FileManager.default.enumerator(at: Self.folder, includingPropertiesForKeys: nil))
        let sizes = try files.compactMap { file in
            try (file as? URL)?.resourceValues(forKeys: [.fileSizeKey]).fileSize
        }
        #expect(sizes.reduce(0, +) < 300_000)
    }
}
