import CallVocabulary
import Determinism
import EventLoop
import HTTP2
import Logging
import TLS

/// The state of a simulator: phones, faults, deadlines, counts and connections. Confined to its loop.
final class SimulatorCore {
    /// The most registered phones; more are refused.
    static let mostPhones = 100_000
    /// The most pending faults; more are refused.
    static let mostFaults = 1000

    let loop: EventLoop
    let configuration: PushSimulatorConfiguration
    let keys: [ProviderKey]
    let verifier: ProviderTokenVerifier
    private let contexts: Contexts
    // Force-unwrap: set at the end of init, never nil afterwards.
    private(set) var fcm: FCMService!
    let webPush = WebPushService()
    /// The source of all random values.
    var random: SeededGenerator
    /// By ``SimulatedPhone/key``.
    private(set) var phones: [String: SimulatedPhone] = [:]
    private var phoneOrder: [SimulatedPhone] = []
    private(set) var faults = FaultTable()
    var counts = PushSimulatorSnapshot.Counts()

    /// The TLS contexts: only APNs requests client certificates.
    struct Contexts: Sendable {
        let apns: TLSServerContext
        let others: TLSServerContext
    }

    private enum Due {
        /// A deadline of the phone with this key. A stale entry is harmless: the phone ignores it.
        case phone(key: String)
        /// An action that a fault delayed.
        case action(() -> Void)
    }

    private var deadlines = DeadlineQueue<Due>()
    private var timer: LoopTimer?
    private var timerSetTo: Instant?
    private var acceptors: [SocketAcceptor] = []
    /// The lock on the data folder, until shutdown.
    var lock: SimulatorLock?
    private var connections: [ObjectIdentifier: SimulatorConnection] = [:]

    var logger: Logger { configuration.logger }

    init(
        loop: EventLoop, configuration: PushSimulatorConfiguration, keys: [ProviderKey],
        verifier: ProviderTokenVerifier, contexts: Contexts, account: ServiceAccount, assertions: AssertionVerifier
    ) {
        self.loop = loop
        self.configuration = configuration
        self.keys = keys
        self.verifier = verifier
        self.contexts = contexts
        random = SeededGenerator(seed: configuration.seed ?? .random(in: 0...UInt64.max))
        fcm = FCMService(core: self, account: account, verifier: assertions)
        timer = LoopTimer(loop: loop) { [weak self] in self?.runTimers() }
    }

    // MARK: Connections

    /// Listens on one of the ports.
    /// - Returns: the port number.
    func listen(_ port: SimulatorPort, at address: SocketAddress) throws -> UInt16 {
        let acceptor = try SocketAcceptor(loop: loop, address: address) { [weak self] descriptor in
            self?.accept(descriptor, port: port)
        }
        acceptors.append(acceptor)
        logger.info(
            "listening",
            metadata: ["service": .string(port.name), "address": .string("\(acceptor.address)")])
        return acceptor.address.port
    }

    private func accept(_ descriptor: Int32, port: SimulatorPort) {
        counts.connections += 1
        let connection = SimulatorConnection(core: self, port: port)
        connections[ObjectIdentifier(connection)] = connection
        connection.start(descriptor: descriptor, tls: tls(of: port))
    }

    private func tls(of port: SimulatorPort) -> TLSServerContext {
        switch port {
        case .apns: contexts.apns
        case .fcm, .webpush: contexts.others
        }
    }

    func connectionEnded(_ connection: SimulatorConnection) {
        connections[ObjectIdentifier(connection)] = nil
    }

    /// Sends GOAWAY to the providers of a port.
    func retireProviders(_ port: SimulatorPort, _ goAway: PushFault.GoAway) {
        for connection in connections.values where connection.port == port && connection.isProvider {
            connection.retire(goAway)
        }
    }

    /// Releases everything on the loop. The core is unusable afterwards.
    func shutDown() {
        lock = nil
        timer = nil
        acceptors = []
        for connection in connections.values { connection.close() }
        for phone in phoneOrder { phone.link = nil }
    }

    // MARK: Pushes

    func standing(of token: String, topic: String, environment: PushEnvironment) -> DeviceTokenStanding {
        guard let phone = phones[token], phone.provider == .apns, phone.environment == environment else {
            return configuration.acceptsUnknownTokens && phones[token] == nil ? .registered(topic: topic) : .unknown
        }
        if let since = phone.unregisteredSince { return .unregistered(since: since) }
        return .registered(topic: phone.topic)
    }

