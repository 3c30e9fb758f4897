import CallVocabulary
import Determinism
import EventLoop
import HTTP2
import Logging

/// All that one simulator knows: its phones, faults, deadlines, counts and connections. Confined to its loop.
final class SimulatorCore {
    /// Registered phones; more are refused.
    static let mostPhones = 100_000
    /// Faults waiting to happen; more are refused.
    static let mostFaults = 1000

    let loop: EventLoop
    let configuration: PushSimulatorConfiguration
    let keys: [ProviderKey]
    let verifier: ProviderTokenVerifier
    private let tls: TLSServerContext
    private(set) var phones: [String: SimulatedPhone] = [:]
    private var phoneOrder: [SimulatedPhone] = []
    private(set) var faults = FaultTable()
    var counts = PushSimulatorSnapshot.Counts()
    private enum Due {
        /// Something may be due on the phone of this token. A stale entry is harmless: the phone knows.
        case phone(token: String)
        /// Held back by a fault.
        case latePush(AcceptedPush)
    }

    private var deadlines = DeadlineQueue<Due>()
    private var timer: LoopTimer?
    private var timerSetTo: Instant?
    private var acceptors: [SocketAcceptor] = []
    private var connections: [ObjectIdentifier: SimulatorConnection] = [:]

    var logger: Logger { configuration.logger }

    init(
        loop: EventLoop, configuration: PushSimulatorConfiguration, keys: [ProviderKey],
        verifier: ProviderTokenVerifier, tls: TLSServerContext
    ) {
        self.loop = loop
        self.configuration = configuration
        self.keys = keys
        self.verifier = verifier
        self.tls = tls
        timer = LoopTimer(loop: loop) { [weak self] in self?.runTimers() }
    }

    // MARK: Connections

    /// Listens for one environment.
    /// - Returns: the port.
    func listen(_ environment: PushEnvironment, at address: SocketAddress) throws -> UInt16 {
        let acceptor = try SocketAcceptor(loop: loop, address: address) { [weak self] descriptor in
            self?.accept(descriptor, environment: environment)
        }
        acceptors.append(acceptor)
        logger.info(
            "listening", metadata: ["environment": "\(environment.rawValue)", "address": "\(acceptor.address)"])
        return acceptor.address.port
    }

    private func accept(_ descriptor: Int32, environment: PushEnvironment) {
        counts.connections += 1
        let connection = SimulatorConnection(core: self, environment: environment)
        connections[ObjectIdentifier(connection)] = connection
        connection.start(descriptor: descriptor, tls: tls)
    }

    func connectionEnded(_ connection: SimulatorConnection) {
        connections[ObjectIdentifier(connection)] = nil
    }

    /// Ends the connections of providers with GOAWAY; what is open is answered.
    func retireProviders(environment: PushEnvironment, reason: APNSReason?) {
        for connection in connections.values where connection.environment == environment && connection.isProvider {
            counts.goAways += 1
            connection.goAway(reason: reason)
        }
    }

    /// Lets go of all that belongs to the loop. The core does nothing afterwards.
    func shutDown() {
        timer = nil
        acceptors = []
        for connection in connections.values { connection.close() }
        for phone in phoneOrder { phone.link = nil }
    }

    // MARK: Pushes

    func standing(of token: String, topic: String, environment: PushEnvironment) -> DeviceTokenStanding {
        guard let phone = phones[token], phone.environment == environment else {
            return configuration.acceptsUnknownTokens && phones[token] == nil ? .registered(topic: topic) : .unknown
        }
        if let since = phone.unregisteredSince { return .unregistered(since: since) }
        return .registered(topic: phone.topic)
    }

    /// What goes wrong with a push that has passed all checks; uses one fault up.
    func takeFault(for push: AcceptedPush) -> PushFault.Effect? {
        faults.take(deviceToken: push.deviceToken)
    }

    /// Takes an accepted push on its way to its phone, `delay` from now if there is one.
    func send(_ push: AcceptedPush, delay: Duration? = nil) {
        let now = WallClock.now()
        if let delay {
            _ = deadlines.add(.latePush(push), at: now + delay)
            setTimer(now: now)
        } else {
            arrive(push, now: now)
        }
    }

    private func arrive(_ push: AcceptedPush, now: Instant) {
        guard let phone = phones[push.deviceToken], phone.unregisteredSince == nil else {
            return drop(push, reason: "no_phone")
        }
        guard let payload = PhonePayload(push.payload) else { return drop(push, reason: "payload_not_json") }
        if let uuid = payload.uuid { phone.remember(call: uuid, pushID: push.id) }
        advance(phone, now: now) { machine, effects in
            machine.pushArrived(push, now: now, effects: &effects)
        }
    }

    private func drop(_ push: AcceptedPush, reason: String) {
        counts.dropped[reason, default: 0] += 1
        logger.debug(
            "push dropped",
            metadata: ["apns_id": "\(push.id)", "token": "\(push.deviceToken.prefix(8))…", "reason": "\(reason)"])
    }

    // MARK: Phones

    /// - Returns: nil when there are too many already.
    func register(topic: String, environment: PushEnvironment, name: String) -> SimulatedPhone? {
        guard phoneOrder.count < Self.mostPhones else { return nil }
        let phone = SimulatedPhone(
            token: Self.freshToken(), environment: environment, topic: topic, name: name,
            reportWindow: configuration.reportWindow)
        phones[phone.token] = phone
        phoneOrder.append(phone)
        logger.info(
            "phone registered",
            metadata: [
                "token": "\(phone.redactedToken)", "topic": "\(topic)", "environment": "\(environment.rawValue)",
                "name": "\(name)",
            ])
        return phone
    }

