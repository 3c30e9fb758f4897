import Foundation

/// The Swift package in `Resources/clients/apple`, which this machine's toolchain builds: the parts that need no
/// framework of Apple's.
enum ApplePackage {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../..").standardized.path

    private static let folder = root + "/Resources/clients/apple"
    /// Stand-ins for Apple's frameworks.
    private static let stubs = root + "/Tests/AppleStubs"
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

    /// The program that drives the glue to PushKit and CallKit, `Tests/AppleStubs/Check`, linked with stand-ins for
    /// Apple's frameworks. The first caller builds it.
    static var glueCheck: String {
        get async throws { try await glue.value }
    }

    private static let glue = Task {
        let products = try await build.value
        let results = products + "/apple-stubs"
        try FileManager.default.createDirectory(atPath: results, withIntermediateDirectories: true)
        let search = ["-I", results, "-I", products + "/Modules"]
        var objects: [String] = []
        func module(_ name: String, _ sources: [String]) async throws {
            let object = "\(results)/\(name).o"
            try await compile(
                ["-wmo", "-c", "-emit-module", "-emit-module-path", "\(results)/\(name).swiftmodule"]
                    + ["-module-name", name, "-o", object] + search + sources)
            objects.append(object)
        }
        for name in ["PushKit", "UIKit", "AVFAudio", "CallKit"] { try await module(name, ["\(stubs)/\(name).swift"]) }
        try await module("ReveilleCallKit", sources(of: folder + "/Sources/ReveilleCallKit"))
        for target in try FileManager.default.contentsOfDirectory(atPath: folder + "/Sources") {
            let built = "\(products)/\(target).build"
            // The package's own glue is empty on Linux.
            guard target != "ReveilleCallKit" else { continue }
            objects += try FileManager.default.contentsOfDirectory(atPath: built).filter { $0.hasSuffix(".o") }
                .map { "\(built)/\($0)" }
        }
        let program = results + "/glue-check"
        let check = try sources(of: stubs + "/Check") + [folder + "/Examples/Phone/PosixTransport.swift"]
        try await compile(["-module-name", "GlueCheck", "-o", program] + search + check + objects)
        return program
    }

    /// Runs the compiler with the settings of the package.
    private static func compile(_ arguments: [String]) async throws {
        let settings = [
            "swiftc", "-swift-version", "6", "-warnings-as-errors", "-enable-upcoming-feature", "ExistentialAny",
            "-enable-upcoming-feature", "MemberImportVisibility", "-parse-as-library",
        ]
        let result = try await Program("/usr/bin/env", settings + arguments).result(within: .seconds(120))
        guard result.ending == .exit(0) else {
            throw InVain(what: "the compiler takes \(arguments)", seen: [result.errors])
        }
    }

    /// The Swift files of a folder.
    private static func sources(of folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".swift") }.sorted()
            .map { folder + "/" + $0 }
    }
}
