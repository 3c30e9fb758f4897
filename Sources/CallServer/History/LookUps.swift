import CallCore
import CallVocabulary
import DequeModule
import EventLoop
import Logging
import Synchronization

/// Looks up for the core what is not in its memory: calls that are over, users, and holders of push tokens. Off the
/// core's thread. May be used from any thread.
///
/// Questions that arrive while the store is read are read together.
final class LookUps: Sendable {
    /// Reads what each of them wants, in their order.
    typealias Search = @Sendable ([Wanted]) async throws -> [Found]

    /// The most questions in one read. A question about a large group takes a few milliseconds.
    private static let mostAtOnce = 64

    private struct State {
        var waiting: Deque<(number: UInt64, wanted: Wanted)> = []
        var isReading = false
    }

    private let search: Search
    private let core: Mailbox<CoreInput>
    private let log: Logger
    private let state = Mutex(State())
    private let isFailing = Atomic<Bool>(false)

    init(search: @escaping Search, core: Mailbox<CoreInput>, log: Logger) {
        self.search = search
        self.core = core
        self.log = log
    }

    /// Reads what is wanted and answers the core, even on failure. The core bounds the number of questions.
    func find(_ number: UInt64, _ wanted: Wanted) {
        let isFirst = state.withLock { state in
            state.waiting.append((number, wanted))
            defer { state.isReading = true }
            return !state.isReading
        }
        if isFirst { Task { await read() } }
    }

    private func read() async {
        while let questions = next() {
            let answers: [CoreInput]
            do {
                answers = try await answer(questions)
            } catch {
                // One damaged row fails its own question only.
                answers = await answerEach(questions)
            }
            // Posted unconditionally: inputs wait for it, and there is one for each question.
            for answer in answers { core.postAlways(answer) }
        }
    }

    private func next() -> [(number: UInt64, wanted: Wanted)]? {
        state.withLock { state in
            let questions = Array(state.waiting.prefix(Self.mostAtOnce))
            state.waiting.removeFirst(questions.count)
            state.isReading = !questions.isEmpty
            return questions.isEmpty ? nil : questions
        }
    }

    private func answer(_ questions: [(number: UInt64, wanted: Wanted)]) async throws -> [CoreInput] {
        let found = try await search(questions.map(\.wanted))
        if isFailing.exchange(false, ordering: .relaxed) { log.notice("the store can be read again") }
        return zip(questions, found).map { .store(.found(number: $0.number, $1)) }
    }

    private func answerEach(_ questions: [(number: UInt64, wanted: Wanted)]) async -> [CoreInput] {
        var answers: [CoreInput] = []
        for question in questions {
            do {
                answers += try await answer([question])
            } catch {
                // Logs one line for a failing store, however many lookups fail.
                if !isFailing.exchange(true, ordering: .relaxed) {
                    log.error(
                        "the store cannot be read for requests that wait: \(error)",
                        metadata: [
                            "call": .string(question.wanted.call.map { "\($0)" } ?? ""),
                            "names": .string(
                                (question.wanted.names + question.wanted.groups).prefix(3).map(\.text).joined(
                                    separator: " ")),
                        ])
                }
                answers.append(.store(.lookUpFailed(number: question.number)))
            }
        }
        return answers
    }
}
