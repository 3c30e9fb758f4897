import CallVocabulary
import WireJSON

/// What both sides' messages have in common.
extension FieldReader {
    static let target = "a handle, a list of handles or {\"group\": name}"
    static let handle = "a handle: \(Handle.rule)"

    /// A handle that the server says: it may be older than the rule.
    func handle(_ name: StaticString) throws(FieldFailure) -> Handle {
        try required(name, Self.handle) { $0.string.flatMap { Handle(known: $0) } }
    }

    /// A member passed through byte for byte, which must be a string.
    func sdp(in memory: PayloadMemory? = nil) throws(FieldFailure) -> RawJSON? {
        guard let value = object["sdp"] else { return nil }
        guard value.kind == .string else { throw mistyped("sdp", "a string") }
        guard value.textCount <= FrameLimits.sdp else { throw tooLarge("sdp", FrameLimits.sdp) }
        return copy(value, in: memory)
    }

    /// A member passed through byte for byte, whatever it is.
    func custom(in memory: PayloadMemory? = nil) throws(FieldFailure) -> RawJSON? {
        guard let value = object["custom"] else { return nil }
        guard value.bytes.count <= FrameLimits.custom else { throw tooLarge("custom", FrameLimits.custom) }
        return copy(value, in: memory)
    }

    /// - Parameter memory: nil asks for new memory.
    private func copy(_ value: JSONValue, in memory: PayloadMemory?) -> RawJSON {
        guard let memory else { return value.raw }
        return RawJSON(bytes: memory.fill(upTo: value.bytes.count) { $0.append(contentsOf: value.bytes) })
    }

    func tooLarge(_ name: StaticString, _ limit: Int) -> FieldFailure {
        FieldFailure(path: "\(name)", problem: .tooLarge(limit: limit, unit: "bytes"), expected: "")
    }

    /// `to`: who is called.
    /// - Parameter read: the rule that handles follow.
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
            // A group's name follows the rules of a handle.
            guard let name = JSONObject(value)["group"]?.string.flatMap(read) else {
                throw mistyped("to", Self.target)
            }
            return .group(name.text)
        case .null, .bool, .integer, .fraction:
            throw mistyped("to", Self.target)
        }
    }

    /// The members of `call.candidates`.
    func candidates(in memory: PayloadMemory? = nil) throws(FieldFailure) -> CallCandidates {
        let call: CallID = try identifier("call_id")
        let candidates = try candidateList(in: memory)
        return CallCandidates(call: call, candidates: candidates, isFinal: try bool("final") ?? false)
    }

    /// The elements of `candidates`, each passed through byte for byte.
    func candidateList(in memory: PayloadMemory? = nil) throws(FieldFailure) -> CandidateList {
        let list = try required("candidates", "a list; each element any value") { $0.kind == .array ? $0 : nil }
        // What is kept takes as much as it counts: white space between the elements is not passed on.
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

    /// What the elements take as a list, in bytes.
    /// - Throws: where they take more in a frame than is allowed, with a comma each.
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

    /// The members of `call.update`.
    func update(in memory: PayloadMemory? = nil) throws(FieldFailure) -> CallUpdate {
        CallUpdate(
            call: try identifier("call_id"), kind: try choice("kind"), sdp: try sdp(in: memory),
            custom: try custom(in: memory))
    }
}
