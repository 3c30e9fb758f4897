import CallVocabulary
import EventLoop
import Logging
import PushCore
import Synchronization

/// FCM's registration API and broadcasts, for operators. Owns one thread.
public final class FCMRegistry: Sendable {
    public typealias Outcome = FCMRegistrationAnswer.Outcome

    /// Why a request failed, as text.
    public struct Failure: Error, Equatable, Sendable, CustomStringConvertible {
        public let description: String
    }

    private let project: String
    private let loop: EventLoop
    private let registrar: LoopBound<FCMRegistrar>
    private let tokens: LoopBound<AccessTokenSource>

    /// Starts the thread; ``stop()`` ends it.
    /// - Parameter now: the clock for the service account's JWT.
    /// - Throws: ``PushConfigurationError``, `SystemError` without descriptors.
    public init(_ endpoint: FCMEndpoint, now: @escaping @Sendable () -> Instant, log: Logger) async throws {
        let route = try PushRoute(endpoint)
        let loop = try EventLoop(name: "fcm")
        loop.start()
        let made = await loop.run { [account = endpoint.account] in
            let tokens = AccessTokenSource(
                account: account, tls: route.tls, loop: loop, now: now, wall: { $0 }, log: log)
            let registrar = FCMRegistrar(route: route, tokens: tokens, loop: loop)
            return (LoopBound(registrar, on: loop), LoopBound(tokens, on: loop))
        }
        guard let made else { preconditionFailure("a loop that was just started runs what it is given") }
        self.loop = loop
        project = endpoint.account.project
        (registrar, tokens) = made
    }

    /// Maps APNs tokens of one app to FCM tokens: one outcome for each, in order.
    /// - Throws: ``Failure`` for the first request that is refused as a whole.
    public func map(_ tokens: [String], application: String, isSandbox: Bool) async throws -> [Outcome] {
        try await inBatches(tokens, of: FCMRegistration.longestImport) { batch throws(FCMRegistration.Fault) in
            try FCMRegistration(importing: batch, application: application, isSandbox: isSandbox)
        }
    }

    /// Subscribes FCM tokens to a topic, or ends their subscription: one outcome for each, in order.
    /// - Throws: ``Failure`` for the first request that is refused as a whole.
    public func subscribe(_ tokens: [String], isSubscribed: Bool = true, topic: String) async throws -> [Outcome] {
        try await inBatches(tokens, of: FCMRegistration.longestSubscription) { batch throws(FCMRegistration.Fault) in
            try FCMRegistration(batch, isSubscribed: isSubscribed, topic: topic)
        }
    }

    /// Sends a notice to all subscribers of a topic.
    public func notify(_ text: String, title: String, topic: String) async throws {
        let registration: FCMRegistration
        do {
            registration = try FCMRegistration(notice: text, title: title, topic: topic, project: project)
        } catch {
            throw Failure(description: error.rawValue)
        }
        _ = try await perform(registration, count: 0)
    }

    /// Ends the thread. Requests in flight fail.
    public func stop() async {
        _ = await loop.run { [registrar, tokens] in
            registrar.value.close()
            tokens.value.close()
        }
        await loop.stopAndWait()
    }

    private func inBatches(
        _ tokens: [String], of size: Int, make: ([String]) throws(FCMRegistration.Fault) -> FCMRegistration
    ) async throws -> [Outcome] {
        guard !tokens.isEmpty else { throw Failure(description: FCMRegistration.Fault.noTokens.rawValue) }
        var outcomes: [Outcome] = []
        var rest = tokens[...]
        while !rest.isEmpty {
            let batch = Array(rest.prefix(size))
            rest = rest.dropFirst(size)
            let registration: FCMRegistration
            do { registration = try make(batch) } catch { throw Failure(description: error.rawValue) }
            outcomes += try await perform(registration, count: batch.count)
        }
        return outcomes
    }

    private func perform(_ registration: FCMRegistration, count: Int) async throws -> [Outcome] {
        let answer = await withCheckedContinuation { continuation in
            let isPosted = loop.execute { [registrar] in
                registrar.value.perform(registration, count: count) { continuation.resume(returning: $0) }
            }
            if !isPosted { continuation.resume(returning: .refused("the registry was stopped")) }
        }
        switch answer {
        case .outcomes(let outcomes): return outcomes
        case .refused(let words): throw Failure(description: words)
        }
    }
}
