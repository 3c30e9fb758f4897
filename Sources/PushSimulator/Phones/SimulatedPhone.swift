import CallVocabulary
import HTTP2

/// A registered phone with its link. Confined to the simulator's loop.
final class SimulatedPhone {
    /// The streaming answer through which the phone gets its pushes.
    struct Link {
        let connection: SimulatorConnection
        let stream: StreamID
    }

    /// How many delivered pushes are remembered by the UUID of their call.
    private static let rememberedCalls = 32

    let token: String
    let environment: PushEnvironment
    let topic: String
    let name: String
    var machine: SimulatedIPhone
    var link: Link?
    /// Since when the app is removed.
    var unregisteredSince: Instant?
    private var calls: [(uuid: String, pushID: String)] = []

    init(token: String, environment: PushEnvironment, topic: String, name: String, reportWindow: Duration) {
        self.token = token
        self.environment = environment
        self.topic = topic
        self.name = name
        machine = SimulatedIPhone(reportWindow: reportWindow)
    }

    /// For logs: eight characters of the token at most.
    var redactedToken: String { String(token.prefix(8)) + "…" }

    func remember(call uuid: String, pushID: String) {
        if calls.count == Self.rememberedCalls { calls.removeFirst() }
        calls.append((uuid.lowercased(), pushID))
    }

    /// The `apns-id` of the newest push that announced the call.
    func pushID(call uuid: String) -> String? {
        let uuid = uuid.lowercased()
        return calls.last { $0.uuid == uuid }?.pushID
    }

    var snapshot: PushSimulatorSnapshot.Phone {
        PushSimulatorSnapshot.Phone(
            token: token, environment: environment.rawValue, topic: topic, name: name,
            isAttached: machine.isAttached, app: machine.app.rawValue, failures: machine.failures,
            isVoIPBlocked: machine.isVoIPBlocked, isUnregistered: unregisteredSince != nil,
            awaitedReports: machine.awaitedReports, storedPush: machine.stored?.id)
    }
}

@available(*, unavailable)
extension SimulatedPhone: Sendable {}