    /// Sends an accepted push to its phone, after `delay`.
    func send(_ push: AcceptedPush, delay: Duration? = nil) {
        after(delay) { [weak self] in
            guard let self else { return }
            guard let phone = phones[push.deviceToken] else { return drop(PhoneParcel(push), reason: "no_phone") }
            arrive(PhoneParcel(push), at: phone) { phone.arrived(push, now: $0) }
        }
    }

    func send(_ message: AcceptedMessage, to phone: SimulatedPhone, delay: Duration? = nil) {
        after(delay) { [weak self] in
            self?.arrive(PhoneParcel(message, isHigh: message.isHigh), at: phone) { phone.arrived(message, now: $0) }
        }
    }

    func send(_ push: AcceptedWebPush, to phone: SimulatedPhone, delay: Duration? = nil) {
        after(delay) { [weak self] in
            self?.arrive(PhoneParcel(push), at: phone) { phone.arrived(push, now: $0) }
        }
    }

    private func arrive(_ parcel: PhoneParcel, at phone: SimulatedPhone, _ input: (Instant) -> [PhoneEffect]) {
        guard phone.unregisteredSince == nil else { return drop(parcel, reason: "no_phone") }
        let payload = PhonePayload(parcel.payload)
        // A browser gives any content to the service worker.
        guard payload != nil || phone.provider == .webpush else { return drop(parcel, reason: "payload_not_json") }
        if let uuid = payload?.uuid { phone.remember(call: uuid, pushID: parcel.id) }
        advance(phone, by: input)
    }

    func drop(_ parcel: PhoneParcel, reason: String) {
        counts.dropped[reason, default: 0] += 1
        logger.debug("push dropped", metadata: ["push": .string("\(parcel.id)"), "reason": .string(reason)])
    }

    // MARK: Phones

    /// - Returns: nil when there are too many phones.
    func register(
        provider: PushProvider, topic: String, environment: PushEnvironment, name: String
    ) -> SimulatedPhone? {
        guard phoneOrder.count < Self.mostPhones else { return nil }
        let system: SimulatedPhone.System
        let token: String
        switch provider {
        case .apns:
            // 32 bytes in hexadecimal, like Apple's current tokens.
            token = .random(64, of: .hexadecimal, using: &random)
            system = .iPhone(
                SimulatedIPhone(
                    reportWindow: configuration.reportWindow, backgroundPushes: configuration.backgroundPushes,
                    backgroundPeriod: configuration.backgroundPeriod))
        case .fcm:
            token = fcm.freshToken()
            system = .android(SimulatedAndroidPhone(showWindow: configuration.showWindow))
        case .webpush:
            let subscription = webPush.subscribe(serverKey: topic, random: &random)
            token = subscription.token
            system = .browser(SimulatedBrowser(showWindow: configuration.notificationWindow), subscription)
        }
        let phone = SimulatedPhone(token: token, environment: environment, topic: topic, name: name, system: system)
        phones[phone.key] = phone
        phoneOrder.append(phone)
        if provider == .fcm { fcm.register(.phone(phone), token: token) }
        logger.info(
            "phone registered",
            metadata: [
                "token": .string(phone.redactedToken), "provider": .string(provider.rawValue),
                "topic": .string("\(topic)"), "environment": .string(environment.rawValue),
                "name": .string("\(name)"),
            ])
        return phone
    }

    /// Removes the app from the phone: its pushes are refused.
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

    /// The phone is reachable again; stored pushes are delivered.
    func reach(_ phone: SimulatedPhone) {
        guard phone.link != nil else { return }
        advance(phone) { phone.attached(now: $0) }
    }

    /// The stream of an attached phone ended. A newer link is kept.
    func linkLost(of key: String, on connection: SimulatorConnection, stream: StreamID) {
        guard let phone = phones[key], let link = phone.link, link.connection === connection, link.stream == stream
        else { return }
        phone.link = nil
        phone.detached()
    }

    private func endLink(of phone: SimulatedPhone, because reason: String) {
        guard let link = phone.link else { return }
        phone.link = nil
        phone.detached()
        var last = PhoneLinkMessages.Line()
        last.detached = reason
        link.connection.send(PhoneLinkMessages.encode(last), on: link.stream)
        link.connection.finish(link.stream)
    }

    /// - Parameter alert: what a service worker showed.
    func report(pushID: String, by phone: SimulatedPhone, alert: ShownAlert) -> SimulatedIPhone.ReportVerdict {
        let verdict = phone.reported(pushID: pushID, alert: alert, now: WallClock.now())
        switch verdict {
        case .accepted: counts.reported += 1
        case .notAwaited: counts.reportedInVain += 1
        }
        return verdict
    }

