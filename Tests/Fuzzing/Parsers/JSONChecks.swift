import WireJSON

/// The scanner agrees with `JSONSerialization`; `JSONObject` and `member(_:)` give the same values.
enum JSONChecks {
    static func check(_ bytes: [UInt8]) throws(Violation) {
        if let disagreement = JSONOracle.disagreement(on: bytes) { throw Violation(disagreement) }
        let result = bytes.withUnsafeBytes { buffer in
            Result { () throws(Violation) in
                guard let value = try? JSONScanner.document(buffer) else { return }
                try members(value)
                try strings(value)
            }
        }
        try result.get()
    }

    private static func members(_ value: JSONValue) throws(Violation) {
        guard value.kind == .object else { return }
        let object = JSONObject(value)
        for name in ["a", "id", "", "params", "longer_than_most", "é"] as [StaticString] {
            let scanned = value.member(name)
            let found = object[name]
            // `null` counts as absent.
            let isSame =
                if let found { scanned.map { Array($0.bytes) } == Array(found.bytes) } else { scanned?.isNull ?? true }
            try require(isSame, "JSONObject and member(_:) differ in \(name)")
        }
    }

    /// A string that is encoded and decoded again is unchanged.
    private static func strings(_ value: JSONValue) throws(Violation) {
        switch value.kind {
        case .string:
            let text = value.string ?? ""
            let written = JSONWriter.bytes { $0.string(text) }
            let isSame = written.withUnsafeBytes { buffer in
                (try? JSONScanner.document(buffer)).map { Array(($0.string ?? "").utf8) == Array(text.utf8) } ?? false
            }
            try require(isSame, "\(text.debugDescription) is written as \(written)")
        case .array: try value.forEachElement { (element) throws(Violation) in try strings(element) }
        case .null, .bool, .integer, .fraction, .object: break
        }
    }
}
