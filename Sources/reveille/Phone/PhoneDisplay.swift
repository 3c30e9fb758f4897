import CallVocabulary
import Foundation
import PhoneSimulator
import SoftphoneKit
import SoftphoneSession
import Synchronization

/// The output of the terminal phone, and the events that its script may wait for.
final class PhoneDisplay: Sendable {
    private struct Waiter {
        let id: Int
        let sight: PhoneOrder.Sight
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        /// The call that was heard of last, and how far it is known to have come.
        var latest: PhoneCall?
        var waiters: [Waiter] = []
        var waiterCount = 0
        /// The app does not run: events of its connection are not shown.
        var isAsleep: Bool
        var missed: [MissedCall] = []
        /// The prompt is on the screen, followed by the typed text.
        var hasPrompt = false
        /// What is typed behind the prompt, where the phone shows that itself; with the way back to the cursor.
        var typed = ""
    }

    private let state: Mutex<State>
    private let isInteractive: Bool
    /// Out of sight the app does not run: only a push wakes it.
    let isWakeable: Bool

    /// - Parameters:
    ///   - isAsleep: whether a push has to wake the phone.
    ///   - isInteractive: a person sits at the terminal, and gets a prompt.
    init(isAsleep: Bool, isInteractive: Bool) {
        state = Mutex(State(isAsleep: isAsleep))
        self.isInteractive = isInteractive
        isWakeable = isAsleep
    }

    var isAsleep: Bool { state.withLock { $0.isAsleep } }
    var missed: [MissedCall] { state.withLock { $0.missed } }
    /// The time of the last missed call.
    var missedUpTo: Instant { state.withLock { $0.missed.map(\.at).max() } ?? Instant(milliseconds: 0) }

    func forgetMissed() { state.withLock { $0.missed = [] } }

    /// The app runs from now on, until it goes to sleep.
    func wake() { state.withLock { $0.isAsleep = false } }

    /// The call that the next order is about.
    var current: PhoneCall? { state.withLock { $0.latest?.state == .ended ? nil : $0.latest } }

    /// A new call is placed: from now on waiting is for that one.
    func forgetLatest() { state.withLock { $0.latest = nil } }

    func show(_ event: WakeablePhone.Event) {
        switch event {
        case .pushed, .reportedToServer, .workerSent(_, _, nil): break
        case .workerSent(let request, let push, .some(let failure)):
            line(
                "the service worker could not \(request == .report ? "report" : "decline") the call from "
                    + "\(push.from): \(failure)")
        case .woken(let push):
            wake()
            line("push: \(push.fromName ?? push.from.text) calls; the app is launched")
        case .failed(let reason): line("push: \(reason)")
        case .notified(let notice):
            let words = [notice.title, notice.body].compactMap { $0 }.joined(separator: ": ")
            line(words.isEmpty ? "a push without anything to show: \(notice.type ?? "unnamed")" : "alert: \(words)")
        case .reportedToSystem(let push): line("told the system of the call from \(push.from)")
        case .killed(let isBlocked):
            state.withLock { $0.isAsleep = true }
            line(
                "iOS has killed the app for a push without a reported call" + (isBlocked ? "; no more VoIP pushes" : "")
            )
        case .unreachable(let reason): line("cannot be woken any more: \(reason)")
        case .asleep:
            let fellAsleep = state.withLock { state in
                defer { state.isAsleep = true }
                return !state.isAsleep
            }
            if fellAsleep { line("asleep; a push wakes this phone") }
        // "asleep" says it.
        case .app(.connection(.offline)): break
        case .app(let event): show(event)
        }
    }

    func show(_ event: SoftphoneEvent) {
        switch event {
        case .incoming(let call, _):
            note(call, .incoming)
            line("\(call.peer) is calling  (answer, decline)")
        case .state(let call): showState(call)
        case .ended(let call):
            let by = call.isOwnAct ? "" : call.by.map { " by \($0.user)" } ?? ""
            line("call with \(call.peer) ended: \(call.reason?.rawValue ?? "unknown")\(by)")
            note(call, .ended)
        case .merged(_, let winner): line("you called each other: one call is left, \(winner)")
        case .update(let update):
            let custom = update.custom.map { " \($0.json)" } ?? ""
            line("the other side: \(update.kind.rawValue)\(custom)")
        case .peer(let call):
            line(call.peerAwaySince == nil ? "\(call.peer) is back" : "\(call.peer) has lost the connection; waiting")
        case .latePush(let push, let reason):
            line("a push for a call from \(push.from) that is over: \(reason.rawValue)")
        case .connection(let change): showConnection(change)
        case .draining(let deadline): line("the server closes within \(deadline); this phone comes back by itself")
        case .offer, .candidates: break
        }
    }

