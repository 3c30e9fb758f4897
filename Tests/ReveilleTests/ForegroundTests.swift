import Logging
import ServiceLifecycle
import Synchronization
import Testing

@testable import reveille

@Suite("A service in the foreground")
struct ForegroundTests {
    /// Counts the requests for its description, debug description and mirror.
    private final class Described: Service, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
        let descriptions = Atomic<Int>(0)

        var description: String { described("described") }
        var debugDescription: String { described("described") }
        var customMirror: Mirror { described(Mirror(self, children: [])) }

        func run() async {}

        private func described<Result>(_ result: Result) -> Result {
            descriptions.add(1, ordering: .relaxed)
            return result
        }
    }

    @Test("is called by its type and never described: reflection over a server delays its start")
    func name() throws {
        let service = Described()
        let configuration = Foreground.configuration(of: service, log: Logger(label: "test"))
        #expect(configuration.services.map(\.serviceName) == ["Described"])
        #expect(service.descriptions.load(ordering: .relaxed) == 0)
    }
}
