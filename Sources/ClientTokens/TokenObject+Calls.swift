import CallVocabulary

/// The claims that limit calls.
extension TokenObject {
    /// The most calls in a minute that a token can say.
    static let mostCallsPerMinute = 1000

    /// `call_to`: a text or a list of texts.
    func callTargets() throws(TokenRefusal) -> [String]? {
        guard let value = self["call_to"] else { return nil }
        let expected = "a list of handles, each with or without * at its end"
        let texts = if case .string(let text) = value { [text] } else { value.texts }
        guard let texts, texts.allSatisfy({ (1...Handle.longest).contains($0.utf8.count) }) else {
            throw .claim("call_to", .mistyped(value.shown, expected: expected))
        }
        return texts
    }

    /// `calls_per_minute`: a whole number.
    func callsPerMinute() throws(TokenRefusal) -> Int? {
        guard let value = self["calls_per_minute"] else { return nil }
        guard case .number(let number, _) = value, let calls = Int(exactly: number),
            (1...Self.mostCallsPerMinute).contains(calls)
        else {
            throw .claim(
                "calls_per_minute",
                .mistyped(value.shown, expected: "a whole number from 1 to \(Self.mostCallsPerMinute)"))
        }
        return calls
    }
}
