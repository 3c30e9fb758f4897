import CallVocabulary
import EventLoop
import PhoneSimulator
import PushSimulator
import SoftphoneKit
import SoftphoneSession

/// The phones of one thread that sleep until a push wakes them. On that thread's loop.
///
/// Each is registered with the server by a push token; a few connections to the push simulator carry all of them. A
/// phone that is woken reports, acts, and sleeps again after its last call.
final class SleepingPhones {
    /// How many phones are set up at a time.
    private static let setUpConcurrency = 64

    private struct SettingUp {
        var next = 0
        var settled = 0
        var firstFailure: String?
        let completion: (Result<Void, any Error>) -> Void
    }

    let environment: WorkloadEnvironment
    private let identity: (Int) -> PhoneIdentity
    private(set) var phones: [WakeablePhone] = []
    /// What happens to a phone once all are set up, with its index.
    var onEvent: (Int, WakeablePhone.Event) -> Void = { _, _ in }

    private var settingUp: SettingUp?
    private var isReady = false
    private var isClosed = false
    private var isAsleep: [Bool] = []
    private var losses = SessionLosses(count: 0)

    init(environment: WorkloadEnvironment, identity: @escaping (Int) -> PhoneIdentity) {
        self.environment = environment
        self.identity = identity
    }

    // MARK: Setting up

    /// Makes `count` phones, registers them, and puts them to sleep.
    func setUp(count: Int, completion: @escaping (Result<Void, any Error>) -> Void) {
        environment.counters.expect(count)
        let users = (0..<count).map { identity($0).user }
        environment.tokens.mint(users, on: environment.loop) { [self] tokens in
            guard !isClosed else { return }
            do {
                try make(tokens: tokens.get())
                settingUp = SettingUp(completion: completion)
                guard count > 0 else { return finishSettingUp() }
                for _ in 0..<min(count, Self.setUpConcurrency) { setUpNext() }
            } catch {
                completion(.failure(error))
            }
        }
    }

    private func make(tokens: [String]) throws {
        guard let folder = environment.simulatorFolder else {
            throw LoadError("phones that sleep are woken by a push simulator, and there is none")
        }
        isAsleep = Array(repeating: true, count: tokens.count)
        losses = SessionLosses(count: tokens.count)
        guard !tokens.isEmpty else { return }
        let links = try PhoneLinks(simulatorFolder: folder, loop: environment.loop)
        let me = LoopBound(self, on: environment.loop)
        phones.reserveCapacity(tokens.count)
        for (index, token) in tokens.enumerated() {
            let softphone = environment.phone(identity(index), .ios, token: token, seed: UInt64(index))
            var configuration = WakeablePhone.Configuration(
                softphone: softphone, simulatorFolder: folder, name: "load \(index)")
            configuration.links = links
            configuration.app = environment.plan.app
            configuration.profile = environment.plan.app == .reveille ? nil : environment.plan.app.rawValue
            phones.append(
                try WakeablePhone(configuration: configuration, runtime: environment.runtime) { _, event in
                    me.value.happened(event, to: index)
                })
        }
    }

    private func setUpNext() {
        guard let index = settingUp?.next, index < phones.count else { return }
        settingUp?.next += 1
        let me = LoopBound(self, on: environment.loop)
        let phone = phones[index]
        Task {
            var problem: String?
            do {
                try await phone.setUp()
            } catch {
                problem = "\(error)"
            }
            me.loop.execute { [problem] in me.value.settled(problem) }
        }
    }

    private func settled(_ problem: String?) {
        guard !isClosed, settingUp != nil else { return }
        settingUp?.settled += 1
        environment.counters.settle()
        if settingUp?.firstFailure == nil { settingUp?.firstFailure = problem }
        if settingUp?.settled == phones.count { finishSettingUp() } else { setUpNext() }
    }

    private func finishSettingUp() {
        guard let done = settingUp else { return }
        settingUp = nil
        if let problem = done.firstFailure {
            return done.completion(
                .failure(LoadError("phones that sleep could not be set up: \(environment.advice.with(problem))")))
        }
        isReady = true
        done.completion(.success(()))
    }

    // MARK: Awake and asleep

    private func happened(_ event: WakeablePhone.Event, to index: Int) {
        guard !isClosed, isReady else { return }
        switch event {
        case .app(let event):
            if let reason = losses.reason(event, of: index) { environment.recorder.sessionLost(reason) }
        case .woken:
            isAsleep[index] = false
            losses.isBack(index)
        case .killed:
            // The app is as offline as one that is asleep, and the next push starts it.
            isAsleep[index] = true
            environment.recorder.fault("the phone's system ended the app: a push was not reported in time")
        case .failed(let reason): environment.recorder.fault("a push did not ring: \(reason)")
        case .unreachable(let reason): environment.recorder.fault("a phone cannot be woken any more: \(reason)")
        case .asleep: isAsleep[index] = true
        case .pushed, .notified, .reportedToSystem, .reportedToServer, .workerSent: break
        }
        onEvent(index, event)
    }

    func sleeps(_ index: Int) -> Bool { isAsleep[index] }

    /// Drops every connection. No event follows.
    func close() {
        isClosed = true
        settingUp = nil
        onEvent = { _, _ in }
        for phone in phones { phone.softphone.abandon() }
        phones = []
    }
}

@available(*, unavailable)
extension SleepingPhones: Sendable {}
