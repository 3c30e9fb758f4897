import AdminProtocol
import CallMonitor
import CallVocabulary
import ClientTokens
import Dispatch
import EventLoop
import Foundation
import Logging
import OutgoingHTTP
import RecordTables
import TLS

/// Keeps the key set that an identity provider serves, by ``KeySetSchedule``. Confined to the loop.
///
/// The provider may be down: its keys count on, also after a restart, because the last set is kept in the data folder.
package final class RemoteKeySet {
    /// The size limit of a key set, in bytes.
    package static let longest = 64 * 1024
    static let patience = Duration.seconds(5)
    /// The shortest time after which a client whose token no known key has signed is asked to come again.
    static let shortestWait = Duration.seconds(1)
    /// The most token checks that wait for a fetch. Strangers can make any number of tokens that no key has signed, and
    /// each check that waits takes the place of a request.
    static let mostWaiting = 64
    /// The most ids of former keys that are remembered.
    private static let mostFormer = 1_000
    static let file = "token-keys.json"

    struct Environment: Sendable {
        let address: WebAddress
        let folder: DataFolder
        let clock: ServerClock
        let counters: TokenCounters
        let log: Logger
        /// Called with all keys, and the ids of those that were withdrawn, when either has changed; on the loop.
        let onKeys: @Sendable ([TokenKey], Set<String>) -> Void
        /// Keeps the content of ``file`` for the next home of the realm. May block: it is called on the thread that
        /// writes the file.
        var share: @Sendable ([UInt8]) -> Void = { _ in }
    }

    /// A token check, or an operator's request, that waits for the fetch in progress.
    private struct Waiting {
        /// Whether the fetch began after it.
        let isFirst: Bool
        let completion: @Sendable (KeyFetch) -> Void
    }

    private let environment: Environment
    private let loop: EventLoop
    private let client: WebClient
    /// Writes the sets to the disk in the order of their fetches: an older one may have a key that was withdrawn.
    private let disk = DispatchQueue(label: "identity provider's keys")
    private var schedule: KeySetSchedule
    private var set: TokenKeySet?
    private var fetch: WebExchange?
    private var timer: LoopTimer?
    private var waiting: [Waiting] = []
    /// The ids of all keys that the provider had.
    private var former: Set<String> = []
    private var withdrawn: Set<String> = []
    /// Whether an operator asked for the fetch in progress.
    private var isAsked = false

    init(_ environment: Environment, loop: EventLoop, tls: TLSClientContext) {
        self.environment = environment
        self.loop = loop
        client = WebClient(loop: loop, tls: tls, userAgent: CallServer.userAgent)
        let now = environment.clock.now()
        schedule = KeySetSchedule(now: now)
        let kept = Self.kept(environment.address, environment.folder) { environment.log.error("\($0)") }
        if let kept, kept.end > environment.clock.wallTime() {
            set = kept.set
            // No server keeps them longer, whatever the file says.
            let left = min(kept.end - environment.clock.wallTime(), KeySetSchedule.longestAge + KeySetSchedule.grace)
            schedule = KeySetSchedule(now: now, end: now + left)
        }
    }

    /// Fetches the set now, and then whenever it is due.
    func begin() {
        loop.assertIsCurrent()
        timer = LoopTimer(loop: loop) { [weak self] in self?.timeCame() }
        if let set {
            environment.log.info(
                "the identity provider's keys of the last process count until it answers", metadata: metadata)
            former = Set(set.keys.compactMap(\.id))
            environment.onKeys(set.keys, withdrawn)
        }
        start()
    }

    /// Fetches the set for a token that no known key has signed, unless the last fetch was just now.
    func askForNewer(_ completion: @escaping @Sendable (KeyFetch) -> Void) {
        if fetch != nil {
            guard waiting.count < Self.mostWaiting else {
                return completion(KeyFetch(isNewer: false, retryAfter: Self.shortestWait))
            }
            // The provider may have answered a fetch under way before it had the key.
            return waiting.append(Waiting(isFirst: false, completion: completion))
        }
        let wait = schedule.wait(at: environment.clock.now())
        guard timer != nil, wait == .zero else {
            return completion(KeyFetch(isNewer: false, retryAfter: max(wait, Self.shortestWait)))
        }
        waiting.append(Waiting(isFirst: true, completion: completion))
        start()
    }

    /// Fetches the set at once, because an operator asks. A key that the provider has no more then is withdrawn: its
    /// tokens are refused for good.
    func refetch(_ completion: @escaping @Sendable () -> Void) {
        guard timer != nil else { return completion() }
        // The provider may have answered a fetch under way before the change. The new one answers what waits for it.
        fetch?.cancel()
        isAsked = true
        waiting.append(Waiting(isFirst: true) { _ in completion() })
        start()
    }

    /// Whether there are keys, and how old they are.
    var health: ServerFacts.IdentityKeys {
        ServerFacts.IdentityKeys(
            hasKeys: set != nil, failures: schedule.failures, overdue: schedule.overdue(at: environment.clock.now()))
    }

    /// Ends everything; the timer must be released on the loop.
    func stop() {
        fetch?.cancel()
        fetch = nil
        client.close()
        timer = nil
        answerWaiting(isNewer: false, isSettled: false)
    }

    private func timeCame() {
        let now = environment.clock.now()
        if let end = schedule.end, now >= end {
            schedule.dropped()
            set = nil
            environment.log.error(
                "the identity provider has not answered for a day; its keys count no longer", metadata: metadata)
            environment.onKeys([], withdrawn)
        }
        // The end of a fetch sets the timer again.
        guard fetch == nil else { return }
        if now >= schedule.due { start() } else { setTimer() }
    }

    private func setTimer() {
        let next = min(schedule.due, schedule.end ?? schedule.due)
        timer?.start(after: max(.milliseconds(1), next - environment.clock.now()))
    }

    private func start() {
        schedule.started(at: environment.clock.now())
        fetch = client.send(Self.request(environment.address)) { [weak self] in self?.fetched($0) }
    }

    private func fetched(_ result: Result<WebAnswer, WebFailure>) {
        fetch = nil
        let now = environment.clock.now()
        switch Self.read(result, from: environment.address) {
        case .success(let found):
            schedule.succeeded(at: now, maxAge: found.maxAge)
            environment.counters.countFetch(succeeded: true)
            take(found)
        case .failure(let failure):
            schedule.failed(at: now)
            environment.counters.countFetch(succeeded: false)
            var metadata = metadata
            metadata["reason"] = .string(failure.description)
            // A withdrawn key among them too, also when an operator asked.
            if set != nil, let end = schedule.end {
                metadata["earlier_keys_count_until"] = .string(Timestamp(environment.clock.wall(end)).rfc3339)
            }
            environment.log.warning("cannot fetch the identity provider's keys", metadata: metadata)
            answerWaiting(isNewer: false, isSettled: false)
        }
        isAsked = false
        setTimer()
    }

    private static func request(_ address: WebAddress) -> WebRequest {
        WebRequest(.get, address, patience: patience, longestAnswer: longest, isRepeatable: true)
    }

    /// The set in a response.
    package struct Found: Equatable {
        package let set: TokenKeySet
        let body: [UInt8]
        package let maxAge: Duration?
    }

    package static func read(
        _ result: Result<WebAnswer, WebFailure>, from address: WebAddress
    ) -> Result<Found, WebFailure> {
        result.flatMap { answer in
            guard answer.status == 200 else {
                // Without path and query, which may have a secret.
                let place = answer.field("location").map { text in
                    " to \(WebAddress(text)?.description.printable(upTo: 100) ?? "another address"), which is not followed"
                }
                return .failure(
                    WebFailure(description: "the response has the status \(answer.status)\(place ?? "")"))
            }
            do throws(TokenKeySet.Failure) {
                let set = try TokenKeySet(answer.body, source: "\(address)")
                guard !set.keys.isEmpty else {
                    let reasons = set.leftOut.map { "; \($0)" }.joined()
                    return .failure(
                        WebFailure(description: "the set has no key that can be used\(reasons)"))
                }
                let age = KeySetSchedule.maxAge(
                    cacheControl: answer.field("cache-control"), age: answer.field("age"))
                return .success(Found(set: set, body: answer.body, maxAge: age))
            } catch {
                return .failure(WebFailure(description: "the response \(error)"))
            }
        }
    }

    private func take(_ found: Found) {
        let isNew = found.set != set
        set = found.set
        keep(found.body)
        let areOthersWithdrawn = noteWithdrawn()
        if isNew {
            for key in found.set.leftOut {
                environment.log.warning(
                    "a key of the identity provider is left out", metadata: ["key": .string("\(key)")])
            }
            environment.log.notice("the identity provider's keys were fetched", metadata: metadata)
        }
        if isNew || areOthersWithdrawn { environment.onKeys(found.set.keys, withdrawn) }
        answerWaiting(isNewer: isNew, isSettled: true)
    }

    /// - Returns: whether other keys are withdrawn than before.
    private func noteWithdrawn() -> Bool {
        let (before, ids) = (withdrawn, Set(set?.keys.compactMap(\.id) ?? []))
        // A fetch by itself says less: a cache on the way may have an older set.
        withdrawn = (isAsked ? former : withdrawn).subtracting(ids)
        former = former.count > Self.mostFormer ? ids : former.union(ids)
        return withdrawn != before
    }

    /// - Parameter isSettled: whether the fetch told what keys there are now.
    private func answerWaiting(isNewer: Bool, isSettled: Bool) {
        let waiting = waiting
        self.waiting = []
        let wait = max(schedule.wait(at: environment.clock.now()), Self.shortestWait)
        for one in waiting {
            one.completion(KeyFetch(isNewer: isNewer, retryAfter: isSettled && one.isFirst ? nil : wait))
        }
    }

    private var metadata: Logger.Metadata {
        [
            "keys": .stringConvertible(set?.keys.count ?? 0),
            "kids": .string((set?.keys.compactMap(\.id) ?? []).map { $0.printable(upTo: 100) }.joined(separator: " ")),
            "url": .string("\(environment.address)"),
        ]
    }

    // MARK: The set of the last process

    private struct Kept: Codable {
        var url: String
        /// Wall time in milliseconds.
        var end: Int64
        /// The provider's response.
        var keySet: String
    }

    private func keep(_ body: [UInt8]) {
        guard let end = schedule.end else { return }
        let kept = Kept(
            url: environment.address.text, end: environment.clock.wall(end).milliseconds,
            keySet: String(decoding: body, as: UTF8.self))
        // A text and a number are always encoded.
        guard let content = (try? JSONEncoder().encode(kept)).map({ Array($0) }) else { return }
        // The core's loop does not wait for the disk: strangers can cause a fetch, each half a minute at most.
        disk.async { [environment, file = Self.file] in
            do throws(DataFolder.Failure) {
                try environment.folder.replace(file, with: content)
            } catch {
                environment.log.warning(
                    "cannot keep the identity provider's keys for the next start",
                    metadata: ["error": .string("\(error)")])
            }
            environment.share(content)
        }
    }

    /// - Parameter onDamage: gets what is wrong with the file, and what to do.
    /// - Returns: nil when there are none, when they are of another provider, and when the file is damaged.
    private static func kept(
        _ address: WebAddress, _ folder: DataFolder, onDamage: (String) -> Void = { _ in }
    ) -> (set: TokenKeySet, end: Instant)? {
        let path = folder.path + "/" + file
        let found: [UInt8]?
        do { found = try PrivateFile.read(path) } catch { found = [] }
        guard let content = found else { return nil }
        return decode(content, address) {
            onDamage(
                "\(path) is damaged: no user token is valid until the identity provider answers, which replaces the "
                    + "file; see that it does")
        }
    }

    /// - Returns: as ``kept(_:_:onDamage:)``.
    private static func decode(
        _ content: [UInt8], _ address: WebAddress, onDamage: () -> Void = {}
    ) -> (set: TokenKeySet, end: Instant)? {
        let decoded = try? JSONDecoder().decode(Kept.self, from: Data(content))
        if let decoded, decoded.url != address.text { return nil }
        guard let kept = decoded, StoredTime.isPossible(kept.end),
            let set = try? TokenKeySet(Array(kept.keySet.utf8), source: "\(address)"), !set.keys.isEmpty
        else {
            onDamage()
            return nil
        }
        return (set, Instant(milliseconds: kept.end))
    }

    /// Gives the folder of a home the set that the home before it has kept for the realm. Its own may have a key that was
    /// withdrawn since, however long it counts.
    static func take(_ content: [UInt8], into folder: DataFolder) throws {
        guard let kept = try? JSONDecoder().decode(Kept.self, from: Data(content)), StoredTime.isPossible(kept.end)
        else { return }
        try folder.replace(file, with: content)
    }
}

