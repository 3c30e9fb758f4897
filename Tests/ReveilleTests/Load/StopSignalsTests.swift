import Testing

@testable import reveille

@Suite("The signals that end a load test")
struct StopSignalsTests {
    @Test("end it in order at first, and at once only when somebody asks again after a while")
    func burst() {
        let (signals, start) = (StopSignals(), ContinuousClock.now)
        #expect(signals.first == nil)
        #expect(signals.take(2, at: start) == .first)
        // timeout(1) sends on what the terminal sends to both.
        #expect(signals.take(2, at: start + .milliseconds(3)) == .sameBurst)
        #expect(signals.take(15, at: start + .milliseconds(499)) == .sameBurst)
        #expect(signals.take(15, at: start + .milliseconds(500)) == .again)
        #expect(signals.first == 2)
    }
}
