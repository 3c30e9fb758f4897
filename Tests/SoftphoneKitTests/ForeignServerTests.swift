import CallVocabulary
import EventLoop
import SoftphoneKit
import SoftphoneSession
import Testing

/// A whole phone over real sockets, against a server that shares no code with it.
@Suite(.timeLimit(.minutes(5))) struct ForeignServerTests {
    private static func configuration(port: Int) -> Softphone.Configuration {
        var configuration = Softphone.Configuration(
            url: "ws://127.0.0.1:\(port)", token: .provider { "jwt" },
            device: DeviceDescription(id: .random(), platform: .cli))
        configuration.session.backoffBase = .milliseconds(20)
        return configuration
    }

    @Test("a phone opens, is called, answers, resumes after a lost connection and learns of the end")
    func wholeCall() async throws {
        let server = try await ForeignServer()
        let phone = try Softphone(configuration: Self.configuration(port: server.port))
        let events = phone.events()
        let opened = try await phone.connect()
        #expect(opened.user.text == "alice")
        var seen: [String] = []
        for await event in events {
            switch event {
            case .incoming(let call, _):
                seen.append("incoming from \(call.peer)")
                #expect(call.id.description == ForeignServer.callID)
                #expect(call.sdp == RawJSON.text("v=0"))
                try await phone.answer(call.id, sdp: .text("v=1\r\n"))
                #expect(await phone.calls().map(\.state) == [.answered])
            case .state(let call): seen.append("\(call.state)")
            case .ended(let call): seen.append("ended \(call.reason?.rawValue ?? "")")
            case .connection(.up): seen.append("up")
            case .connection(.resumed): seen.append("resumed")
            case .connection(.down(let code, _, _)): seen.append("down \(code ?? 0)")
            case .connection(.gone), .connection(.offline), .offer, .merged, .candidates, .update, .peer, .latePush,
                .draining:
                seen.append("\(event)")
            }
            if case .ended = event { break }
        }
        #expect(seen == ["up", "incoming from bob", "answered", "down 3001", "resumed", "ended hangup"])
        #expect(await phone.calls().isEmpty)
        await phone.disconnect()
        let lines = await server.finish().filter { $0 != "session.ack" }
        #expect(
            lines == [
                "/v1/signal reveille.v1", "session.open", "token jwt resume None", "call.ringing", "call.answer",
                "sdp 'v=1\\r\\n'", "/v1/signal reveille.v1", "session.open", "token jwt resume 1", "session.close",
            ])
    }

    @Test("a frame of 2^63 - 1 bytes, as a server announces it, ends its session, and not the phone's process")
    func endlessFrame() async throws {
        let server = try await ForeignServer(script: ForeignServer.endlessFrame)
        let phone = try Softphone(configuration: Self.configuration(port: server.port))
        let events = phone.events()
        phone.start()
        for await event in events {
            guard case .connection(.gone(let reason)) = event else { continue }
            #expect(reason == .closed(code: 3502))
            break
        }
    }

    @Test("a phone that reaches nobody says why, and a phone without a server can be let go at any time")
    func nobodyThere() async throws {
        let runtime = try SoftphoneRuntime()
        var configuration = Self.configuration(port: 9)
        configuration.connectLimit = .milliseconds(200)
        do {
            let phone = try Softphone(configuration: configuration, runtime: runtime)
            let events = phone.events()
            phone.start()
            // However slow the machine: the limit below counts from an attempt that has failed.
            for await event in events {
                if case .connection(.down(_, let reason, _)) = event {
                    #expect(!reason.isEmpty)
                    break
                }
            }
            await #expect {
                try await phone.connect()
            } throws: { error in
                guard case .notConnected(let failure?)? = error as? SoftphoneError else { return false }
                return !failure.isEmpty
            }
            phone.start()
        }
        #expect(await runtime.loop.run { true } == true, "the loop lives on without its phone")
    }

    /// What an app's handler holds on to.
    private final class App: Sendable {}

    enum Place: CaseIterable { case unused, lookingUp, refused, open }

    @Test("a phone that is let go lets go of its app, wherever its connection stands", arguments: Place.allCases)
    func letGo(_ place: Place) async throws {
        let runtime = try SoftphoneRuntime()
        // Ended with the test.
        let server = place == .open ? try await ForeignServer() : nil
        var configuration = Self.configuration(port: server?.port ?? 9)
        if place == .lookingUp { configuration.url = "ws://localhost:9" }
        weak var seen: App?
        do {
            let app = App()
            seen = app
            let phone = try Softphone(configuration: configuration, runtime: runtime) { _, _ in _ = app }
            switch place {
            case .unused: break
            case .lookingUp, .refused: phone.start()
            case .open: try await phone.connect()
            }
            #expect(seen != nil)
        }
        // After what the phone has the loop do at its end.
        #expect(await runtime.loop.run { true } == true)
        #expect(seen == nil)
        withExtendedLifetime(server) {}
    }

    @Test("a thousand phones on one runtime come and go")
    func manyPhones() async throws {
        let runtime = try SoftphoneRuntime()
        var phones: [Softphone] = []
        for _ in 0..<1000 {
            let phone = try Softphone(configuration: Self.configuration(port: 9), runtime: runtime)
            phone.start()
            phones.append(phone)
        }
        for phone in phones.prefix(500) { phone.abandon() }
        phones.removeAll()
        #expect(await runtime.loop.run { true } == true)
    }

    @Test("a URL of another kind is refused at once")
    func urls() throws {
        var configuration = Self.configuration(port: 9)
        configuration.url = "http://x"
        #expect(throws: SoftphoneError.badURL("http://x")) { try Softphone(configuration: configuration) }
    }
}
