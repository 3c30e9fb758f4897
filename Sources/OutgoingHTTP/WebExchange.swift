import EventLoop

/// One request and its answer. Confined to the loop; its client keeps it until it is over.
public final class WebExchange {
    typealias Completion = (Result<WebAnswer, WebFailure>) -> Void

    private let request: WebRequest
    private let client: WebClient
    private var completion: Completion?
    private var reader: AnswerReader
    private var connection: WebConnection?
    /// The connection had carried another exchange.
    private var isReused = false
    private var isSent = false
    /// The result is on its way to the completion.
    private var isOver = false
    private var timer: LoopTimer?
    private var attemptTimer: LoopTimer?

    init(_ request: WebRequest, client: WebClient, completion: @escaping Completion) {
        self.request = request
        self.client = client
        self.completion = completion
        reader = AnswerReader(longestBody: request.longestAnswer)
    }

    func begin() {
        timer = LoopTimer(loop: client.loop) { [weak self] in
            guard let self else { return }
            // Patience is of whole milliseconds.
            fail("no response within \(Int(request.patience / .milliseconds(1))) ms")
        }
        timer?.start(after: request.patience)
        if let connection = client.takeIdle(request.address.origin) {
            self.connection = connection
            isReused = true
            connection.resume { [self] in handle($0, untried: []) }
            send()
        } else {
            resolve()
        }
    }

    /// Ends the exchange without calling its completion.
    public func cancel() {
        isOver = true
        completion = nil
        end()
    }

    private func resolve() {
        let address = request.address
        NameLookup.resolve(loop: client.loop, host: address.host, port: address.port) { [self] found in
            guard !isOver else { return }
            switch found {
            case .success(let addresses): connect(to: addresses[...])
            case .failure(let error): fail(error.description)
            }
        }
    }

    /// - Parameter addresses: tried one after the other until one takes the connection; at least one.
    private func connect(to addresses: ArraySlice<SocketAddress>) {
        let rest = addresses.dropFirst()
        do {
            connection = try WebConnection(to: addresses[addresses.startIndex], request.address.origin, client: client)
            {
                [self] in handle($0, untried: rest)
            }
        } catch {
            return fail("\(error)")
        }
        guard !rest.isEmpty else { return attemptTimer = nil }
        // An unresponsive address leaves time for the others.
        attemptTimer = LoopTimer(loop: client.loop) { [weak self] in
            self?.connection?.close()
            self?.connect(to: rest)
        }
        attemptTimer?.start(after: request.patience / (addresses.count + 1))
    }

    private func send() {
        isSent = true
        attemptTimer = nil
        connection?.write(request.bytes(userAgent: client.userAgent))
    }

    private func handle(_ event: WebConnection.Event, untried: ArraySlice<SocketAddress>) {
        guard !isOver else { return }
        switch event {
        case .connected: send()
        case .received(let bytes): received(bytes)
        case .closed(let reason): closed(reason, untried: untried)
        }
    }

    private func received(_ bytes: UnsafeRawBufferPointer) {
        do throws(WebFailure) {
            guard let answer = try reader.receive(bytes) else { return }
            if let idleTime = reader.idleTime, let connection {
                self.connection = nil
                client.keep(connection, for: idleTime)
            }
            finish(.success(answer))
        } catch {
            finish(.failure(error))
        }
    }

    private func closed(_ reason: String?, untried: ArraySlice<SocketAddress>) {
        connection = nil
        if !isSent, !untried.isEmpty { return connect(to: untried) }
        // The peer has closed a kept connection while the request was on its way.
        if isReused, !reader.hasBegun, request.isRepeatable {
            (isReused, isSent) = (false, false)
            return resolve()
        }
        if let reason { return fail(reason) }
        do throws(WebFailure) {
            finish(.success(try reader.end()))
        } catch {
            finish(.failure(error))
        }
    }

    private func fail(_ reason: String) { finish(.failure(WebFailure(description: reason, isUnsent: !isSent))) }

    private func finish(_ result: Result<WebAnswer, WebFailure>) {
        guard !isOver else { return }
        isOver = true
        // Delayed: the caller may be in the middle of an operation, or the timer may be the caller.
        let exchange = LoopBound(self, on: client.loop)
        let isTaken = client.loop.execute {
            let completion = exchange.value.completion
            exchange.value.completion = nil
            exchange.value.end()
            completion?(result)
        }
        if !isTaken { cancel() }
    }

    private func end() {
        connection?.close()
        (connection, timer, attemptTimer) = (nil, nil, nil)
        client.ended(self)
    }
}

@available(*, unavailable)
extension WebExchange: Sendable {}
