/// The limits of message content, chosen so that accepted content can be relayed in one frame.
///
/// Sizes are bytes as in the frame: escapes count with all their characters.
public enum FrameLimits {
    /// The longest frame, in both directions.
    public static let frame = 65_536
    /// The longest frame of a client that has sent no `session.open` with a valid token: it has a token, push tokens and names.
    public static let opening = 40_960
    /// The limit of the senders' own content in a frame: `to`, `sdp`, `custom` and candidates together. The rest is
    /// reserved for names, ids and the envelope, which have limits of their own.
    public static let content = frame - 4096
    /// The text of an `sdp`, without its quotation marks.
    public static let sdp = 32_768
    public static let custom = 16_384
    /// The most handles in `to`.
    public static let handles = 1000
    /// The whole `to`: together with an `sdp`, as in a snapshot, it still fits a frame.
    public static let target = 24_576
    /// A client's token: a JWT or a wake token.
    public static let token = 16_384
    public static let resumeToken = 512
    /// A request's `id`, when it is a string.
    public static let requestID = 256
    /// A person's, device's or app's name. A longer name of a person is cut where it comes in: see ``DisplayName``.
    public static let name = 256
    public static let pushTokens = 8
    /// The `topic` of a push token, of any provider. APNs takes no longer one.
    public static let topic = 255
    /// The name of a payload profile.
    public static let profile = 64
    /// The `error` of a push report.
    public static let reportError = 1024
    /// All URLs of an ``ICEServer`` together.
    public static let iceURLs = 1024
    /// The most calls that one `call.list` may ask for.
    public static let listedCalls = 100
}

extension IncomingCall {
    /// The events that offer this call to a device: `call.incoming` with as many candidates as its frame takes, then
    /// the others as `call.candidates`, in order. Each event is numbered.
    ///
    /// - Parameter candidatesAreFinal: whether the caller has sent all candidates. `call.incoming` has no member for
    ///   it, so a last `call.candidates`, possibly empty, carries it.
    public func events(candidatesAreFinal: Bool) -> [ServerEvent] {
        guard !candidates.isEmpty || candidatesAreFinal else { return [.incoming(self)] }
        var incoming = self
        let content = to.wireBytes + (sdp?.bytes.count ?? 0) + (custom?.bytes.count ?? 0)
        incoming.candidates = Array(candidates.prefixThatFits(FrameLimits.content - content))
        let rest = CallCandidates(
            call: call, candidates: Array(candidates[incoming.candidates.count...]), isFinal: candidatesAreFinal)
        var events = [ServerEvent.incoming(incoming)]
        if !rest.candidates.isEmpty || candidatesAreFinal { rest.forEachFrame { events.append(.candidates($0)) } }
        return events
    }
}

extension CallCandidates {
    /// Splits the candidates into as many batches as the frame limit requires, and calls `body` with each in order.
    /// Only the last batch may be final.
    ///
    /// - Parameter limit: the most bytes of candidates in a batch, with a comma each; a larger candidate is sent alone.
    public func forEachFrame(upTo limit: Int = FrameLimits.content, _ body: (CallCandidates) -> Void) {
        // The list's bytes are more than its values with their commas.
        guard candidates.bytes.count > limit else { return body(self) }
        var batch = CallCandidates(call: call, candidates: CandidateList())
        var room = limit
        candidates.forEachValue { value in
            if value.count + 1 > room, !batch.candidates.isEmpty {
                body(batch)
                batch.candidates = CandidateList()
                room = limit
            }
            batch.candidates.append(value)
            room -= value.count + 1
        }
        batch.isFinal = isFinal
        body(batch)
    }
}

extension Collection<RawJSON> {
    /// The longest prefix of values that takes at most `room` bytes, with a comma each.
    fileprivate func prefixThatFits(_ room: Int) -> SubSequence {
        var room = room
        return prefix { value in
            room -= value.bytes.count + 1
            return room >= 0
        }
    }
}

