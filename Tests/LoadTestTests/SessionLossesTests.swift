import SoftphoneKit
import SoftphoneSession
import Testing

@testable import LoadTest

@Suite("The session of a phone") struct SessionLossesTests {
    private static let refused = SoftphoneEvent.connection(.down(code: nil, reason: "refused", retryIn: .seconds(1)))
    private static let closed = SoftphoneEvent.connection(.down(code: 1006, reason: "closed", retryIn: .seconds(1)))

    @Test("is lost once, however often the phone fails to come back, and again after it was there")
    func once() {
        var losses = SessionLosses(count: 2)
        #expect(losses.reason(Self.closed, of: 1) == "closed")
        for _ in 0..<3 { #expect(losses.reason(Self.refused, of: 1) == nil) }
        #expect(losses.reason(Self.refused, of: 0) == "refused")
        losses.isBack(1)
        #expect(losses.reason(Self.closed, of: 1) == "closed")
        // What the server means is no second loss, and what was meant here is none.
        #expect(losses.reason(.connection(.gone(.closed(code: 3501))), of: 1) == nil)
        #expect(losses.reason(.connection(.offline), of: 1) == nil)
        #expect(losses.reason(.connection(.gone(.closed(code: 3501))), of: 1)?.contains("3501") == true)
    }
}
