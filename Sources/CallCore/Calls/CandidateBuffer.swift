import CallVocabulary

/// A bounded buffer of candidates for a device that cannot receive them yet.
struct CandidateBuffer {
    /// How much of a buffer a device was told of.
    struct Mark: Equatable {
        var count = 0
        var bytes = 0
        var isFinal = false
    }

    private(set) var candidates: [RawJSON] = []
    private(set) var isFinal = false
    private(set) var bytes = 0
    /// The same candidates: a repeated one is found by its hash.
    private var known: Set<RawJSON> = []

    var isEmpty: Bool { candidates.isEmpty && !isFinal }

    /// All that the buffer has now.
    var end: Mark { Mark(count: candidates.count, bytes: bytes, isFinal: isFinal) }

    func batch(of call: CallID, upTo end: Mark) -> CallCandidates {
        CallCandidates(call: call, candidates: Array(candidates[..<end.count]), isFinal: end.isFinal)
    }

    /// That all candidates were sent is said once.
    func batch(of call: CallID, after start: Mark = Mark()) -> CallCandidates {
        CallCandidates(
            call: call, candidates: Array(candidates[start.count...]), isFinal: isFinal && !start.isFinal)
    }

    /// Appends a batch, or nothing when it does not fit. A batch of more values than the buffer may hold does not,
    /// repeated or not: the limits bound the work, not the sender.
    /// - Returns: the candidates that were new; nil when the batch does not fit.
    mutating func append(_ batch: CallCandidates, limits: CoreLimits) -> [RawJSON]? {
        guard !batch.candidates.hasMore(than: limits.bufferedCandidates) else { return nil }
        var new: [RawJSON] = []
        var size = bytes
        for candidate in batch.candidates {
            // A client repeats all of its candidates in a new session.
            guard known.insert(candidate).inserted else { continue }
            new.append(candidate)
            size += candidate.bytes.count
            guard candidates.count + new.count <= limits.bufferedCandidates, size <= limits.bufferedCandidateBytes
            else {
                known.subtract(new)
                return nil
            }
        }
        candidates += new
        bytes = size
        isFinal = isFinal || batch.isFinal
        return new
    }

    /// What is new in a batch for a device that is away.
    /// - Parameter waiting: what waits for the device.
    /// - Returns: nil when there is no room for the batch.
    static func new(in batch: CallCandidates, behind waiting: [ServerEvent], limits: CoreLimits) -> [RawJSON]? {
        var buffer = CandidateBuffer()
        for case .candidates(let earlier) in waiting where earlier.call == batch.call {
            // The candidates left by a session may exceed a buffer.
            guard buffer.append(earlier, limits: limits) != nil else { return nil }
        }
        return buffer.append(batch, limits: limits)
    }
}