extension RemoteKeySet {
    /// The keys that the server of the folder has kept, if they still count; otherwise those that are served now.
    /// - Parameter shared: what its realm has kept, which its next home takes; nil for nothing.
    static func keys(
        of address: WebAddress, folder: DataFolder, shared: [UInt8]?
    ) async throws(WebFailure) -> [TokenKey] {
        let found = shared.flatMap { decode($0, address) } ?? kept(address, folder)
        if let found, found.end > ServerClock().wallTime() { return found.set.keys }
        let client: LoopBound<WebClient>
        do {
            let tls = try TLSClientContext(trust: .system, speaking: .http1)
            let loop = try EventLoop(name: "fetch")
            client = LoopBound(WebClient(loop: loop, tls: tls, userAgent: CallServer.userAgent), on: loop)
        } catch {
            throw WebFailure(description: "\(error)")
        }
        client.loop.start()
        defer {
            client.loop.execute { client.value.close() }
            client.loop.stop()
        }
        for await answer in fetchOnce(address, with: client) { return try answer.get().set.keys }
        throw WebFailure(description: "the fetch was given up")
    }

    private static func fetchOnce(
        _ address: WebAddress, with client: LoopBound<WebClient>
    ) -> AsyncStream<Result<Found, WebFailure>> {
        let (answers, answer) = AsyncStream.makeStream(of: Result<Found, WebFailure>.self)
        let isSent = client.loop.execute {
            client.value.send(request(address)) {
                answer.yield(read($0, from: address))
                answer.finish()
            }
        }
        if !isSent { answer.finish() }
        return answers
    }
}

@available(*, unavailable)
extension RemoteKeySet: Sendable {}
