import CallVocabulary
import WireJSON

/// Writes members common to client and server messages.
extension JSONWriter {
    /// Writes a JSON-RPC message; `members` writes the members after `jsonrpc`.
    mutating func message(_ members: (inout JSONWriter) -> Void) {
        object { json in
            json.key("jsonrpc")
            json.string("2.0" as StaticString)
            members(&json)
        }
    }

    mutating func id(_ id: RequestID?) {
        key("id")
        switch id {
        case .number(let number)?: integer(number)
        case .string(let text)?: string(text)
        case nil: null()
        }
    }

    mutating func field(_ name: StaticString, _ handle: Handle) {
        field(name, handle.text)
    }

    mutating func field(_ name: StaticString, _ target: CallTarget) {
        key(name)
        switch target {
        case .user(let handle): string(handle.text)
        case .users(let handles):
            array { json in
                for handle in handles { json.string(handle.text) }
            }
        case .group(let name): object { $0.field("group", name) }
        }
    }

    mutating func field(_ name: StaticString, _ values: [RawJSON]) {
        field(name) { json in
            json.array { json in
                for value in values { json.raw(value) }
            }
        }
    }

    /// Writes the members of `call.candidates`.
    mutating func members(_ batch: CallCandidates) {
        field("call_id", batch.call)
        field("candidates") { json in
            json.array { json in
                batch.candidates.forEachValue { json.raw($0) }
            }
        }
        if batch.isFinal { field("final", true) }
    }

    /// Writes the members of `call.update`.
    mutating func members(_ update: CallUpdate) {
        field("call_id", update.call)
        field("kind", update.kind.rawValue)
        field("sdp", update.sdp)
        field("custom", update.custom)
    }
}
