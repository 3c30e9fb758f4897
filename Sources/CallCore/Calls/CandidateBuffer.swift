import CallVocabulary

/// Candidates kept, within bounds, for somebody who cannot have them yet.
struct CandidateBuffer {
    private(set) var candidates: [RawJSON] = []
    private(set) var isFinal = false
    private var bytes = 0

    var isEmpty: Bool { candidates.isEmpty && !isFinal }

    /// Keeps a batch, or none of it where it does not fit.
    /// - Returns: those that were not there before; nil when the batch does not fit.
    mutating func append(_ batch: CallCandidates, limits: CoreLimits) -> [RawJSON]? {
        var new: [RawJSON] = []
        for candidate in batch.candidates {
            // A client says all of its candidates again in a new session.
            if candidates.contains(candidate) || new.contains(candidate) { continue }
            new.append(candidate)
        }
        let size = new.reduce(bytes) { $0 + $1.bytes.count }
        guard candidates.count + new.count <= limits.bufferedCandidates, size <= limits.bufferedCandidateBytes else {
            return nil
        }
        candidates += new
        bytes = size
        isFinal = isFinal || batch.isFinal
        return new
    }
}
