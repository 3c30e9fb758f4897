import PushSimulator
import Testing

@Suite("Each other fault of the push service, from the wire to the call", .world)
struct ProviderFaultTableReleaseTests {
    @Test(
        "each answer has the result in the table, and the next call rings",
        arguments: ProviderFaultTableTests.services)
    func answers(of service: PushFault.Service) async throws {
        let rows = ProviderFaultTableTests.others.filter { $0.fault.service == service && !$0.harmsConnections }
        try await ProviderFaultTableTests.check(rows)
    }

    @Test(
        "each harm to a connection has the result in the table, and the next call rings",
        arguments: ProviderFaultTableTests.others.filter(\.harmsConnections))
    func harm(_ row: ProviderFaultTableTests.Row) async throws { try await ProviderFaultTableTests.check([row]) }
}
