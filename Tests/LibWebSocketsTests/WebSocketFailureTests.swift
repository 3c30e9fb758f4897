import Foundation
import Testing

@testable import LibWebSockets

struct WebSocketFailureTests {
    private static let words = "connect SSL err 1: error:00000001:lib(0)::reason(1)"

    @Test func `a certificate that is refused has its reason, also when another thread's loop complains meanwhile`() {
        LWSLibrary.keep("SSL error: self-signed certificate (preverify_ok=0;err=18;depth=0)")
        let isDone = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            LWSLibrary.keep("a warning about another connection")
            isDone.signal()
        }
        isDone.wait()
        #expect(WebSocketFailure(libraryWords: Self.words) == .untrusted("self-signed certificate"))
        // A later failure has another cause.
        guard case .unreachable = WebSocketFailure(libraryWords: Self.words) else {
            return #expect(Bool(false), "the reason was used twice")
        }
    }
}
