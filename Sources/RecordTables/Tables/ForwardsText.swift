import CallCore
import CallVocabulary
import Foundation

/// Converts the targets a call was forwarded to to and from a column: a JSON array of
/// `{"reason":"busy","to":{"user":"carol"},"at":…,"first":1}`.
package enum ForwardsText {
    private struct Form: Decodable {
        var reason: String
        var to: CallTargetText.Form
        var at: Int64
        var first: Int
    }

    package static func append(_ forwards: [CallRecord.Forward], to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "["))
        for (index, forward) in forwards.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes += #"{"reason":"\#(forward.reason.rawValue)","to":"#.utf8
            CallTargetText.append(forward.to, to: &bytes)
            bytes += #","at":\#(forward.at.milliseconds),"first":\#(forward.firstMember)}"#.utf8
        }
        bytes.append(UInt8(ascii: "]"))
    }

    /// - Returns: nil when the text is not such an array.
    package static func read(_ text: String) -> [CallRecord.Forward]? {
        guard let forms = try? JSONDecoder().decode([Form].self, from: Data(text.utf8)) else { return nil }
        let forwards = forms.compactMap { form -> CallRecord.Forward? in
            guard let reason = EndReason(rawValue: form.reason), let to = CallTargetText.target(form.to),
                StoredTime.isPossible(form.at)
            else { return nil }
            return CallRecord.Forward(
                reason: reason, to: to, at: Instant(milliseconds: form.at), firstMember: form.first)
        }
        return forwards.count == forms.count ? forwards : nil
    }
}
