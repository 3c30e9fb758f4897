import CallVocabulary
import Foundation
import SoftphoneKit
import SoftphoneSession
import TerminalScreen

/// Executes the commands typed at a phone.
struct PhoneConsole: Sendable {
    let softphone: Softphone
    let display: PhoneDisplay
    /// A failed command ends a script; a user sees the error only.
    let stopsAtFailure: Bool

    /// Works through the orders until `quit` or the last.
    /// - Returns: false when an order failed in a script.
    func run(_ lines: AsyncStream<String>) async -> Bool {
        var isQuitting = false
        display.prompt()
        for await line in lines {
            display.endPrompt()
            defer { if !isQuitting { display.prompt() } }
            do {
                guard let order = try PhoneOrder.parse(line) else { continue }
                if order == .quit {
                    isQuitting = true
                    return true
                }
                try await carryOut(order)
            } catch let error as PhoneOrder.Misunderstood {
                display.line(Terminal.red(error.message))
                if stopsAtFailure { return false }
            } catch {
                display.line(Terminal.red("\(line): \(Self.describe(error))"))
                if stopsAtFailure { return false }
            }
        }
        return true
    }

    /// The lines of standard input, until its end.
    static func standardInput() -> AsyncStream<String> {
        AsyncStream { continuation in
            // A thread of its own: reading a terminal blocks.
            let reader = Thread {
                while let line = readLine() { continuation.yield(line) }
                continuation.finish()
            }
            reader.start()
        }
    }

    /// The lines that a person types, with those before them at the Up key.
    static func typed(_ keys: TypedKeys, _ display: PhoneDisplay) -> AsyncStream<String> {
        AsyncStream { continuation in
            // A thread of its own: reading a terminal blocks.
            let reader = Thread {
                var line = OrderLine()
                var decoder = KeyDecoder()
                reading: while let pressed = keys.read(&decoder) {
                    for key in pressed {
                        switch line.pressed(key) {
                        case .ignored: break
                        case .changed: display.showTyped(line)
                        case .entered(let text):
                            display.endTyped()
                            continuation.yield(text)
                        case .interrupted: keys.interrupt()
                        case .suspended:
                            keys.suspend()
                            display.showTyped(line)
                        case .ended: break reading
                        }
                    }
                }
                continuation.finish()
            }
            reader.start()
        }
    }

    private struct Refusal: Error {
        let message: String
    }

    private func carryOut(_ order: PhoneOrder) async throws {
        switch order {
        case .call(let target, let isVideo):
            display.forgetLatest()
            try await goOnline()
            try await softphone.call(target, sdp: Self.sdp, video: isVideo)
        case .answer:
            let call = try current()
            try await softphone.answer(call, sdp: Self.sdp)
            try await softphone.connected(call)
        case .decline(let reason): try await softphone.decline(try current(), reason: reason)
        case .hangup: try await softphone.hangup(try current())
        case .hold: try await softphone.hold(try current())
        case .resume: try await softphone.resume(try current())
        case .mute(let isMuted): try await softphone.mute(try current(), isMuted)
        case .info(let text): try await softphone.info(try current(), .text(text))
        case .background:
            if display.isWakeable { return await softphone.disconnect() }
            try await softphone.state(.background)
        case .foreground:
            try await goOnline()
            try await softphone.state(.foreground)
        case .status: await showStatus()
        case .history: try await showHistory()
        case .get(let call): show(try await get(try call ?? current()))
        case .missed: showMissed()
        case .clearMissed:
            try await goOnline()
            try await softphone.clearMissed(upTo: display.missedUpTo)
            display.forgetMissed()
        case .wait(let sight, let seconds):
            guard await display.wait(for: sight, seconds: seconds) else {
                throw Refusal(message: "no call was \(sight.rawValue) within \(seconds) s")
            }
        case .pause(let seconds): try await Task.sleep(for: .seconds(seconds))
        case .help: display.say(PhoneOrder.manual.split(separator: "\n").map(String.init))
        case .quit: break
        }
    }

    private func current() throws -> CallID {
        guard let call = display.current else { throw Refusal(message: "there is no call") }
        return call.id
    }

    private func showStatus() async {
        let calls = await softphone.calls()
        if calls.isEmpty { display.line("no calls") }
        for call in calls { display.line("\(call.id)  \(call.peer)  \(call.state.rawValue)") }
    }

    private func showHistory() async throws {
        try await goOnline()
        let (calls, _) = try await softphone.list()
        if calls.isEmpty { display.line("no calls yet") }
        for call in calls { show(call) }
    }

    private func show(_ call: CallSnapshot) {
        let other = call.role == .caller ? "to \(PartyText.name(call.to))" : "from \(call.from)"
        let end = call.reason?.rawValue ?? call.state.rawValue
        display.line("\(Moment.text(call.createdAt))  \(call.call)  \(other)  \(end)")
    }

    private func get(_ call: CallID) async throws -> CallSnapshot {
        try await goOnline()
        return try await softphone.get(call)
    }

    private func showMissed() {
        if display.missed.isEmpty { display.line("no missed calls") }
        for call in display.missed {
            display.line("\(Moment.text(call.at))  from \(call.from)  \(call.reason.rawValue)")
        }
    }

    /// A user who types at a sleeping phone opens its app.
    private func goOnline() async throws {
        guard display.isAsleep else { return }
        display.wake()
        try await softphone.connect()
    }

    /// The SDP of a phone without media.
    private static let sdp = RawJSON.text("v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n")

    private static func describe(_ error: any Error) -> String {
        switch error {
        case let refusal as Refusal: refusal.message
        case SoftphoneError.refused(let error): error.message
        case SoftphoneError.gone(let reason): "offline for good: \(reason)"
        case SoftphoneError.callEnded(let reason): "the call ended at once: \(reason.rawValue)"
        case SoftphoneError.notConnected(let failure): "no connection to the server" + (failure.map { ": \($0)" } ?? "")
        case SoftphoneError.timedOut: "the server did not answer in time"
        default: "\(error)"
        }
    }
}
