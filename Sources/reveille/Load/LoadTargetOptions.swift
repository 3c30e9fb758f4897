import ArgumentParser
import EventLoop
import Foundation
import LoadTest

/// The server that the load is put on.
struct LoadTargetOptions: ParsableArguments {
    @Option(help: "The threads of the server of its own that carry connections, 1 to 64 (default: 1).")
    var shards: Int?
    @Option(
        help: ArgumentHelp(
            "A server that runs already, ws://host:port or wss://host:port; its calls, devices and pushes stay in its store.",
            valueName: "url"))
    var target: String?
    @Option(
        help: ArgumentHelp(
            "With --target: the secret that its user tokens are signed with, client-token.key of its data folder.",
            valueName: "file"), completion: .file())
    var secretFile: String?
    @Option(help: ArgumentHelp("With --target: its metrics, where they are not at /metrics there.", valueName: "url"))
    var metricsURL: String?
    @Option(
        help: ArgumentHelp(
            "With --target: the folder of the push simulator that it pushes to; needed by what wakes phones.",
            valueName: "folder"), completion: .directory)
    var pushSimData: String?

    /// - Throws: `ValidationError`.
    var chosen: LoadTarget {
        get throws {
            guard let target else {
                for (option, value) in [
                    ("secret-file", secretFile), ("metrics-url", metricsURL), ("push-sim-data", pushSimData),
                ] where value != nil {
                    throw ValidationError("--\(option) goes with --target: a server of its own needs none.")
                }
                try LoadOptions.check("shards", shards ?? 1, 1...64)
                var server = LoadTarget.OwnServer(executable: Self.executable)
                server.shards = shards ?? 1
                return .own(server)
            }
            guard shards == nil else {
                throw ValidationError("--shards is of a server of its own; one that runs has its own number of them.")
            }
            try Self.check("target", target, schemes: ["ws", "wss"])
            guard let secretFile else {
                throw ValidationError(
                    "--target needs --secret-file: the client-token.key in that server's data folder, to sign users' "
                        + "tokens with.")
            }
            var server = LoadTarget.RunningServer(url: target, secretFile: secretFile)
            if let metricsURL { try Self.check("metrics-url", metricsURL, schemes: ["http", "https"]) }
            server.metricsURL = metricsURL
            server.simulatorFolder = pushSimData
            return .running(server)
        }
    }

    /// Whether the server can do what the plan needs of it.
    func check(for plan: LoadPlan) throws {
        guard case .running(let server) = plan.target, plan.needsPushes, server.simulatorFolder == nil else { return }
        throw ValidationError(
            "\(plan.scenario.rawValue) wakes phones: name the folder of the push simulator that the server pushes to with "
                + "--push-sim-data.")
    }

    /// Whether what is named is there.
    func checkFiles() throws {
        if let secretFile { try Self.checkSecret(secretFile) }
        if let pushSimData { try Self.checkFolder(pushSimData) }
    }

    /// This very program.
    private static var executable: String {
        URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().path
    }

    private static func check(_ option: String, _ text: String, schemes: [String]) throws {
        guard let url = URL(string: text), let scheme = url.scheme, schemes.contains(scheme),
            let host = url.host(), !host.isEmpty
        else {
            throw ValidationError(
                "--\(option) is \(schemes.map { "\($0)://host:port" }.joined(separator: " or ")), "
                    + "not '\(text.shown)'.")
        }
    }

    private static func checkSecret(_ file: String) throws {
        guard let contents = FileManager.default.contents(atPath: file) else {
            throw ValidationError(
                "--secret-file: \(file.shown) cannot be read; copy the server's client-token.key here.")
        }
        let text = String(decoding: contents, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard text.count >= 64, text.allSatisfy(\.isHexDigit) else {
            throw ValidationError(
                "--secret-file: \(file.shown) does not hold a secret of at least 64 hexadecimal digits, as "
                    + "client-token.key does.")
        }
    }

    private static func checkFolder(_ path: String) throws {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue else {
            throw ValidationError("--push-sim-data: there is no folder \(path.shown).")
        }
    }
}
