import CallVocabulary
import Determinism
import EventLoop
import PushSimulator
import SoftphoneKit
import SoftphoneSession

/// The dependencies of a workload. On its thread's loop.
struct WorkloadEnvironment {
    var plan: LoadPlan
    /// The loop of the thread, and what its phones share.
    let runtime: SoftphoneRuntime
    /// Which of the ``threads`` it is, from 0.
    let thread: Int
    let threads: Int
    var recorder: Recorder
    let tokens: LoadTokens
    /// The server's, `ws://` or `wss://`.
    let url: String
    /// The data folder of the push simulator that the server pushes to.
    let simulatorFolder: String?
    let counters: RunCounters
    /// nil without an admin API.
    var groups: LoadGroups?
    /// The users of this workload are counted from here: workloads of one thread share none.
    var firstUser = 0

    var loop: EventLoop { runtime.loop }

    /// Advice about sessions that do not open.
    var advice: OpeningAdvice { OpeningAdvice(target: plan.target) }

    /// Those of `stages` that can be timed here: the time of acceptance is by the simulator's clock.
    func timed(_ stages: [LoadStage]) -> [LoadStage] {
        isSimulatorHere ? stages : stages.filter { $0 != .invitePushAccepted && $0 != .lastPushAccepted }
    }

    private var isSimulatorHere: Bool {
        guard let simulatorFolder, let manifest = try? PushSimulatorManifest.load(folder: simulatorFolder),
            let endpoint = manifest.endpoints.first
        else { return true }
        return endpoint.host == "localhost"
            || SocketAddress(host: endpoint.host, port: endpoint.port)?.isLoopback == true
    }

    /// A generator of its own for each thread and each `purpose`: one more choice here changes none elsewhere.
    func generator(_ purpose: RandomPurpose) -> SeededGenerator {
        var seeds = SeededGenerator(
            seed: plan.seed &+ UInt64(thread) &* 0x1_0000 &+ purpose.rawValue &+ UInt64(firstUser) << 32)
        return SeededGenerator(seed: seeds.next())
    }

    /// This thread's part of `count` things, the first threads taking one more where it does not come out even.
    func share(of count: Int) -> Int { count / threads + (thread < count % threads ? 1 : 0) }

    /// How many operations this thread may have under way.
    var places: Int { share(of: plan.places) }

    /// The user `number` of this thread. Other threads and other kinds of runs have other users: a running server keeps
    /// the devices of all runs, and a user with a hundred devices is not for calls to one.
    func user(_ number: Int) -> Handle {
        // Within what a handle may be: letters, digits and a few dashes.
        Handle("load-\(kind)-\(plan.seed)-\(thread)-\(firstUser + number)")!
    }

    private var kind: String {
        guard plan.scenario == .fanout else { return plan.scenario.rawValue }
        return "\(plan.scenario.rawValue)-\(plan.fanOut)-\(plan.fanOutKind.rawValue)"
            + (plan.fanOutAsleep ? "-asleep" : "")
    }

    /// A device of the user `number`, the same in each run with the same seed, so that a running server does not
    /// accumulate devices.
    func device(_ device: Int = 0, ofUser number: Int) -> DeviceID {
        let mixed = UInt64(firstUser + number) << 32 | UInt64(device)
        var bits = SeededGenerator(seed: plan.seed &* 0x9E37_79B9_7F4A_7C15 ^ UInt64(thread) << 56 ^ mixed)
        return DeviceID(random: &bits)
    }

    func identity(_ device: Int = 0, ofUser number: Int) -> PhoneIdentity {
        PhoneIdentity(user: user(number), device: self.device(device, ofUser: number))
    }

    /// Hangs up a failed call, so that it does not disturb the next calls of its phones.
    /// - Parameter completion: called on the loop once the server has answered, whatever it said.
    func hangUp(_ call: CallID, by caller: Softphone, then completion: @escaping () -> Void) {
        let bound = LoopBound(completion, on: loop)
        caller.submit(.hangup(call, .hangup)) { _ in bound.value() }
    }

    /// Between the attempts to reconnect to a home that is killed again and again. A call to a phone that has no push
    /// token ends when it is away for longer than its delivery time, 10 s.
    private static let longestPause = Duration.seconds(4)

    /// How a phone of the load is set up.
    func phone(
        _ identity: PhoneIdentity, _ platform: Platform, token: String, seed: UInt64
    ) -> Softphone.Configuration {
        var configuration = Softphone.Configuration(
            url: url, token: token, device: DeviceDescription(id: identity.device, platform: platform))
        // An idle phone costs nothing, here and at the server.
        configuration.session.probesSilence = false
        configuration.seed = seed
        if plan.target.losesSessions { configuration.session.backoffCeiling = Self.longestPause }
        return configuration
    }
}

/// A phone's user and which of its devices it is.
struct PhoneIdentity {
    let user: Handle
    let device: DeviceID
}

/// What a random choice is for.
enum RandomPurpose: UInt64 {
    case arrivals, phones, outcomes, faults, parts
}
