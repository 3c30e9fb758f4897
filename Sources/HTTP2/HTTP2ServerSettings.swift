/// A server's announced settings and its limits.
public struct HTTP2ServerSettings: Sendable {
    /// SETTINGS_MAX_CONCURRENT_STREAMS; ``HTTP2ServerConnection/updateSettings(maxConcurrentStreams:)`` changes it.
    public var maxConcurrentStreams: Int
    /// Bytes that a client may send on one stream before the server reads them.
    public var streamWindow: Int
    /// The same for the whole connection.
    public var connectionWindow: Int
    /// The most bytes of a request body that are kept. Further bytes are read and dropped.
    public var maxBody: Int
    /// The most bytes of a streaming response that wait for the client.
    public var maxBufferedResponse: Int
    /// The time from the accepted connection to the end of the TLS handshake.
    public var handshakeTimeout: Duration
    /// Simulated round-trip time: half is added in each direction.
    public var roundTrip: Duration

    public init(
        maxConcurrentStreams: Int = 100, streamWindow: Int = 65_535, connectionWindow: Int = 65_535,
        maxBody: Int = 64 * 1024, maxBufferedResponse: Int = 1024 * 1024, handshakeTimeout: Duration = .seconds(10),
        roundTrip: Duration = .zero
    ) {
        self.maxConcurrentStreams = maxConcurrentStreams
        self.streamWindow = streamWindow
        self.connectionWindow = connectionWindow
        self.maxBody = maxBody
        self.maxBufferedResponse = maxBufferedResponse
        self.handshakeTimeout = handshakeTimeout
        self.roundTrip = roundTrip
    }
}
