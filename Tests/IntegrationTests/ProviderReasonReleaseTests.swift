import Testing

@Suite("Each other reason of APNs, from the wire to the call", .world)
struct ProviderReasonReleaseTests {
    @Test("a refused push ends in the ledger with its reason, and the call ends at once")
    func refused() async throws { try await ProviderReasonTests.checkRefused(ProviderReasonTests.others) }

    @Test("a temporary reason does not harm the call: the push is sent once more and accepted")
    func passing() async throws { try await ProviderReasonTests.checkPassing(ProviderReasonTests.others) }
}
