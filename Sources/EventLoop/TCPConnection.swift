import CLibUV
import Glibc

/// A TCP connection on a loop. Created, used and released on the loop's thread.
///
/// ``Event/closed(_:)`` is the last event. The connection keeps itself alive until then.
public final class TCPConnection {
    public enum Event {
        /// Connected. Occurs once, and only after ``connect(loop:to:onEvent:)``.
        case connected
        /// Received bytes, valid during the callback only.
        case received(UnsafeRawBufferPointer)
        /// The kernel has accepted all queued bytes.
        case drained
        /// Closed: nil after ``close()`` or the peer's orderly end, else the error.
        case closed(SystemError?)
    }

    private let loop: EventLoop
    private let handle: UnsafeMutablePointer<uv_tcp_t>
    private var onEvent: ((Event) -> Void)?
    private var isClosing = false
    private var ending: SystemError?

    /// Bytes given to ``write(_:)`` that the kernel has not accepted yet.
    public private(set) var pendingBytes = 0

    /// Starts to connect.
    public static func connect(
        loop: EventLoop, to address: SocketAddress, onEvent: @escaping (Event) -> Void
    ) -> TCPConnection {
        let connection = TCPConnection(loop: loop, onEvent: onEvent)
        let request = UnsafeMutablePointer<uv_connect_t>.allocate(capacity: 1)
        let result = address.withSockAddr { address, _ in
            uv_tcp_connect(request, connection.handle, address, onConnect)
        }
        if result != 0 {
            request.deallocate()
            connection.fail(SystemError(operation: "connect to \(address)", errno: -result))
        }
        return connection
    }

    /// Takes ownership of a connected descriptor, as from ``SocketAcceptor``, and starts to read.
    public static func adopt(
        loop: EventLoop, descriptor: Int32, onEvent: @escaping (Event) -> Void
    ) -> TCPConnection {
        let connection = TCPConnection(loop: loop, onEvent: onEvent)
        let result = uv_tcp_open(connection.handle, descriptor)
        if result == 0 {
            connection.startReading()
        } else {
            Glibc.close(descriptor)
            connection.fail(SystemError(operation: "adopt a connection", errno: -result))
        }
        return connection
    }

    private init(loop: EventLoop, onEvent: @escaping (Event) -> Void) {
        loop.assertIsCurrent()
        self.loop = loop
        self.onEvent = onEvent
        handle = .allocate(capacity: 1)
        uv_tcp_init(loop.uvLoop, handle)
        // Released in `onHandleClosed`, which libuv calls exactly once, after `uv_close`.
        handle.pointee.data = Unmanaged.passRetained(self).toOpaque()
    }

    /// Queues `bytes`; bytes that the kernel accepts at once cost no copy and no allocation.
    public func write(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { write($0) }
    }

    /// Queues `bytes`, which need to be valid during the call only.
    public func write(_ bytes: UnsafeRawBufferPointer) {
        loop.assertIsCurrent()
        guard !isClosing, !bytes.isEmpty else { return }
        let sent = pendingBytes > 0 ? 0 : tryWrite(bytes)
        guard sent < bytes.count, !isClosing else { return }
        let rest = bytes.count - sent
        let request = WriteRequest(copying: UnsafeRawBufferPointer(rebasing: bytes[sent...]))
        var buffer = uv_buf_init(request.bytes, UInt32(rest))
        pendingBytes += rest
        let result = uv_write(request.raw, stream, &buffer, 1, onWritten)
        if result != 0 {
            pendingBytes -= rest
            request.free()
            fail(SystemError(operation: "write", errno: -result))
        }
    }

    /// - Returns: the number of bytes that the kernel accepted.
    private func tryWrite(_ bytes: UnsafeRawBufferPointer) -> Int {
        // uv_buf_t has no const form; uv_try_write only reads. `write` passes no empty buffer.
        var buffer = uv_buf_init(
            UnsafeMutablePointer(mutating: bytes.baseAddress!.assumingMemoryBound(to: CChar.self)),
            UInt32(bytes.count))
        let taken = uv_try_write(stream, &buffer, 1)
        if taken >= 0 { return Int(taken) }
        if taken != UV_EAGAIN.rawValue { fail(SystemError(operation: "write", errno: -taken)) }
        return 0
    }

    /// Drops queued bytes and closes. `.closed(nil)` follows, never within this call.
    public func close() {
        loop.assertIsCurrent()
        guard !isClosing else { return }
        isClosing = true
        let raw = UnsafeMutableRawPointer(handle).assumingMemoryBound(to: uv_handle_t.self)
        // A stopping loop has closed the handle already.
        if uv_is_closing(raw) == 0 { uv_close(raw, onHandleClosed) }
    }

    private var stream: UnsafeMutablePointer<uv_stream_t> {
        UnsafeMutableRawPointer(handle).assumingMemoryBound(to: uv_stream_t.self)
    }

