import CallVocabulary
import Foundation
import ReveilleClient
import SoftphoneSession

struct Unexpected: Error {
    let what: String
}

func expect(_ condition: Bool, _ what: @autoclosure () -> String) throws {
    guard condition else { throw Unexpected(what: what()) }
}

/// A phone and its events, which one task reads.
final class Phone {
    let softphone: Softphone
    private var events: AsyncStream<SoftphoneEvent>.Iterator

    init(
        _ server: String, token: Softphone.TokenSource, device: DeviceID = .random(),
        _ configure: (inout ClientSession.Configuration) -> Void = { _ in }
    ) throws {
        var configuration = Softphone.Configuration(
            url: server, token: token, device: DeviceDescription(id: device, platform: .ios, app: "example"))
        configuration.session.backoffBase = .milliseconds(50)
        configure(&configuration.session)
        #if os(Linux)
            configuration.transport = PosixTransport()
        #endif
        softphone = try Softphone(configuration: configuration)
        events = softphone.events().makeAsyncIterator()
    }

    /// The next event for which `pick` returns a value. Skips the events before it.
    func event<Value>(_ what: String, _ pick: (SoftphoneEvent) -> Value?) async throws -> Value {
        while let event = await events.next(isolation: #isolation) {
            if let value = pick(event) { return value }
        }
        throw Unexpected(what: "the events end before \(what)")
    }

    func state(_ state: CallState, of call: CallID) async throws -> PhoneCall {
        try await event("\(state)") { event in
            switch event {
            case .state(let seen), .ended(let seen): seen.id == call && seen.state == state ? seen : nil
            case .incoming, .offer, .merged, .candidates, .update, .peer, .latePush, .connection, .draining: nil
            }
        }
    }

    func incoming() async throws -> PhoneCall {
        try await event("a call") { if case .incoming(let call, _) = $0 { call } else { nil } }
    }
}