extension SessionOpened {
    /// Removes content until one frame takes it, in this order: the lists in `to` of snapshots, their `custom`, their
    /// `sdp`, the oldest missed calls, the last calls. Calls that ring here lose their content first: strangers decide how
    /// much that is, and `call.incoming` has it too. `call.get` returns a whole call.
    public mutating func fitToFrame() {
        var size = calls.reduce(0) { $0 + $1.wireBytes } + missed.reduce(0) { $0 + $1.wireBytes }
        for isOffer in [true, false] {
            let indices = calls.indices.reversed().filter { calls[$0].isOffer == isOffer }
            for index in indices where size > FrameLimits.content {
                let before = calls[index].to.wireBytes
                // The count beside it may be new.
                if calls[index].cutTarget() { size -= before - calls[index].to.wireBytes - CallSnapshot.countBytes }
            }
            for part in [\CallSnapshot.custom, \CallSnapshot.sdp] {
                for index in indices where size > FrameLimits.content {
                    size -= calls[index][keyPath: part]?.bytes.count ?? 0
                    calls[index][keyPath: part] = nil
                }
            }
        }
        if size > FrameLimits.content {
            missed.sort { $0.at < $1.at }
            let dropped = missed.prefix { call in
                guard size > FrameLimits.content else { return false }
                size -= call.wireBytes
                return true
            }
            missed.removeFirst(dropped.count)
        }
        while size > FrameLimits.content, let last = calls.popLast() { size -= last.wireBytes }
    }
}

extension CallSnapshot {
    /// An upper bound of its bytes in a frame, with the comma after it. Close to the bytes of an ordinary call, so that a
    /// page of ``FrameLimits/listedCalls`` fits.
    public var wireBytes: Int {
        // The members of every snapshot, apart from what is in them: 192 bytes with times of 20 digits.
        var bytes = 200 + from.text.wireBytes + callerNameBytes(fromName) + to.wireBytes
        if toCount != nil { bytes += Self.countBytes }
        if expiresAt != nil { bytes += 72 }
        for time in [answeredAt, connectedAt, endedAt, lostAt, peerAwaySince] where time != nil { bytes += 40 }
        if reason != nil { bytes += 104 }
        if let by { bytes += 72 + by.user.text.wireBytes }
        for content in [sdp, custom] { bytes += content.map { 16 + $0.bytes.count } ?? 0 }
        if push != nil { bytes += 52 }
        if mergedInto != nil { bytes += 56 }
        return bytes
    }

    /// The same once ``SessionOpened/fitToFrame()`` has removed its content.
    public var leastWireBytes: Int {
        var least = self
        (least.sdp, least.custom) = (nil, nil)
        _ = least.cutTarget()
        return least.wireBytes
    }

    fileprivate static let countBytes = 32

    /// Whether the call rings at the device.
    fileprivate var isOffer: Bool { role == .callee && state.isRingingPhase }

    /// Keeps of a list the first handle and the length.
    /// - Returns: false for a list that is short anyway, and for another target.
    fileprivate mutating func cutTarget() -> Bool {
        guard case .users(let handles) = to, handles.count > 1 else { return false }
        to = .users(Array(handles.prefix(1)))
        toCount = toCount ?? handles.count
        return true
    }
}

/// The bytes of a display name as written: shortened to ``FrameLimits/name``.
private func callerNameBytes(_ name: String?) -> Int {
    guard let name else { return 0 }
    // An escape takes at most six bytes.
    return min(name.wireBytes, 6 * FrameLimits.name + 2)
}

extension MissedCall {
    /// An upper bound of its bytes in a frame.
    public var wireBytes: Int { 200 + from.text.wireBytes + callerNameBytes(fromName) }
}

extension [CallSnapshot] {
    /// The first calls that fit the reply to one `call.list`; at least one of a list that is not empty.
    public var prefixThatFitsFrame: ArraySlice<CallSnapshot> {
        var room = FrameLimits.content
        return prefix { call in
            room -= call.wireBytes
            return room >= 0
        }
    }
}

extension CallTarget {
    /// Its bytes in a frame.
    public var wireBytes: Int {
        switch self {
        case .user(let handle): handle.text.wireBytes
        // Brackets, and a comma between two handles.
        case .users(let handles): handles.reduce(handles.isEmpty ? 2 : 1) { $0 + $1.text.wireBytes + 1 }
        case .group(let name): name.wireBytes + 10
        }
    }
}

extension String {
    /// Its bytes as a JSON string.
    fileprivate var wireBytes: Int {
        utf8.reduce(2) { size, byte in
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): size + 2
            case 0..<0x20: size + 6
            default: size + 1
            }
        }
    }
}