    /// 32 random bytes in hexadecimal, as Apple's tokens look today.
    private static func freshToken() -> String {
        let alphabet = Array("0123456789abcdef")
        // The alphabet is not empty.
        return String((0..<64).map { _ in alphabet.randomElement()! })
    }

    /// The app is removed from the phone: pushes are answered 410 from now on.
    func unregister(_ phone: SimulatedPhone) {
        phone.unregisteredSince = WallClock.now()
        endLink(of: phone, because: "unregistered")
    }

    func attach(_ phone: SimulatedPhone, link: SimulatedPhone.Link) {
        endLink(of: phone, because: "replaced")
        phone.link = link
        var hello = PhoneLinkMessages.Line()
        hello.attached = phone.token
        write(PhoneLinkMessages.encode(hello), to: phone)
        reach(phone)
    }

    /// The network brings the phone back; what was stored is delivered.
    func reach(_ phone: SimulatedPhone) {
        guard phone.link != nil else { return }
        let now = WallClock.now()
        advance(phone, now: now) { machine, effects in machine.phoneAttached(now: now, effects: &effects) }
    }

    /// The stream a phone was attached by is gone. A newer link is left alone.
    func linkLost(of token: String, on connection: SimulatorConnection, stream: StreamID) {
        guard let phone = phones[token], let link = phone.link, link.connection === connection, link.stream == stream
        else { return }
        phone.link = nil
        phone.machine.phoneDetached()
    }

    private func endLink(of phone: SimulatedPhone, because reason: String) {
        guard let link = phone.link else { return }
        phone.link = nil
        phone.machine.phoneDetached()
        var last = PhoneLinkMessages.Line()
        last.detached = reason
        link.connection.send(PhoneLinkMessages.encode(last), on: link.stream)
        link.connection.finish(link.stream)
    }

    func report(pushID: String, by phone: SimulatedPhone) -> SimulatedIPhone.ReportVerdict {
        let verdict = phone.machine.pushReported(id: pushID, now: WallClock.now())
        switch verdict {
        case .accepted: counts.reported += 1
        case .notAwaited: counts.reportedInVain += 1
        }
        return verdict
    }

    private func advance(
        _ phone: SimulatedPhone, now: Instant,
        by input: (inout SimulatedIPhone, inout [SimulatedIPhone.Effect]) -> Void
    ) {
        var effects: [SimulatedIPhone.Effect] = []
        input(&phone.machine, &effects)
        for effect in effects { apply(effect, to: phone) }
        if let deadline = phone.machine.nextDeadline, !effects.isEmpty {
            _ = deadlines.add(.phone(token: phone.token), at: deadline)
            setTimer(now: now)
        }
    }

    private func apply(_ effect: SimulatedIPhone.Effect, to phone: SimulatedPhone) {
        switch effect {
        case .deliver(let push, let mustReport): deliver(push, mustReport: mustReport, to: phone)
        case .kill(let unreported, let isVoIPBlocked):
            counts.kills += 1
            counts.contractViolations += unreported.count
            logger.warning(
                "app ended: VoIP pushes not reported in time",
                metadata: [
                    "token": "\(phone.redactedToken)", "name": "\(phone.name)", "unreported": "\(unreported.count)",
                    "voip_blocked": "\(isVoIPBlocked)",
                ])
            var line = PhoneLinkMessages.Line()
            line.killed = "unreported"
            line.unreported = unreported
            line.voipBlocked = isVoIPBlocked
            write(PhoneLinkMessages.encode(line), to: phone)
        case .store(_, let replaced):
            counts.stored += 1
            if replaced != nil { counts.replaced += 1 }
        case .drop(let push, let reason): drop(push, reason: reason.rawValue)
        }
    }

    private func deliver(_ push: AcceptedPush, mustReport: Bool, to phone: SimulatedPhone) {
        var line = PhoneLinkMessages.Line()
        var headers = [
            "apns-id": push.id, "apns-topic": push.topic, "apns-push-type": push.type.rawValue,
            "apns-priority": "\(push.priority)",
        ]
        headers["apns-expiration"] = push.expiration.map { "\($0)" }
        headers["apns-collapse-id"] = push.collapseID
        line.headers = headers
        line.mustReport = mustReport
        if write(PhoneLinkMessages.pushLine(line, payload: push.payload), to: phone) {
            counts.delivered += 1
        } else {
            drop(push, reason: "link_full")
        }
    }

    @discardableResult
    private func write(_ line: [UInt8], to phone: SimulatedPhone) -> Bool {
        guard let link = phone.link else { return false }
        return link.connection.send(line, on: link.stream)
    }

    // MARK: Faults and state

    /// - Returns: false when too many wait already.
    func inject(_ fault: PushFault) -> Bool {
        guard faults.faults.count < Self.mostFaults else { return false }
        faults.add(fault)
        return true
    }

    func clearFaults() { faults.clear() }

    var snapshot: PushSimulatorSnapshot {
        PushSimulatorSnapshot(
            counts: counts, openConnections: connections.count, phones: phoneOrder.map(\.snapshot))
    }

    // MARK: Time

    private func setTimer(now: Instant) {
        guard let next = deadlines.next else { return }
        if let timerSetTo, timerSetTo <= next { return }
        timerSetTo = next
        timer?.start(after: next - now)
    }

    private func runTimers() {
        timerSetTo = nil
        let now = WallClock.now()
        while let item = deadlines.popDue(now: now) {
            switch item {
            case .phone(let token):
                guard let phone = phones[token] else { continue }
                advance(phone, now: now) { machine, effects in machine.handleTimeouts(now: now, effects: &effects) }
            case .latePush(let push): arrive(push, now: now)
            }
        }
        setTimer(now: now)
    }
}

@available(*, unavailable)
extension SimulatorCore: Sendable {}