    private func showState(_ call: PhoneCall) {
        switch call.state {
        case .routing: note(call, nil)
        case .waking:
            note(call, nil)
            line("waking \(call.peer)'s phone")
        case .ringing:
            note(call, .ringing)
            if call.role == .caller { line("\(call.peer) rings") }
        case .answered:
            note(call, .answered)
            line("answered" + (call.by.map { " by \($0.user)" } ?? ""))
        case .connected:
            note(call, .connected)
            line("connected with \(call.peer)")
        case .ended: break
        }
    }

    private func showConnection(_ change: ConnectionChange) {
        // Asleep, it only registered with the server.
        if isAsleep { return }
        switch change {
        case .up(let opened):
            state.withLock { $0.missed = opened.missed }
            line("online as \(opened.user)")
            for missed in opened.missed {
                line("missed: \(missed.fromName ?? missed.from.text), \(missed.reason.rawValue)")
            }
        case .resumed: line("back online, nothing lost")
        case .down(_, let reason, let retryIn): line("offline (\(reason.clause)); trying again in \(retryIn)")
        case .gone(let reason): line("offline for good: \(reason)")
        case .offline: line("offline")
        }
    }

    private func note(_ call: PhoneCall, _ sight: PhoneOrder.Sight?) {
        let reached = state.withLock { state in
            state.latest = call
            let reached = state.waiters.filter { $0.sight == sight }
            state.waiters.removeAll { $0.sight == sight }
            return reached
        }
        for waiter in reached { waiter.continuation.resume(returning: true) }
    }

    /// Waits until a call has reached `sight`; returns at once if the present one has.
    /// - Returns: false when the time is over first.
    func wait(for sight: PhoneOrder.Sight, seconds: Int) async -> Bool {
        let id = state.withLock { state in
            state.waiterCount += 1
            return state.waiterCount
        }
        var timeout: Task<Void, any Error>?
        defer { timeout?.cancel() }
        return await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.latest?.has(come: sight) == true { return true }
                state.waiters.append(Waiter(id: id, sight: sight, continuation: continuation))
                return false
            }
            if isThere { return continuation.resume(returning: true) }
            // Only now, so that even a wait of no time finds whom to wake.
            timeout = Task {
                try await Task.sleep(for: .seconds(seconds))
                giveUp(id)
            }
        }
    }

    private func giveUp(_ id: Int) {
        let late = state.withLock { state in
            let late = state.waiters.first { $0.id == id }
            state.waiters.removeAll { $0.id == id }
            return late
        }
        late?.continuation.resume(returning: false)
    }

    func line(_ text: String) {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.dateFormat = "HH:mm:ss.SSS"
        say("\(Terminal.dim(formatter.string(from: Date())))  \(text)")
    }

    func say(_ lines: [String]) {
        for line in lines { say(line) }
    }

    /// Prints a line at once. Not through the C library's buffers: to flush them would wait for whoever reads the terminal.
    func say(_ text: String) {
        state.withLock { state in
            // In place of the prompt, which comes again below. What was typed so far is still there for the terminal.
            let (before, after) = state.hasPrompt ? (Self.clearLine, Self.promptText + state.typed) : ("", "")
            FileHandle.standardOutput.write(Data((before + Terminal.rendered(text) + "\n" + after).utf8))
        }
    }

    private static let promptText = "> "
    private static let clearLine = "\r\u{1B}[K"

    /// Asks a person at the terminal for the next order.
    func prompt() {
        guard isInteractive else { return }
        state.withLock { state in
            state.hasPrompt = true
            FileHandle.standardOutput.write(Data((Self.promptText + state.typed).utf8))
        }
    }

    /// Shows the line behind the prompt as it is now.
    func showTyped(_ line: OrderLine) {
        let (text, back) = line.shown(width: max(1, (Console.current.width ?? 80) - Self.promptText.count))
        state.withLock { state in
            state.typed = text + (back > 0 ? "\u{1B}[\(back)D" : "")
            guard state.hasPrompt else { return }
            FileHandle.standardOutput.write(Data((Self.clearLine + Self.promptText + state.typed).utf8))
        }
    }

    /// The typed line is complete, and stays on the screen.
    func endTyped() {
        state.withLock { state in
            state.typed = ""
            if state.hasPrompt { FileHandle.standardOutput.write(Data("\n".utf8)) }
            state.hasPrompt = false
        }
    }

    /// The line that was asked for has come: what is shown now goes below it.
    func endPrompt() { state.withLock { $0.hasPrompt = false } }
}

extension PhoneCall {
    fileprivate func has(come sight: PhoneOrder.Sight) -> Bool {
        switch sight {
        case .incoming: role == .callee && state != .ended
        case .ringing: state == .ringing
        case .answered: state == .answered || state == .connected
        case .connected: state == .connected
        case .ended: state == .ended
        }
    }
}