    /// Applies an input to a phone, and carries out its effects.
    func advance(_ phone: SimulatedPhone, by input: (Instant) -> [PhoneEffect]) {
        let now = WallClock.now()
        for effect in input(now) { apply(effect, to: phone) }
        guard let deadline = phone.nextDeadline, deadline < phone.scheduled ?? Instant(milliseconds: .max) else {
            return
        }
        phone.scheduled = deadline
        _ = deadlines.add(.phone(key: phone.key), at: deadline)
        setTimer(now: now)
    }

    private func apply(_ effect: PhoneEffect, to phone: SimulatedPhone) {
        switch effect {
        case .deliver(let parcel, let mustReport): deliver(parcel, mustReport: mustReport, to: phone)
        case .kill(let unreported, let isVoIPBlocked):
            counts.kills += 1
            counts.contractViolations += unreported.count
            logger.warning(
                "app ended: VoIP pushes not reported in time",
                metadata: [
                    "token": .string(phone.redactedToken), "name": .string("\(phone.name)"),
                    "unreported": .stringConvertible(unreported.count),
                    "voip_blocked": .stringConvertible(isVoIPBlocked),
                ])
            var line = PhoneLinkMessages.Line()
            line.killed = "unreported"
            line.unreported = unreported
            line.voipBlocked = isVoIPBlocked
            write(PhoneLinkMessages.encode(line), to: phone)
        case .store(let isReplacing):
            counts.stored += 1
            if isReplacing { counts.replaced += 1 }
        case .drop(let parcel, let reason): drop(parcel, reason: reason)
        case .silent(let push):
            counts.contractViolations += 1
            logger.warning(
                "a browser got a push and showed no notification in time",
                metadata: ["token": .string(phone.redactedToken), "push": .string(push)])
        case .revoke:
            counts.revoked += 1
            logger.warning(
                "subscription ended: too many pushes without a notification",
                metadata: ["token": .string(phone.redactedToken), "name": .string("\(phone.name)")])
            unregister(phone)
        }
    }

    private func deliver(_ parcel: PhoneParcel, mustReport: Bool, to phone: SimulatedPhone) {
        var line = PhoneLinkMessages.Line()
        line.headers = parcel.headers
        line.mustReport = mustReport
        line.deliveredAt = WallClock.microseconds
        if write(PhoneLinkMessages.pushLine(line, payload: parcel.payload), to: phone) {
            counts.delivered += 1
        } else {
            drop(parcel, reason: "link_full")
        }
    }

    @discardableResult
    private func write(_ line: [UInt8], to phone: SimulatedPhone) -> Bool {
        guard let link = phone.link else { return false }
        return link.connection.send(line, on: link.stream)
    }

    // MARK: Faults and state

    /// - Returns: false when too many faults are pending.
    func inject(_ fault: PushFault) -> Bool {
        guard faults.faults.count < Self.mostFaults else { return false }
        faults.add(fault)
        return true
    }

    func clearFaults() { faults.clear() }

    /// Returns the fault for a request that passed all checks and decrements its count.
    func takeFault(_ service: PushFault.Service, deviceToken: String?) -> PushFault? {
        faults.take(service, deviceToken: deviceToken, random: &random)
    }

    func freshID() -> String { PushID(random: &random).description }

    func random(upTo longest: Duration) -> Duration {
        .milliseconds(Int64.random(in: 0...max(0, longest.wholeMilliseconds), using: &random))
    }

    var snapshot: PushSimulatorSnapshot {
        PushSimulatorSnapshot(
            counts: counts, openConnections: connections.count,
            phones: phoneOrder.map { phone in
                phone.snapshot(subscriptions: phone.provider == .fcm ? fcm.topics(of: phone.token) : [])
            })
    }

    // MARK: Time

    /// Runs `action` after `delay`; without one, at once.
    func after(_ delay: Duration?, _ action: @escaping () -> Void) {
        guard let delay else { return action() }
        let now = WallClock.now()
        _ = deadlines.add(.action(action), at: now + delay)
        setTimer(now: now)
    }

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
            case .phone(let key):
                guard let phone = phones[key] else { continue }
                phone.scheduled = nil
                advance(phone) { phone.timeRanOut(now: $0) }
            case .action(let action): action()
            }
        }
        setTimer(now: now)
    }
}

@available(*, unavailable)
extension SimulatorCore: Sendable {}
