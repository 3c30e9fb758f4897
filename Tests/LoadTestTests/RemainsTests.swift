import ChildProcess
import Foundation
import Testing

@testable import LoadTest

@Suite("What is left of a run", .timeLimit(.minutes(5))) struct RemainsTests {
    @Test("is ended and removed at once, but for what is somebody's else to end")
    func removed() async throws {
        let remains = Remains()
        let folder = NSTemporaryDirectory() + "remains-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder + "/in", withIntermediateDirectories: true)
        let children = try (0..<3).map { _ in try ChildProcess.start("/bin/cat", [], input: .untilClosed) }
        for child in children { remains.add(child) }
        remains.add(folder: folder)
        // One has ended by itself; its number may be another's.
        children[0].closeInput()
        #expect(await children[0].wait(atMost: .seconds(20)) == .exit(0))
        remains.forget(children[1])
        remains.remove()
        #expect(await children[2].wait(atMost: .seconds(20)) == .signal(SIGKILL))
        #expect(children[0].ending == .exit(0))
        #expect(!FileManager.default.fileExists(atPath: folder))
        #expect(children[1].ending == nil)
        #expect(await children[1].stop(atMost: .seconds(20)) == .signal(SIGTERM))
    }
}
