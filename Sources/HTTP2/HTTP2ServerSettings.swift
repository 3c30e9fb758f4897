/// What a server announces when a connection stands, and what it bounds.
public struct HTTP2ServerSettings: Sendable {
    /// SETTINGS_MAX_CONCURRENT_STREAMS; ``HTTP2ServerConnection/updateSettings(maxConcurrentStreams:)`` changes it.
    public var maxConcurrentStreams: Int
    /// How many bytes a client may send on one stream before the server has read them.
    public var streamWindow: Int
    /// The same for all streams of the connection together.
    public var connectionWindow: Int
    /// Bytes of a request's body that are kept. The rest is read and dropped.
    public var maxBody: Int
    /// Bytes of a streaming response that may wait for the client to take them.
    public var maxBufferedResponse: Int
    /// From the accepted connection to the end of the TLS handshake.
    public var handshakeTimeout: Duration
    /// How much further away the client seems to be than it is: half of it is added to the way of all bytes in, half to
    /// that of all bytes out.
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
