import CallServer
import CallVocabulary
import ClientTokens

/// What is said of a token.
enum TokenText {
    static func lines(_ inspection: TokenInspection) -> [String] {
        let explanation = inspection.explanation
        var lines = part("header", explanation.header.map { "\($0.name) \($0.value)" })
        lines += part("claims", explanation.claims.map { "\($0.name) \($0.value)" })
        lines += part("keys", inspection.keys.map(\.summary) + (inspection.missing.map { [$0] } ?? []))
        lines += part("signed", [explanation.signer.map { "with \($0)" } ?? "with no key of this server"])
        return lines + part("verdict", [verdict(explanation)])
    }

    private static func part(_ name: String, _ lines: [String]) -> [String] {
        lines.enumerated().map { index, line in
            (index == 0 ? name : "").padded(to: 9) + line
        }
    }

    private static func verdict(_ explanation: TokenExplanation) -> String {
        switch explanation.verdict {
        case .success(let claims): "taken: \(claims.user)\(claims.device.map { ", device \($0) only" } ?? "")"
        case .failure(let refusal): "refused: \(refusal.message)"
        }
    }

    static func json(_ inspection: TokenInspection) -> [String: Any] {
        let explanation = inspection.explanation
        var object: [String: Any] = [
            "header": Dictionary(explanation.header.map { ($0.name, $0.value) }) { $1 },
            "claims": Dictionary(explanation.claims.map { ($0.name, $0.value) }) { $1 },
            "keys": inspection.keys.map(\.summary),
        ]
        object["signer"] = explanation.signer
        object["keys_missing"] = inspection.missing
        switch explanation.verdict {
        case .success(let claims):
            object["taken"] = true
            object["user"] = claims.user.text
        case .failure(let refusal):
            object["taken"] = false
            object["cause"] = refusal.cause.rawValue
            object["message"] = refusal.message
        }
        return object
    }
}
