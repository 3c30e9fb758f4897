import EventLoop
import Glibc
import TestCleanup
import Testing

@Suite("The limit of descriptors", .ownProcess)
struct DescriptorLimitTests {
    private struct Failure: Error {}

    private func softLimit() -> Int {
        var limits = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
        return Int(clamping: limits.rlim_cur)
    }

    @Test("it is lowered for as long as something runs, however that ends")
    func lowered() throws {
        let before = DescriptorLimit.current
        try #require(before > 300)
        #expect(DescriptorLimit.lowered(to: 300) { [$0, softLimit()] } == [300, 300])
        #expect(softLimit() == before)
        #expect(throws: Failure.self) { try DescriptorLimit.lowered(to: 300) { _ in throw Failure() } }
        #expect(softLimit() == before)
    }

    @Test("it is not raised by that")
    func notRaised() {
        let before = DescriptorLimit.current
        #expect(DescriptorLimit.lowered(to: before + 1) { [$0, softLimit()] } == [before, before])
        #expect(softLimit() == before)
    }

    @Test("it is set to what is needed, and to no more than the process may have")
    func set() throws {
        let before = DescriptorLimit.current
        try #require(before > 500)
        var hard = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &hard)
        #expect(DescriptorLimit.set(to: 400) == 400)
        #expect(softLimit() == 400)
        #expect(DescriptorLimit.provide(300) == 400)
        #expect(DescriptorLimit.provide(401) == 401)
        #expect(DescriptorLimit.raise() == Int(clamping: hard.rlim_max))
        #expect(DescriptorLimit.set(to: before) == before)
    }
}
