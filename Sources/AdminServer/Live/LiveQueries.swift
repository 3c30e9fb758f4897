import AdminProtocol
import CallCore
import CallMonitor
import CallVocabulary
import EventLoop
import StoreInterface
import WebSocketServer

/// Answers requests to the monitor: lists, subscriptions, figures. They cost the core one snapshot a second at most.
/// Confined to the admin loop.
final class LiveQueries {
    /// The interval at which the feed is polled: the longest delay of log lines and updates.
    private static let pause = Duration.milliseconds(5)
    /// The ranges of `interval_ms`, the least time between two notifications.
    static let callIntervals = 100...60_000
    static let statsIntervals = 200...60_000

    private let driver: MonitorDriver
    private let address: @Sendable (DeviceKey) -> String?
    private let figures: FigureSubscriptions
    private let subscriptions: SubscriptionDriver
    /// Runs while the feed has batches.
    private var timer: LoopTimer?

    init(environment: AdminShard.Environment, feed: MonitorFeed, mailbox: Mailbox<AdminMessage>) {
        address = environment.address
        driver = MonitorDriver(feed: feed, environment: environment, mailbox: mailbox)
        figures = FigureSubscriptions(
            monitor: driver.monitor, feed: feed, sources: environment.figures, now: environment.now,
            mailbox: mailbox)
        subscriptions = SubscriptionDriver(
            monitor: driver.monitor, figures: figures, now: environment.now, loop: mailbox.loop)
        timer = LoopTimer(loop: mailbox.loop) { [weak self] in self?.fed() }
    }

    /// Whether ``take(_:on:send:)`` answers the request with a page of the copy, or with figures.
    static func reads(_ request: any AdminRequest) -> Bool {
        switch request {
        case let request as ListCalls: request.live == true && request.id == nil
        case is ListSessions, is GetStats, is GetServerInfo: true
        default: false
        }
    }

    /// - Parameters:
    ///   - connection: for notifications; nil where there are none.
    ///   - send: sends a frame as the reply to this request.
    /// - Returns: false for a request that is answered elsewhere.
    func take(
        _ call: AdminCall, on connection: WebSocketConnection?, send: @escaping ([UInt8]) -> Void
    ) throws(AdminError) -> Bool {
        catchUp()
        do throws(AdminRefusal) {
            switch call.request {
            case let request as ListCalls where request.live == true && request.id == nil:
                send(AdminFrameWriter.result(id: call.id, try driver.monitor.page(request)))
            case let request as ListSessions:
                var page = try driver.monitor.page(request)
                for index in page.items.indices where page.items[index].state == .online {
                    let device = DeviceKey(user: page.items[index].user, device: page.items[index].deviceID)
                    page.items[index].address = address(device)
                }
                send(AdminFrameWriter.result(id: call.id, page))
            case let request as SubscribeToCalls:
                guard let connection else { return false }
                let interval = try Self.interval(request.intervalMilliseconds, Self.callIntervals, 250)
                let number = try subscriptions.subscribe(request, interval, on: connection)
                send(AdminFrameWriter.result(id: call.id, SubscriptionStarted(subscription: number)))
            case let request as SubscribeToStats:
                guard let connection else { return false }
                let interval = try Self.interval(request.intervalMilliseconds, Self.statsIntervals, 1000)
                let number = try subscriptions.subscribeToStats(interval, on: connection)
                send(AdminFrameWriter.result(id: call.id, SubscriptionStarted(subscription: number)))
            case let request as Unsubscribe:
                guard let connection else { return false }
                subscriptions.unsubscribe(request.subscription, on: connection)
                send(AdminFrameWriter.result(id: call.id, Done()))
            case is GetStats:
                figures.get { send(AdminFrameWriter.result(id: call.id, $0)) }
            case is GetServerInfo:
                let mayChange = connection.map { !$0.isReading }
                figures.get { stats in
                    var info = stats.server
                    info.mayChange = mayChange
                    info.problems = stats.problems
                    send(AdminFrameWriter.result(id: call.id, info))
                }
            default: return false
            }
            return true
        } catch {
            throw AdminError(error)
        }
    }

    func connectionClosed(_ connection: WebSocketConnection) {
        subscriptions.connectionClosed(connection.serial)
    }

    /// Notes that an administrator ends this call.
    func administered(_ call: CallID, by administrator: String) { driver.administered(call, by: administrator) }

    // MARK: From other threads

    /// Polls the feed until it is empty.
    func fed() {
        guard driver.catchUp(orSleep: true) else { return }
        subscriptions.changed()
        timer?.start(after: Self.pause)
    }

    /// Applies all batches that were committed before.
    func catchUp() {
        if driver.catchUp() { subscriptions.changed() }
    }

    func feedLost() { driver.feedLost() }

    func loaded(_ load: Int, _ result: Result<RecoveredState, any Error>) {
        driver.loaded(load, result)
        subscriptions.changed()
    }

    func coreFigures(_ gather: @escaping FigureSources.Gather) {
        catchUp()
        figures.take(gather)
    }

    func liveFigures() -> LiveFigures {
        catchUp()
        return figures.live()
    }

    // MARK: Helpers

    private static func interval(
        _ milliseconds: Int?, _ range: ClosedRange<Int>, _ standard: Int
    ) throws(AdminRefusal) -> Duration {
        let milliseconds = milliseconds ?? standard
        guard range.contains(milliseconds) else {
            throw AdminRefusal(
                .invalidParams, "params.interval_ms: expected \(range.lowerBound) to \(range.upperBound)")
        }
        return .milliseconds(milliseconds)
    }
}

@available(*, unavailable)
extension LiveQueries: Sendable {}
