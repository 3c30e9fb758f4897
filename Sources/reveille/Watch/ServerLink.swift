import AdminKit
import AdminProtocol
import EventLoop
import Synchronization

/// A subscription that reconnects until the server is back.
/// Any thread.
final class ServerLink<Subscription: AdminSubscription>: Sendable {
    typealias Event = LinkEvent<Subscription.Notification>

    /// How long to wait before the first new try, and at most.
    private static var firstPause: Duration { .milliseconds(200) }
    private static var longestPause: Duration { .seconds(5) }
    /// The interval of keep-alive requests, which detect a hung server or a dead connection.
    private static var heartbeat: Duration { .seconds(5) }

    private struct State {
        var subscription: Subscription
        var client: AdminClient?
        /// Ends the wait for the connection's end.
        var finish: CheckedContinuation<AdminFailure?, Never>?
        /// How the connection ended before anybody waited for that; the inner nil is "on purpose".
        var ending: AdminFailure??
    }

    private let address: AdminAddress
    private let state: Mutex<State>
    private let post: @Sendable (Event) -> Void

    /// - Parameter post: called on any thread, serially.
    init(_ subscription: Subscription, address: AdminAddress, post: @escaping @Sendable (Event) -> Void) {
        self.address = address
        self.post = post
        state = Mutex(State(subscription: subscription))
    }

    /// Stays connected until the task is cancelled, or the server will not have us.
    func run() async {
        await withTaskCancellationHandler {
            await connections()
        } onCancel: {
            end(.lost("the client is closed"))
        }
    }

    private func connections() async {
        var pause = Self.firstPause
        while !Task.isCancelled {
            var failure: AdminFailure?
            do {
                failure = try await connection { pause = Self.firstPause }
                // On purpose: with another subscription, at once.
                if failure == nil { continue }
            } catch {
                failure = error as? AdminFailure ?? .unreachable("\(error)")
            }
            if let failure, let words = ServerWords.refusal(failure, address) { return post(.refused(words)) }
            post(.lost)
            try? await Task.sleep(for: pause)
            pause = min(pause * 2, Self.longestPause)
        }
    }

    /// From the connecting to the end of it.
    /// - Returns: why it ended; nil when another subscription is wanted.
    private func connection(_ isUp: () -> Void) async throws -> AdminFailure? {
        let client = try address.connect()
        let subscription = state.withLock { state in
            (state.client, state.ending) = (client, nil)
            return state.subscription
        }
        do {
            // A cancellation that came before the client was known has ended nothing.
            try Task.checkCancellation()
            post(.joined(try await client.perform(GetServerInfo())))
            _ = try await client.subscribe(subscription) { [weak self] event in
                switch event {
                case .notification(let notification): self?.post(.notification(notification))
                case .ended(let failure): self?.end(failure)
                }
            }
            isUp()
            let heart = Task { await beat(client) }
            let failure = await ending()
            heart.cancel()
            await leave(client)
            return failure
        } catch {
            await leave(client)
            throw error
        }
    }

    private func beat(_ client: AdminClient) async {
        while true {
            do {
                try await Task.sleep(for: Self.heartbeat)
                post(.checked(try await client.perform(GetServerInfo())))
            } catch let failure as AdminFailure {
                if !Task.isCancelled { end(failure) }
                return
            } catch {
                return
            }
        }
    }

    private func leave(_ client: AdminClient) async {
        state.withLock { $0.client = nil }
        await client.close()
    }

    private func ending() async -> AdminFailure? {
        await withCheckedContinuation { continuation in
            let known: AdminFailure?? = state.withLock { state in
                if state.ending == nil { state.finish = continuation }
                return state.ending
            }
            if let known { continuation.resume(returning: known) }
        }
    }

    private func end(_ failure: AdminFailure?) {
        let waiting = state.withLock { state in
            defer { state.finish = nil }
            if state.ending == nil { state.ending = .some(failure) }
            return state.finish
        }
        waiting?.resume(returning: failure)
    }

    /// Subscribes again on a new connection, without waiting for the present one.
    func change(to subscription: Subscription) {
        state.withLock { $0.subscription = subscription }
        end(nil)
    }

    /// Asks on the connection there is.
    func perform<Request: AdminRequest>(_ request: Request) async throws(AdminFailure) -> Request.Response {
        guard let client = state.withLock({ $0.client }) else { throw .lost("the server is gone") }
        return try await client.perform(request)
    }
}