    private func fail(_ error: SystemError) {
        guard !isClosing else { return }
        ending = error
        close()
    }

    /// Stops reading until ``resumeReading()``: received bytes stay in the kernel, and the peer's end is not noticed.
    public func stopReading() {
        loop.assertIsCurrent()
        if !isClosing { uv_read_stop(stream) }
    }

    public func resumeReading() {
        loop.assertIsCurrent()
        if !isClosing { startReading() }
    }

    private func startReading() {
        uv_tcp_nodelay(handle, 1)
        let result = uv_read_start(stream, onAllocate, onRead)
        if result != 0 { fail(SystemError(operation: "read", errno: -result)) }
    }

    fileprivate func connectEnded(_ status: Int32) {
        loop.turnBegan()
        guard status == 0 else { return fail(SystemError(operation: "connect", errno: -status)) }
        startReading()
        onEvent?(.connected)
    }

    /// Called before the bytes are read.
    fileprivate func offerBuffer(_ buffer: UnsafeMutablePointer<uv_buf_t>) {
        loop.turnBegan()
        buffer.pointee = uv_buf_init(
            loop.readBuffer.baseAddress?.assumingMemoryBound(to: CChar.self), UInt32(loop.readBuffer.count))
    }

    fileprivate func readEnded(_ count: Int) {
        if count > 0 {
            onEvent?(.received(UnsafeRawBufferPointer(rebasing: loop.readBuffer[..<count])))
        } else if count == Int(UV_EOF.rawValue) {
            close()
        } else if count < 0 {
            fail(SystemError(operation: "read", errno: Int32(-count)))
        }
    }

    fileprivate func writeEnded(_ count: Int, status: Int32) {
        loop.turnBegan()
        pendingBytes -= count
        if status != 0 { return fail(SystemError(operation: "write", errno: -status)) }
        if pendingBytes == 0, !isClosing { onEvent?(.drained) }
    }

    fileprivate func handleClosed() {
        handle.deallocate()
        let report = onEvent
        onEvent = nil
        report?(.closed(ending))
    }
}

@available(*, unavailable)
extension TCPConnection: Sendable {}

/// A write request and its bytes in one allocation, which libuv's callback frees.
private struct WriteRequest {
    fileprivate let raw: UnsafeMutablePointer<uv_write_t>
    fileprivate let bytes: UnsafeMutablePointer<CChar>

    init(copying source: UnsafeRawBufferPointer) {
        let block = UnsafeMutableRawPointer.allocate(
            byteCount: MemoryLayout<uv_write_t>.size + source.count, alignment: MemoryLayout<uv_write_t>.alignment)
        raw = block.bindMemory(to: uv_write_t.self, capacity: 1)
        bytes = (block + MemoryLayout<uv_write_t>.size).bindMemory(to: CChar.self, capacity: source.count)
        UnsafeMutableRawPointer(bytes).copyMemory(from: source.baseAddress!, byteCount: source.count)
        // The callback needs the length; libuv leaves `data` to its user.
        raw.pointee.data = UnsafeMutableRawPointer(bitPattern: source.count)
    }

    func free() { UnsafeMutableRawPointer(raw).deallocate() }
}

/// The connection behind a libuv handle. Retained from `init` to `onHandleClosed`.
private func connection(of data: UnsafeMutableRawPointer?) -> TCPConnection {
    Unmanaged<TCPConnection>.fromOpaque(data!).takeUnretainedValue()
}

private func onConnect(_ request: UnsafeMutablePointer<uv_connect_t>?, _ status: Int32) {
    let connection = connection(of: request!.pointee.handle.pointee.data)
    request!.deallocate()
    connection.connectEnded(status)
}

private func onAllocate(
    _ handle: UnsafeMutablePointer<uv_handle_t>?, _: Int, _ buffer: UnsafeMutablePointer<uv_buf_t>?
) {
    connection(of: handle!.pointee.data).offerBuffer(buffer!)
}

private func onRead(_ stream: UnsafeMutablePointer<uv_stream_t>?, _ count: Int, _: UnsafePointer<uv_buf_t>?) {
    connection(of: stream!.pointee.data).readEnded(count)
}

private func onWritten(_ request: UnsafeMutablePointer<uv_write_t>?, _ status: Int32) {
    let connection = connection(of: request!.pointee.handle.pointee.data)
    let count = Int(bitPattern: request!.pointee.data)
    UnsafeMutableRawPointer(request!).deallocate()
    connection.writeEnded(count, status: status)
}

private func onHandleClosed(_ handle: UnsafeMutablePointer<uv_handle_t>?) {
    // Proof: retained in `init`; libuv calls back once, with the handle.
    Unmanaged<TCPConnection>.fromOpaque(handle!.pointee.data).takeRetainedValue().handleClosed()
}
