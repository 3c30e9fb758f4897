import EventLoop
import TLS

/// One GET over HTTP/1.1 on its own connection, for documents that are fetched rarely. Follows no redirect. Confined to
/// the loop; keeps itself alive until it is done.
///
/// Written on the server's own TLS connection: Foundation's URLSession would have every server need libcurl at run time.
final class HTTPFetch {
    typealias Answer = HTTPAnswerReader.Answer
    typealias Completion = (Result<Answer, HTTPAnswerReader.Failure>) -> Void

    private let address: WebAddress
    private let loop: EventLoop
    private let tls: TLSClientContext
    private var completion: Completion?
    private var reader: HTTPAnswerReader
    private var timer: LoopTimer?
    private var secure: TLSConnection?
    private var plain: TCPConnection?
    private var isConnected = false

    private init(
        _ address: WebAddress, longestBody: Int, tls: TLSClientContext, loop: EventLoop,
        completion: @escaping Completion
    ) {
        self.address = address
        self.loop = loop
        self.tls = tls
        self.completion = completion
        reader = HTTPAnswerReader(longestBody: longestBody)
    }

    /// - Parameters:
    ///   - patience: the timeout, from now to the end of the response.
    ///   - completion: called once on the loop, after this returns.
    /// - Returns: the fetch, for ``cancel()``.
    static func start(
        _ address: WebAddress, longestBody: Int, patience: Duration, tls: TLSClientContext, loop: EventLoop,
        completion: @escaping Completion
    ) -> HTTPFetch {
        let fetch = HTTPFetch(address, longestBody: longestBody, tls: tls, loop: loop, completion: completion)
        fetch.timer = LoopTimer(loop: loop) { [weak fetch] in
            fetch?.fail("no response within \(patience.components.seconds) s")
        }
        fetch.timer?.start(after: patience)
        fetch.resolve()
        return fetch
    }

    /// Ends the fetch without calling its completion.
    func cancel() {
        completion = nil
        end()
    }

    private func resolve() {
        if let numeric = SocketAddress(host: address.host, port: address.port) { return connect(to: [numeric]) }
        NameLookup.resolve(loop: loop, host: address.host, port: address.port) { [self] found in
            switch found {
            case .success(let addresses): connect(to: addresses)
            case .failure(let error): fail(error.description)
            }
        }
    }

    /// - Parameter addresses: tried one after the other until one takes the connection; at least one.
    private func connect(to addresses: [SocketAddress]) {
        guard completion != nil else { return }
        let rest = Array(addresses.dropFirst())
        guard address.isSecure else {
            plain = TCPConnection.connect(loop: loop, to: addresses[0]) { [self] in
                switch $0 {
                case .connected: request()
                case .received(let bytes): received(bytes)
                case .drained: break
                case .closed(let error): closed(error?.description, untried: rest)
                }
            }
            return
        }
        do {
            secure = try TLSConnection(loop: loop, to: addresses[0], serverName: address.host, context: tls) { [self] in
                switch $0 {
                case .connected: request()
                case .received(let bytes): received(bytes)
                case .closed(let failure): closed(failure?.description, untried: rest)
                }
            }
        } catch {
            fail("\(error)")
        }
    }

    private func request() {
        isConnected = true
        let lines = [
            "GET \(address.target) HTTP/1.1", "Host: \(address.authority)", "Accept: application/json, */*;q=0.1",
            "Accept-Encoding: identity", "User-Agent: reveille/\(CallServer.version)", "Connection: close", "", "",
        ]
        let bytes = Array(lines.joined(separator: "\r\n").utf8)
        secure?.write(bytes)
        plain?.write(bytes)
    }

    private func received(_ bytes: UnsafeRawBufferPointer) {
        guard completion != nil else { return }
        do throws(HTTPAnswerReader.Failure) {
            if let answer = try reader.receive(bytes) { finish(.success(answer)) }
        } catch {
            finish(.failure(error))
        }
    }

    private func closed(_ error: String?, untried: [SocketAddress]) {
        (secure, plain) = (nil, nil)
        guard completion != nil else { return }
        if !isConnected, !untried.isEmpty { return connect(to: untried) }
        if let error { return fail(error) }
        do throws(HTTPAnswerReader.Failure) {
            finish(.success(try reader.end()))
        } catch {
            finish(.failure(error))
        }
    }

    private func fail(_ reason: String) { finish(.failure(HTTPAnswerReader.Failure(description: reason))) }

    private func finish(_ result: Result<Answer, HTTPAnswerReader.Failure>) {
        guard let completion else { return }
        self.completion = nil
        // Delayed: the caller may be in the middle of an operation, or the timer may be the caller.
        let done = LoopBound((self, completion), on: loop)
        loop.execute {
            done.value.0.end()
            done.value.1(result)
        }
    }

    private func end() {
        secure?.close()
        plain?.close()
        timer = nil
    }
}

@available(*, unavailable)
extension HTTPFetch: Sendable {}
