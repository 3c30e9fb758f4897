import Foundation

/// The Swift package in `Resources/clients/apple`, which this machine's toolchain builds: the parts that need no
/// framework of Apple's.
enum ApplePackage {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../..").standardized.path

    static let folder = root + "/Resources/clients/apple"
    /// Declarations of Apple's frameworks.
    static let stubs = root + "/Tests/AppleStubs"
    /// Beside the tests' own executable, so that a second run builds only what has changed.
    private static let scratch = URL(fileURLWithPath: Program.reveille).deletingLastPathComponent()
        .appendingPathComponent("apple-client").path

    /// Building takes a minute or two on an idle machine.
    private static let buildLimit: Duration = .seconds(900)

    private static let build = Task {
        let program = try Program(
            "/usr/bin/env",
            ["swift", "build", "--build-tests", "--package-path", folder, "--scratch-path", scratch])
        let result = try await program.result(within: buildLimit)
        guard result.ending == .exit(0) else {
            throw InVain(what: "\(folder) is built", seen: [result.output, result.errors])
        }
        return scratch + "/debug"
    }

    /// The folder of the products. The first caller builds them.
    static var products: String {
        get async throws { try await build.value }
    }

    /// Runs the compiler in the language mode of the package.
    static func compile(_ arguments: [String]) async throws -> Program.Result {
        let settings = [
            "-swift-version", "6", "-warnings-as-errors", "-enable-upcoming-feature", "ExistentialAny",
            "-enable-upcoming-feature", "MemberImportVisibility", "-parse-as-library",
        ]
        return try await Program(
            "/usr/bin/env", ["swiftc"] + settings + arguments
        ).result(within: .seconds(120))
    }

    /// The Swift files of a folder.
    static func sources(of folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".swift") }.sorted()
            .map { folder + "/" + $0 }
    }
}
