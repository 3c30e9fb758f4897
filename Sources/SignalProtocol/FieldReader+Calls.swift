import CallVocabulary
import WireJSON

/// Reads members common to client and server messages.
extension FieldReader {
    static let target = "a handle, a list of handles or {\"group\": name}"
    static let handle = "a handle: \(Handle.rule)"

    /// Reads a handle sent by the server, which may predate the rule for handles.
    func handle(_ name: StaticString) throws(FieldFailure) -> Handle {
        try required(name, Self.handle) { $0.string.flatMap { Handle(known: $0) } }
    }

    /// Reads `sdp`, a string kept byte for byte.
    func sdp(in memory: PayloadMemory? = nil) throws(FieldFailure) -> RawJSON? {
        guard let value = object["sdp"] else { return nil }
        guard value.kind == .string else { throw mistyped("sdp", "a string") }
        guard value.textCount <= FrameLimits.sdp else { throw tooLarge("sdp", FrameLimits.sdp) }
        return copy(value, in: memory)
    }

    /// Reads `custom`, any value kept byte for byte.
    func custom(in memory: PayloadMemory? = nil) throws(FieldFailure) -> RawJSON? {
        guard let value = object["custom"] else { return nil }
        guard value.bytes.count <= FrameLimits.custom else { throw tooLarge("custom", FrameLimits.custom) }
        return copy(value, in: memory)
    }

    /// - Parameter memory: nil allocates.
    private func copy(_ value: JSONValue, in memory: PayloadMemory?) -> RawJSON {
        guard let memory else { return value.raw }
        return RawJSON(bytes: memory.fill(upTo: value.bytes.count) { $0.append(contentsOf: value.bytes) })
    }

    func tooLarge(_ name: StaticString, _ limit: Int) -> FieldFailure {
        FieldFailure(path: "\(name)", problem: .tooLarge(limit: limit, unit: "bytes"), expected: "")
    }

    /// Reads `to`, the callees.
    /// - Parameter read: validates a handle.
    func target(_ read: (String) -> Handle? = { Handle($0) }) throws(FieldFailure) -> CallTarget {
        guard let value = object["to"] else {
            throw FieldFailure(path: "to", problem: .missing, expected: Self.target)
        }
        guard value.bytes.count <= FrameLimits.target else { throw tooLarge("to", FrameLimits.target) }
        switch value.kind {
        case .string:
            guard let handle = value.string.flatMap(read) else { throw mistyped("to", Self.handle) }
            return .user(handle)
        case .array:
            let handles = try elements(of: value, name: "to", upTo: FrameLimits.handles, of: Self.handle) { element in
                element.string.flatMap(read)
            }
            guard !handles.isEmpty else { throw mistyped("to", "at least one handle in the list") }
            return .users(handles)
        case .object:
            // A group's name follows the rule for handles.
            guard let name = JSONObject(value)["group"]?.string.flatMap(read) else {
                throw mistyped("to", Self.target)
            }
            return .group(name.text)
        case .null, .bool, .integer, .fraction:
            throw mistyped("to", Self.target)
        }
    }

    /// Reads the members of `call.candidates`.
    func candidates(in memory: PayloadMemory? = nil) throws(FieldFailure) -> CallCandidates {
        let call: CallID = try identifier("call_id")
        let candidates = try candidateList(in: memory)
        return CallCandidates(call: call, candidates: candidates, isFinal: try bool("final") ?? false)
    }

    /// Reads the elements of `candidates`, each kept byte for byte.
    func candidateList(in memory: PayloadMemory? = nil) throws(FieldFailure) -> CandidateList {
        let list = try required("candidates", "a list; each element any value") { $0.kind == .array ? $0 : nil }
        // White space between the elements is not kept, so the buffer has the size that is counted.
        let size = try sizeOfCandidates(list)
        func copy(to bytes: inout [UInt8]) {
            list.forEachElement { CandidateList.append($0.bytes, to: &bytes) }
        }
        if let memory { return CandidateList(bytes: memory.fill(upTo: size, copy)) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(size)
        copy(to: &bytes)
        return CandidateList(bytes: bytes)
    }

    /// The size of the elements as a list, in bytes.
    /// - Throws: when the elements, with a comma each, exceed what a frame may contain.
    private func sizeOfCandidates(_ list: JSONValue) throws(FieldFailure) -> Int {
        var (content, size, count) = (0, 0, 0)
        try list.forEachElement { (element) throws(FieldFailure) in
            content += element.bytes.count + 1
            guard content <= FrameLimits.content else {
                let failure = FieldFailure(
                    path: "[\(count)]", problem: .tooLarge(limit: FrameLimits.content, unit: "bytes in all"),
                    expected: "")
                throw failure.inside("candidates")
            }
            size += CandidateList.size(of: element.bytes)
            count += 1
        }
        return size
    }

    /// Reads the members of `call.update`.
    func update(in memory: PayloadMemory? = nil) throws(FieldFailure) -> CallUpdate {
        CallUpdate(
            call: try identifier("call_id"), kind: try choice("kind"), sdp: try sdp(in: memory),
            custom: try custom(in: memory))
    }
}
