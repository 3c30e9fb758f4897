import CallVocabulary

/// A bounded buffer of candidates for a device that cannot receive them yet.
struct CandidateBuffer {
    private(set) var candidates: [RawJSON] = []
    private(set) var isFinal = false
    private var bytes = 0

    var isEmpty: Bool { candidates.isEmpty && !isFinal }

    /// Appends a batch, or nothing when it does not fit.
    /// - Returns: the candidates that were new; nil when the batch does not fit.
    mutating func append(_ batch: CallCandidates, limits: CoreLimits) -> [RawJSON]? {
        var new: [RawJSON] = []
        for candidate in batch.candidates {
            // A client repeats all of its candidates in a new session.
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
