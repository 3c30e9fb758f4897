import CallVocabulary

/// Candidates kept, within bounds, for somebody who cannot have them yet.
struct CandidateBuffer {
    private(set) var candidates: [RawJSON] = []
    private(set) var isFinal = false
    private var bytes = 0

    var isEmpty: Bool { candidates.isEmpty && !isFinal }

    /// - Returns: those that were kept, and how many others did not fit any more.
    mutating func append(_ batch: CallCandidates, limits: CoreLimits) -> (kept: [RawJSON], dropped: Int) {
        var kept: [RawJSON] = []
        var dropped = 0
        for candidate in batch.candidates {
            // A client says all of its candidates again in a new session.
            if candidates.contains(candidate) { continue }
            guard candidates.count < limits.bufferedCandidates,
                bytes + candidate.bytes.count <= limits.bufferedCandidateBytes
            else {
                dropped += 1
                continue
            }
            candidates.append(candidate)
            kept.append(candidate)
            bytes += candidate.bytes.count
        }
        isFinal = isFinal || batch.isFinal
        return (kept, dropped)
    }
}
