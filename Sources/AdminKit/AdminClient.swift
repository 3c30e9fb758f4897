import CallVocabulary
import EventLoop
import LibWebSockets
import SignalProtocol

/// A program's connection to a server's admin API. Any thread.
///
/// ```swift
/// let client = try AdminClient(socket: socket)
/// let reply = try await client.perform(.listGroups)
/// await client.close()
/// ```
public final class AdminClient: Sendable {
    /// How long to wait for an answer, unless told otherwise.
    public static let standardPatience = Duration.seconds(10)

    private let loop: EventLoop
    private let driver: LoopBound<AdminDriver>

    /// Connects on a thread of its own; how that goes is told by the requests.
    /// - Throws: `SystemError` when the process is out of descriptors.
    public init(socket: SocketAddress, patience: Duration = AdminClient.standardPatience) throws {
        let loop = try EventLoop(name: "admin client")
        self.loop = loop
        driver = LoopBound(AdminDriver(loop: loop, socket: socket, patience: patience), on: loop)
        loop.start()
        loop.execute { [driver] in driver.value.connect() }
    }

    /// Asks, and waits for the answer. Of a list it gathers all pages. Requests may be under way together.
    public func perform(_ command: AdminCommand) async throws(AdminFailure) -> AdminReply {
        var (reply, next) = try await page(of: command, after: nil)
        // The server gives names in order, so each page begins behind the one before.
        var last = ""
        while let after = next {
            guard last.utf8.lexicographicallyPrecedes(after.utf8) else {
                throw .notTaken(SignalError(.internalError, "The pages of the list go in circles."))
            }
            last = after
            let more: AdminReply
            (more, next) = try await page(of: command, after: after)
            reply.append(more)
        }
        return reply
    }

    private func page(of command: AdminCommand, after: String?) async throws(AdminFailure) -> (AdminReply, String?) {
        let result: Result<AdminDriver.Page, AdminFailure> = await withCheckedContinuation { continuation in
            let isAsked = loop.execute { [driver] in
                driver.value.ask(.command(command, after: after)) { continuation.resume(returning: $0) }
            }
            if !isAsked { continuation.resume(returning: .failure(.lost("the client is closed"))) }
        }
        let page = try result.get()
        return (page.reply, page.next)
    }

    /// Hangs up and ends the thread; what is not answered yet fails as ``AdminFailure/lost(_:)``.
    public func close() async {
        loop.execute { [driver] in driver.value.close() }
        await loop.stopAndWait()
    }

    deinit {
        let driver = self.driver
        // After a `close()` there is nothing left to be done.
        loop.execute { driver.value.close() }
        loop.stop()
    }
}

extension AdminReply {
    /// Adds the next page to a list.
    fileprivate mutating func append(_ page: AdminReply) {
        switch (self, page) {
        case (.groups(let groups), .groups(let more)): self = .groups(groups + more)
        case (.aliases(let aliases), .aliases(let more)): self = .aliases(aliases + more)
        case (.done, _), (.groups, _), (.group, _), (.user, _), (.aliases, _): break
        }
    }
}
