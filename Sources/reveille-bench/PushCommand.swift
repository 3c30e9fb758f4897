import ArgumentParser
import Benchmarks
import Foundation

struct PushCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push",
        abstract: "Compares the push client with h2load, both sending to nghttpd.",
        discussion: """
            Over TLS: 4 connections with 250 streams each, 4,000 device tokens, bodies of 300 bytes. h2load sends the \
            same header fields but for the apns-id, and content-length and user-agent instead; its own start is taken \
            off. `push client` is a pool as the service has it: queue, credential, streams, retries and outcomes over \
            its HTTP/2 connections. Its requests are ready, as h2load's are, and each is cleared once it is \
            announced. `HTTP/2 alone` are the connections without the pool. CPU is user and system time of the whole \
            process that sends. Ends with status 1 when the push client's rate is below 0.70 of h2load's, or its CPU \
            per push over twice h2load's, by the median of the \
            rounds; with 2 when there is no result. Needs Debian's nghttp2-server, nghttp2-client and openssl.
            """)

    @Option(help: "How often each runs.")
    var rounds = 5
    @Option(help: "Pushes in each run.")
    var pushes = 60_000
    @OptionGroup var result: ResultOptions

    func validate() throws {
        guard 1...1000 ~= rounds else { throw ValidationError("--rounds is 1 to 1000.") }
        guard 1...10_000_000 ~= pushes else { throw ValidationError("--pushes is 1 to 10,000,000.") }
    }

    func run() async throws {
        let comparison: PushComparison
        do {
            comparison = try await PushBenchmark(pushes: pushes, rounds: rounds).run { contender, sample in
                let figures = String(format: "%.0f pushes/s, %.1f µs", sample.rate, sample.cpuMicroseconds)
                // The comparison at the end says whether there is room for it.
                try? result.tell("\(contender): \(figures)")
            }
            try result.tell("\n" + comparison.text)
            try result.file?.write(comparison)
        } catch {
            FileHandle.standardError.write(Data("reveille-bench: \(error)\n".utf8))
            throw ExitCode(2)
        }
        if !comparison.failures.isEmpty { throw ExitCode(1) }
    }
}
